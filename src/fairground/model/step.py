"""A piece of a load curve: what came of one rate, offered in open loop for some time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fairground.model.result import Gap, Latency, Outcomes


@dataclass(frozen=True)
class RateStep:
    """One rate for `duration_s`. `due`, `outcomes` and histograms follow the requests that were due in it, wherever they ended.

    `completed_ok` counts the good answers that arrived during it. Latencies run from the moment at which a request was due,
    `service` from the moment at which it was sent; `send_lag` is what lies between the two.
    """

    rate_per_s: float
    duration_s: float
    due: int
    outcomes: Outcomes
    completed_ok: int
    latency_ok: Latency | None
    latency_all: Latency | None
    service: Latency | None
    send_lag: Latency | None
    in_flight: tuple[int, ...]
    """Requests under way: when it began, then at the end of each second. Empty: not told."""
    connections: int
    """The most connections that the generator may open."""
    busiest_thread_share: float | None
    """Of the generator, over the whole window that the step is a part of."""
    cpu_us: Mapping[str, float] = field(default_factory=dict)
    """CPU by role during the step; a role whose CPU is not known is not in it."""
    gaps: tuple[Gap, ...] = ()
    """The longest stretches that began in it and in which requests were open and no answer came; they count from the window."""

    @property
    def goodput_per_s(self) -> float:
        """Good answers a second that arrived during it."""
        return self.completed_ok / self.duration_s if self.duration_s else 0.0

    @property
    def offered_per_s(self) -> float:
        """Requests a second that were due."""
        return self.due / self.duration_s if self.duration_s else 0.0
