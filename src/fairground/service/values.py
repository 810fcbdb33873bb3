"""Any HTTP service as it is seen from outside: its conduct, what closed loops got from it, its load curve. Values only."""

from __future__ import annotations

from dataclasses import dataclass

from fairground.capacity.loadcurve import Point
from fairground.model import Finding, Severity


@dataclass(frozen=True)
class Visit:
    """All that is known of a service from outside. `server` says whose CPU was metered; None: nobody's."""

    url: str
    method: str
    objective: str
    deadline_us: float | None
    conduct: Conduct | None
    """None: the service never answered."""
    server: str | None
    closed: tuple[Closed, ...] = ()
    curve: tuple[Point, ...] = ()
    limited_by: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    """What the service did wrong by itself: it ended, or never listened."""

    @property
    def broken(self) -> tuple[Finding, ...]:
        """What clients will break on, and what the service did wrong by itself."""
        return (*self.findings, *(self.conduct.broken if self.conduct is not None else ()))

    @property
    def kept_per_s(self) -> float | None:
        """The highest rate of the curve that kept the objective, with every lower one. It is not confirmed."""
        best = None
        for point in sorted(self.curve, key=lambda point: point.step.rate_per_s):
            if not point.judgement.low:
                break
            best = point.step.rate_per_s
        return best


@dataclass(frozen=True)
class Conduct:
    """What a service answers, and how it behaves. `body` None: its answers differ."""

    status: int
    content_type: str | None
    body: bytes | None
    body_bytes: int
    kept_open: bool
    findings: tuple[Finding, ...]

    @property
    def broken(self) -> tuple[Finding, ...]:
        """What clients will break on."""
        return tuple(one for one in self.findings if one.severity is Severity.REJECT)


@dataclass(frozen=True)
class Closed:
    """What N connections got that each ask again when they have their answer. Latencies in µs; None: unknown."""

    connections: int
    goodput_per_s: float
    p50_us: float | None
    p99_us: float | None
    due: int
    not_ok: int
    server_us_per_answer: float | None
    server_cores: float | None
    void: str | None
