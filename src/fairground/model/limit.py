"""Measurements of a run's machine before the first trial: what it can do at most, and whether the engine can measure here."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Limit:
    """The most that this machine can do on a workload; `source` is `null-responder` or `pgbench`."""

    workload: str
    source: str
    rate_per_s: float
    detail: str
    clients: int | None = None
    """pgbench's clients at that rate; None for other sources, and in runs that did not keep them."""
    tried: tuple[tuple[int, float], ...] = ()
    """Clients and rate per second of every window of pgbench, in their order."""
    is_ceiling: bool = True
    """False where locks limit the workload: more or fewer clients than the pool would change what is measured, and a stack that
    holds its locks for less time than pgbench does more."""
    postgres_version: int | None = None
    """That of the cells which it is the limit of, as their settings say it."""
    block: int = 0
    """The block in which it was measured, before the stacks; 0: before the first trial."""

    @property
    def key(self) -> tuple[str, int | None]:
        """The workload and PostgreSQL version that the cells which it limits have in common."""
        return self.workload, self.postgres_version


def over_a_run(limits: Iterable[Limit]) -> Limit | None:
    """One limit that stands for several measurements of it in a run, with the geometric mean of their rates. None of none.

    A machine's pace changes within a run, so that the stacks' numbers are held against what it could do all along. A rate of 0
    is no limit: nothing came to its end in that second.
    """
    measured = [one for one in limits if one.rate_per_s > 0]
    if len(measured) < 2:
        return next(iter(measured), None)
    rates = [one.rate_per_s for one in measured]
    detail = f"{measured[0].detail}; measured {len(rates)} times in the run, {min(rates):,.0f} to {max(rates):,.0f}/s"
    return replace(measured[0], rate_per_s=statistics.geometric_mean(rates), detail=detail)


@dataclass(frozen=True)
class KnownNumber:
    """A number that was known by calculation, and what the engine measured of it; `tolerance` is a share of what is expected."""

    name: str
    unit: str
    expected: float
    measured: float
    tolerance: float
    holds: bool


@dataclass(frozen=True)
class Qualification:
    """The check, before the first trial, that the load engine finds latencies on this machine that are known by calculation."""

    can_measure: bool
    took_s: float
    checks: tuple[KnownNumber, ...]
