"""What a run measures of its machine before the first trial: what it can do at most, and whether the engine can measure here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """What this machine can do at most on a workload: `source` is `null-responder` or `pgbench`."""

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
    """Whether the load engine finds latencies that are known by calculation on this machine, before the first trial."""

    can_measure: bool
    took_s: float
    checks: tuple[KnownNumber, ...]
