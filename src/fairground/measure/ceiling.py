"""What this machine can do at most on a workload: a null responder for the HTTP side, pgbench with the same SQL for the other.

Both are measured in the run that they belong to, with its connections and pool, because a machine's speed changes by the hour.
So is whether the load engine can measure here at all.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from pathlib import Path

from fairground.host import Keeper
from fairground.measure import bench as measuring
from fairground.measure.arm import Arm, NullArm, PgbenchArm, Window
from fairground.measure.schedule import Whole
from fairground.measure.session import Session
from fairground.model import Cell, Expectation, KnownNumber, LabError, Limit, Load, Qualification, Settings, Topology, Workload
from fairground.postgres import Database

WINDOW_S = 2.0
WARMUP_S = 0.5
QUALIFY_S = 30.0
"""What the qualification may take at most; it is meant to take 4 s."""


@dataclass(frozen=True)
class Bench:
    """What measuring a limit needs; `folder` takes the raw outputs."""

    keeper: Keeper
    database: Database
    engine: Path
    folder: Path
    cores: int


def measure(bench: Bench, workload: Workload, load: Load, settings: Settings) -> Limit:
    """The ceiling of one workload under a load: pgbench's where the workload has SQL, else the null responder's.

    Raises LabError when the instrument fails: then the workload has no limit, which the report says.
    """
    bench.folder.mkdir(parents=True, exist_ok=True)
    short = replace(load, window_s=WINDOW_S, generator="engine", model="closed", rate_per_s=None, requests=None)
    cell = Cell("the machine", workload.id, Topology(), replace(short, warmup_min_s=WARMUP_S), settings)
    if workload.limit_sql is None:
        asked = replace(workload, expect=Expectation(200, None, None, 1), ledger=())
        arm: Arm = NullArm("null-responder", cell, asked, 1, bench.cores)
        detail = f"the null responder under {load.connections} connections of the lab's engine, {WINDOW_S:g} s"
    else:
        pgbench = PgbenchArm("pgbench", cell, workload, 1, workload.limit_sql)
        arm = pgbench
        detail = f"pgbench {settings.pool_size} clients, {max(1, round(WINDOW_S))} s, protocol={pgbench.protocol}"
    window = _window(bench, arm)
    return Limit(workload.id, arm.label, window.rate_per_s, detail)


def _window(bench: Bench, arm: Arm) -> Window:
    """One window of a session of its own. LabError with the reason where there is none."""
    shared = measuring.Bench(bench.keeper, bench.database, bench.engine, (), bench.cores)
    with Session(shared, [arm], bench.folder) as session:
        windows = session.load(Whole(arm.label, arm.cell.load, arm.seed))
    if not windows:
        why = "; ".join(finding.sentence for finding in session.ended[arm.label].findings)
        raise LabError(f"{arm.label} could not measure the limit of {arm.workload.id}: {why}", exit_code=3)
    return windows[0]


def qualify(bench: Bench) -> Qualification:
    """Whether the engine finds latencies that are known by calculation here, in its short form: about 4 s.

    LabError when it does not say.
    """
    bench.folder.mkdir(parents=True, exist_ok=True)
    log, began = bench.folder / "qualify.json", time.monotonic()
    with open(log, "wb") as output:
        argv = [str(bench.engine), "qualify", "--quick", "--json"]
        child = bench.keeper.spawn(argv, role="qualify", env={}, cwd=bench.folder, stdout=output)
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
