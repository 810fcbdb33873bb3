"""A cell, what was measured of it, and what limited it by that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from builders import facts
from fairground.judge import bottleneck, thresholds
from fairground.model import (
    Cell,
    CellSettings,
    DatabaseUse,
    HostUse,
    Latency,
    Load,
    Outcomes,
    Result,
    RoleUse,
    Second,
    Severity,
    Topology,
)

REASONS = thresholds.standard().reasons


CELL = Cell("one:plain", "tx", Topology(), Load(window_s=10.0), CellSettings(workers=2, pool_size=25))


OUTCOMES = Outcomes(1000, 0, {}, 0, 0, 0, 0, 0, 0, 0)


HOST = HostUse(0.0, 0.5, 0.0, 0.0, {})


DATABASE = DatabaseUse(1000, 0, 5000, 0, 0, 25, {"running": 50, "idle": 200}, 50)


def outcomes(**counts: Any) -> Outcomes:
    """A thousand good answers, and these."""
    return replace(OUTCOMES, **counts)


def latency(p50_us: int | None, mean_us: float = 1.0, max_us: int = 99_000, count: int = 1000) -> Latency:
    """A histogram of which little matters."""
    return Latency(count, 1, mean_us, max_us, p50_us, 1, 1, 1, None)


def result(window: Outcomes = OUTCOMES, **fields: Any) -> Result:
    """A result of ten seconds that nothing is wrong with, but for these fields. Its counts close."""
    plain: dict[str, Any] = {
        "in_flight_start": 100, "in_flight_end": 100, "latency_ok": latency(5_000), "ledgers": {}, "cpu_us": 1,
        "busiest_thread_share": 0.5, "seconds": tuple(Second(number, 100, 0, None, None, None, None) for number in range(10)),
    }  # fmt: skip
    return facts.result(window, **(plain | fields))


def roles(**cores: float | None) -> dict[str, RoleUse]:
    """Roles that used so many cores over the ten seconds."""
    return {role: RoleUse(None if used is None else used * 10e6, None, None, "cgroup2") for role, used in cores.items()}


def limits(
    used: Mapping[str, RoleUse],
    found: Result | None = None,
    host: HostUse | None = HOST,
    database: DatabaseUse | None = DATABASE,
    cell: Cell = CELL,
) -> list[str]:
    """The reasons' ids on a machine of two cores."""
    findings = bottleneck.limits(cell, found or result(), used, host, database, 2, REASONS)
    assert all(finding.severity is Severity.NOTE and finding.sentence for finding in findings)
    return [finding.id for finding in findings]


def limit(used: Mapping[str, RoleUse], *more: Any, **named: Any) -> str | None:
    """The first of them."""
    return next(iter(limits(used, *more, **named)), None)
