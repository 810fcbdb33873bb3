"""The most that this machine can do on a workload: a null responder for the HTTP side, pgbench with the same SQL for the other.

Each stands in the server's place, and has its processors. pgbench is tried with several client counts, and the best is the
ceiling. Where locks limit a workload there is no ceiling: then pgbench has as many clients as the pool has connections, and its
rate stands beside the stacks' without a share of it.

Both are measured in the run that they belong to, with its connections and pool, before the first trial and again beside later
blocks: a machine's speed changes by the hour, and by the minute.
So is whether the load engine can measure here at all.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

from fairground.host import Streams
from fairground.measure.arm import Arm, ArmWindow, NullArm, PgbenchArm
from fairground.measure.bench import Bench
from fairground.measure.ladder import Ladder
from fairground.measure.schedule import Schedule, Whole, WholeWindows
from fairground.measure.session import ArmSession
from fairground.model import (
    Cell,
    CellSettings,
    Expectation,
    KnownNumber,
    LabError,
    Limit,
    Load,
    Qualification,
    Topology,
    Workload,
    WorkloadEvent,
)

WINDOW_S = 2.0
WARMUP_S = 0.5
"""Of the null responder."""
PGBENCH_WARMUP_S = 1.0
STEP_S = 1.0
"""One client count's window: six or so are measured of each workload, and pgbench counts whole seconds."""
LOCKED_S, DEADLOCKED_S = 2.0, 4.0
"""The one window where locks limit the workload, and where some are deadlocks: each of those lasts a second."""
QUALIFY_S = 30.0
"""What the qualification may take at most; it is meant to take 4 s."""


def measure(
    bench: Bench, folder: Path, workload: Workload, load: Load, settings: CellSettings, clients: int | None = None
) -> Limit:
    """Measure the most that the machine can do on one workload under a load.

    It is pgbench's best where the workload has SQL, else the null responder's. `folder` takes the raw outputs.
    `clients`: pgbench has this many, and no other count is tried. LabError when it cannot be measured: then the
    workload has no limit, which the report says.
    """
    folder.mkdir(parents=True, exist_ok=True)
    short = replace(
        load, connections=load.most_connections, window_s=WINDOW_S, generator="engine", model="closed", rate_per_s=None,
        requests=None, think_ms=0.0, fault=None, stages=(),
    )  # fmt: skip
    cell = Cell("the machine", workload.id, Topology(), replace(short, warmup_min_s=WARMUP_S), settings)
    if workload.limit_sql is not None:
        return _by_pgbench(bench, folder, PgbenchArm("pgbench", cell, workload, 1, workload.limit_sql), clients)
    if workload.uses_database:  # a responder that asks no database is no ceiling of one that does
        raise LabError(f"`{workload.id}` says no statements for pgbench (`limit`), so that nothing is known of its ceiling")
    asked = workload.change(lambda one: replace(one, expect=Expectation(200, None, None, 1), ledger=(), edges=(), keep={}))
    arm = NullArm("null-responder", cell, asked, 1, len(settings.cores_of("server") or range(bench.cores)))
    (window,) = _windows(bench, folder, arm, WholeWindows((Whole(arm.label, cell.load, arm.seed),)), least=1)
    detail = f"the null responder under {load.connections} connections of the lab's engine, {WINDOW_S:g} s"
    return Limit(workload.id, arm.label, window.rate_per_s, detail)


def _by_pgbench(bench: Bench, folder: Path, arm: PgbenchArm, clients: int | None) -> Limit:
    """pgbench's best over several client counts; where locks limit the workload, its rate with as many clients as the pool."""
    locked, pool_size = arm.workload.limited_by_locks, arm.cell.settings.pool_size
    assert bench.database is not None, "SQL needs a database server"
    deadlocks = WorkloadEvent.DEADLOCKS in arm.workload.events
    seconds = DEADLOCKED_S if deadlocks else LOCKED_S if locked else STEP_S
    step = Whole(arm.label, replace(arm.cell.load, window_s=seconds), arm.seed)
    search = clients is None and not locked
    ladder = Ladder(step, PGBENCH_WARMUP_S, clients or pool_size, bench.database.room(), search)
    windows = _windows(bench, folder, arm, ladder, least=2)[1:]
    best = max(windows, key=lambda window: window.rate_per_s)
    counts = [window.load.connections for window in windows]
    others = "" if len(counts) == 1 else f" (the best of {', '.join(map(str, sorted(counts)))})"
    detail = f"pgbench {best.load.connections} clients{others}, {seconds:g} s after {PGBENCH_WARMUP_S:g} s of warm-up"
    detail += f", protocol={arm.protocol}" + ("; locks limit it: no ceiling" if locked else "")
    tried = tuple((window.load.connections, window.rate_per_s) for window in windows)
    return Limit(arm.workload.id, arm.label, best.rate_per_s, detail, best.load.connections, tried, is_ceiling=not locked)


def _windows(bench: Bench, folder: Path, arm: Arm, schedule: Schedule, least: int) -> tuple[ArmWindow, ...]:
    """The windows of a session of one arm. LabError with the reason where it failed before it had this many."""
    with ArmSession(bench, [arm], folder) as session:
        windows = tuple(session.play(schedule))
    if len(windows) < least:
        why = "; ".join(finding.sentence for finding in session.ended[arm.label].findings)
        raise LabError(f"{arm.label} could not measure the limit of {arm.workload.id}: {why}", exit_code=3)
    return windows


def qualify(bench: Bench, folder: Path) -> Qualification:
    """Ask the engine whether it finds latencies that are known by calculation where it runs. The short form takes about 4 s.

    LabError when it does not say.
    """
    folder.mkdir(parents=True, exist_ok=True)
    log, began = folder / "qualify.json", time.monotonic()
    if bench.elsewhere is not None:
        said = bench.elsewhere.qualify(QUALIFY_S)
        log.write_text(said, encoding="utf-8", errors="replace")
        return qualification(said, time.monotonic() - began)
    with open(log, "wb") as output:
        argv = [str(bench.engine), "qualify", "--quick", "--json"]
        child = bench.keeper.spawn(argv, role="qualify", env={}, cwd=folder, streams=Streams(stdout=output))
    child.wait(QUALIFY_S)
    child.stop()
    return qualification(log.read_text(errors="replace"), time.monotonic() - began)


def qualification(output: str, took_s: float) -> Qualification:
    """The engine's own findings as a Qualification; LabError when there are none."""
    try:
        found = json.loads(output)
        return Qualification(bool(found["can_measure"]), took_s, tuple(KnownNumber(**check) for check in found["checks"]))
    except (ValueError, KeyError, TypeError) as error:
        raise LabError(f"`fairload qualify` gave no findings ({error})", exit_code=3) from error
