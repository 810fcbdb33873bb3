"""Steps of a load by what was answered, and how fast."""

from __future__ import annotations

from fairground.generators.latency import of_counts
from fairground.model import Outcomes, RateStep


def outcomes(ok: int, **others: int) -> Outcomes:
    """So many good answers, and others by kind."""
    zeros = dict.fromkeys(("shed", "wrong_body", "timeout", "connect", "reset", "malformed", "unsent", "in_flight"), 0)
    return Outcomes(ok=ok, status={}, **(zeros | others))


def step(fast: int, late: int = 0, lag_us: int = 100, in_flight: tuple[int, ...] = (), busy: float = 0.2, rate: float = 1000.0,
         sent_late: bool = False, **others: int) -> RateStep:  # fmt: skip
    """A step with `fast` answers in 1 ms and `late` ones in 80 ms; `sent_late`: those were late by the generator's lag alone."""
    good = of_counts({1000: fast, 80_000: late})
    came = outcomes(fast + late, **others)
    served = of_counts({1000: fast + late}) if sent_late else good
    lag = of_counts({lag_us: fast + late})
    due = came.total
    return RateStep(rate, due / rate, due, came, fast + late, good, good, served, lag, in_flight, 1000, busy)
