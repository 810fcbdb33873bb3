"""The numbers by which trials are judged: `thresholds.toml`, as typed values. Whoever judges is given them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from fairground.inputs import files
from fairground.model.source import STRICT

FILE = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True)
class WarnVoid:
    """Two bounds: a value above `warn` warns, one above `void` makes void. None: that never happens."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    warn: float | None = None
    void: float | None = None


@dataclass(frozen=True)
class CheckBounds(WarnVoid):
    """The bounds of one check.

    `closed` replace them in the closed loop, `shared` where the generator shares its processors.
    """

    closed: WarnVoid | None = None
    shared: WarnVoid | None = None


@dataclass(frozen=True)
class CheckBoundsTable:
    """The bounds of each check of `validity`, by its id. Units are those of the check's reading."""

    unsent: CheckBounds
    send_lag: CheckBounds
    generator: CheckBounds
    generator_errors: CheckBounds
    connection_cap: CheckBounds
    little: CheckBounds
    starved: CheckBounds
    closure: CheckBounds
    steal: CheckBounds
    foreign_cpu: CheckBounds
    lab_cpu: CheckBounds
    run_queue: CheckBounds
    generator_pressure: CheckBounds
    io_pressure: CheckBounds
    canary: CheckBounds
    frequency: CheckBounds
    heat: CheckBounds
    swap: CheckBounds
    memory_kills: CheckBounds
    major_faults: CheckBounds
    quota: CheckBounds
    retransmits: CheckBounds
    backlog: CheckBounds
    steadiness: CheckBounds
    steady_median: CheckBounds
    steady_cost: CheckBounds
    unstable: CheckBounds
    checkpoints: CheckBounds
    autovacuum: CheckBounds
    foreign_sessions: CheckBounds
    temp_files: CheckBounds


@dataclass(frozen=True)
class Rules:
    """The numbers beside bounds that readings and verdicts rest on. The file says what each is."""

    send_lag_least_us: int
    steadiness_seconds: int
    growth_confidence: float
    settled_last: int
    settled_before_turns: int
    settled_tolerance: float
    settled_drift: float
    warmup_judged_seconds: int
    commits_per_answer_note: float
    renewed_share: float
    renewed_least: int
    prepared_reject: float
    statement_samples: int
    statement_least: float
    statement_share_note: float
    paid_most: float
    paid_free: int
    table_scans_note: float
    table_rows_note: float
    table_rows_least: int
    stall_least_us: int
    stall_times_gap: float
    stall_times_median: float
    stall_own: float
    stall_count_warn: int
    stall_share_warn: float
    answer_cpu_answers: int
    answer_cpu_least_us: float
    memory_growth_s: float
    memory_growth_mb_per_s: float
    memory_growth_share: float
    memory_growth_late: float
    memory_full_warn_s: float
    held_growth_least: int
    wire_off_share: float
    wire_off_us: float
    lab_late_s: float
    lab_late_share: float


@dataclass(frozen=True)
class Reasons:
    """The values from which on `reasons` names a limit. They are shares unless a unit is named."""

    cores_full: float
    idle_cores: float
    thread_full: float
    generator_idle: float
    busy_samples: int
    locked: float
    deadlocked: float
    committing: float
    pool_busy: float
    pool_kept: float
    pool_unused: float
    pool_looks: int
    throttled: float
    stopped: float
    timer_ms: float
    memory_full: float
    delayed_ack_from_us: int
    delayed_ack_to_us: int
    delayed_ack_share: float
    retry_us: int
    backlogged: float
    connects: float
    connects_pools: float
    connects_cpu: float
    on_wire: float
    on_wire_trips: float
    in_flight: float
    levels_apart: float
    levels_rise: float


@dataclass(frozen=True)
class Thresholds:
    """All thresholds."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    checks: CheckBoundsTable
    rules: Rules
    reasons: Reasons

    def values(self) -> dict[str, Any]:
        """The thresholds as plain tables, for a run's folder."""
        return asdict(self)


@cache
def standard() -> Thresholds:
    """The thresholds of this version of the lab."""
    return load(FILE)


def load(path: Path) -> Thresholds:
    """Read a file of thresholds. LabError, with the line, for a key too many or too few, and for a number that means nothing."""
    source = files.read(path, 1)
    found = source.parse(Thresholds)
    for name in (one.name for one in fields(CheckBoundsTable)):
        bounds: CheckBounds = getattr(found.checks, name)
        for pair in (bounds, bounds.closed, bounds.shared):
            if pair is not None and (problem := _problem(pair)):
                raise source.error(("checks", name), f"`checks.{name}` {problem} in", "a check warns first, and voids above that")
    for part in ("rules", "reasons"):
        for name, value in asdict(getattr(found, part)).items():
            if value <= 0:
                raise source.error((part, name), f"`{part}.{name}` is {value:g} in", "write a number above 0")
    if not 0 < found.rules.growth_confidence < 1:
        raise source.error(("rules", "growth_confidence"), "`rules.growth_confidence` must lie below 1 in", "such as 0.99")
    return found


def changes_of(before: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    """The thresholds that differ between two sets of `values`, by name."""
    parts = sorted({*before, *now})
    return tuple(
        f"{part}.{name}"
        for part in parts
        for name in sorted({*before.get(part, {}), *now.get(part, {})})
        if before.get(part, {}).get(name) != now.get(part, {}).get(name)
    )


def _problem(pair: WarnVoid) -> str | None:
    if pair.warn is None and pair.void is None:
        return "has neither `warn` nor `void`"
    if any(value is not None and value < 0 for value in (pair.warn, pair.void)):
        return "has a bound below 0"
    if pair.warn is not None and pair.void is not None and pair.void < pair.warn:
        return "is void before it warns"
    return None
