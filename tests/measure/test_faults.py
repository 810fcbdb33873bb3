"""Faults as they are carried out: in which order, what is no longer counted, and one restart of the database under load."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import psutil
import pytest

from builders.benches import bench_on
from builders.contracts import CONTRACTS, SEEDS
from builders.paths import ROOT
from builders.trials import CELL
from fairground import postgres
from fairground.host import Keeper
from fairground.inputs import manifest, workload_files
from fairground.judge import recovery
from fairground.measure import Bench, faults, run
from fairground.measure.watch import WatchedArm
from fairground.model import (
    Audit,
    AuditLine,
    Cell,
    CellSettings,
    Durability,
    Fault,
    FaultKind,
    Invariant,
    Load,
    Outcomes,
    PlanSlot,
    Progress,
    Severity,
    Topology,
    Trial,
    Verdict,
)
from fairground.model.cause import LAB_STOPPED
from fairground.postgres import Activity, Database, Refusals
from fairground.topology import Census

STALL = Fault(FaultKind.STALL, 3.0, 250.0)
CUT = Fault(FaultKind.CONNECTIONS_CUT, 3.0)


@dataclass
class Steps:
    """A database, its processes and a clock that only write down what is done to them."""

    done: list[object] = field(default_factory=list)
    late: bool = False
    """Whether a process is there that was not when it was first looked."""

    def processes(self) -> list[Any]:
        """The postmaster and its children; each says what it is sent."""
        pids = (7, 8, 9) if self.late else (8, 7)
        self.late = True
        return [SimpleNamespace(pid=pid, send_signal=lambda number, pid=pid: self._sent(pid, number)) for pid in pids]

    def _sent(self, pid: int, number: int) -> None:
        self.done.append((pid, signal.Signals(number).name))
        if pid == 9:
            raise psutil.NoSuchProcess(pid)

    def sleep(self, seconds: float) -> None:
        """Time that passes at once."""
        self.done.append(seconds)

    def refusals(self) -> Refusals:
        """So many connections were refused so far."""
        self.done.append("refused")
        return Refusals(3, 2)

    def limit_connections(self, most: int) -> None:
        """Another limit."""
        self.done.append(("limit", most))

    def sever(self) -> int:
        """All connections are cut: so many."""
        self.done.append("sever")
        return 5


def faulty(steps: Steps) -> faults.Faults:
    """What carries out faults on them."""
    child = SimpleNamespace(pid=7, processes=steps.processes)
    doing = {name: getattr(steps, name) for name in ("refusals", "limit_connections", "sever")}
    database = SimpleNamespace(child=child, **doing)
    return faults.Faults(cast(Any, None), cast(Any, database), cast(Any, None), WatchedArm("db"), CELL)


def test_a_stall_stops_every_process_and_lets_all_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The postmaster first, then its children, those too that were made meanwhile; one that has ended disturbs nothing."""
    steps = Steps()
    monkeypatch.setattr(time, "sleep", steps.sleep)
    happened = faulty(steps).carry_out(STALL)
    stopped = [(7, "SIGSTOP"), (8, "SIGSTOP"), (9, "SIGSTOP")]
    assert steps.done == [*stopped, 0.25, *((pid, "SIGCONT") for pid, _ in stopped)]
    assert happened.fault == STALL and happened.cut is None and happened.began_unix_s <= happened.over_unix_s


def test_processes_go_on_where_a_stall_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ends the wait, nothing is left standing still."""

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    steps = Steps()
    monkeypatch.setattr(time, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        faulty(steps).carry_out(STALL)
    assert [name for _, name in cast(Any, steps.done)].count("SIGCONT") == 3


def test_connections_that_are_cut_are_not_counted_any_more() -> None:
    """Old ones and their successors overlap: from the cut on neither the limit nor the peak is held against the server."""
    steps = Steps()
    one = faulty(steps)
    one.seen.take(Activity({"running": 5}, (), frozenset(range(5))), on_turn=True)
    assert one.carry_out(CUT).cut == 5
    assert steps.done == ["refused", ("limit", faults.UNLIMITED), "sever"]
    one.seen.take(Activity({"running": 50}, (), frozenset(range(50))), on_turn=True)
    one.seen.count(Census(50, 0, 50))
    assert (one.seen.connections_peak, one.seen.pooler_clients_peak) == (5, None)
    assert one.refusals() == (6, 4) and one.lifted


def test_a_stall_leaves_the_budget_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """No connection is cut, so that every one still counts."""
    monkeypatch.setattr(time, "sleep", lambda _: None)
    one = faulty(Steps())
    one.carry_out(STALL)
    assert one.seen.counts_connections and one.refusals() == (3, 2) and not one.lifted


@pytest.mark.parametrize(("equals", "lost"), [("before + good.make-it", 40), ("before + good.make-it - good.remove", None)])
def test_what_is_lost_is_not_read_off_a_sum_that_cancels_out(equals: str, lost: int | None) -> None:
    """Where one request removes what another made, sixty rows less and twenty more are no forty writes."""
    one = faulty(Steps())
    one.crashed = True
    workload = next(one for one in workload_files.load_workloads(SEEDS) if one.id == "crud")
    asked = replace(workload, audit=Audit(True, (Invariant("rows", "as many as were made", "", equals),)))
    found = recovery.recovery(2.0, 0.4, ([100] * 60, [0] * 60), 6.0, Outcomes(6000, 0, {}, 0, 0, 0, 0, 0, 0, 0))
    told, _ = one.count_lost(found, (AuditLine("rows", "as many as were made", 40, 0, 60),), asked, 6000)
    assert told.lost == lost


@pytest.fixture(scope="module")
def durable(keeper: Keeper, cache: Path) -> Iterator[Database]:
    """A database whose commits wait for the disk."""
    found = postgres.start(keeper, cache, Durability.DURABLE)
    yield found
    found.stop()


def under_load(bench: Bench, stack_id: str, fault: Fault, durability: Durability, folder: Path) -> Trial:
    """A trial of a server of the zoo in whose window the database goes away."""
    (stack,) = manifest.find_stack(manifest.load_servers(ROOT / "tests" / "zoo", CONTRACTS), stack_id)
    workload = workload_files.render(next(one for one in workload_files.load_workloads(SEEDS) if one.id == "tx"), 1)
    load = Load(8, window_s=5.0, warmup_min_s=1.0, warmup_max_s=1.0, timeout_ms=5000, fault=fault)
    settings = CellSettings(workers=1, pool_size=4, scale=1, durability=durability)
    cell = Cell(stack.id, workload.id, Topology(), load, settings)
    return run(bench, PlanSlot(1, 1, cell, 7), 1, stack, workload, folder, "trial")


@pytest.mark.live
@pytest.mark.parametrize(
    ("kind", "durability"),
    [
        (FaultKind.DATABASE_RESTART, Durability.RELAXED),
        pytest.param(FaultKind.DATABASE_CRASH, Durability.RELAXED, marks=pytest.mark.nightly),
        (FaultKind.DATABASE_CRASH, Durability.DURABLE),
    ],
)
def test_a_database_that_goes_away_under_load(
    keeper: Keeper, request: pytest.FixtureRequest, tmp_path: Path, kind: FaultKind, durability: Durability
) -> None:
    """A sound server is loaded meanwhile: answers fail, good ones come again, the audit holds, and the trial says what became of
    the answers and of what was acknowledged."""
    database: Database = request.getfixturevalue("durable" if durability is Durability.DURABLE else "database")
    before = database.child
    trial = under_load(bench_on(keeper, database), "healthy", Fault(kind, 2.0), durability, tmp_path / "trial")
    told = "\n".join(f"{one.id} {one.severity}: {one.sentence}" for one in trial.findings)
    assert database.child is not None and before is not None and database.child.pid != before.pid
    assert not [one for one in trial.findings if one.severity is Severity.REJECT], told
    found, crashed = trial.recovery, kind is FaultKind.DATABASE_CRASH
    assert found is not None and found.good, told
    assert trial.audit and all(line.holds for line in trial.audit), told
    assert (trial.database is not None and trial.database.commits is None) is crashed
    assert ("commits" in {line.id for line in trial.audit}) is not crashed
    if durability is Durability.DURABLE:
        assert found.lost == 0, told
    assert ((found.lost is not None) is crashed) and (("crash" in {one.id for one in trial.findings}) is crashed), told
    assert "fault" in {one.id for one in trial.findings} and trial.diagnosis is None, told
    assert trial.roles["database"].cpu_us, "the CPU of both processes is one role's"
    assert not keeper.orphans() and os.path.exists(f"/proc/{database.child.pid}")


@pytest.mark.live
def test_a_fault_that_lasts_beyond_the_window_is_no_lab_that_stood_still(
    keeper: Keeper, database: Database, tmp_path: Path
) -> None:
    """The lab carries it out and reads no clock meanwhile: that is said of the fault."""
    stall = Fault(FaultKind.STALL, 2.0, 4000.0)
    trial = under_load(bench_on(keeper, database), "healthy", stall, Durability.RELAXED, tmp_path / "trial")
    told = {one.id: one.sentence for one in trial.findings}
    assert LAB_STOPPED.id not in told and "which lasted beyond the window" in told["fault"], told


BACKGROUND = "SELECT pid FROM pg_stat_activity WHERE backend_type IN ('walwriter', 'background writer')"
"""Who brings to the disk what no commit waits for: the log by itself, or before a page that it belongs to."""


def without_background(bench: Bench, database: Database) -> Bench:
    """The bench on which these stand still from the load on, until the crash ends them: before it they have work to do."""
    stopped = list[int]()

    def say(now: Progress) -> None:
        if now.phase != "warmup" or stopped:
            return
        with database.connect("postgres") as connection:
            stopped.extend(pid for (pid,) in connection.execute(BACKGROUND.encode()).fetchall())
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)

    return replace(bench, say=say)


@pytest.mark.live
def test_what_did_not_wait_for_the_disk_is_missing_after_a_crash(keeper: Keeper, durable: Database, tmp_path: Path) -> None:
    """A server that has told a durable database not to wait has acknowledged writes that the crash took."""
    bench = without_background(bench_on(keeper, durable), durable)
    trial = under_load(bench, "hurried:off", Fault(FaultKind.DATABASE_CRASH, 2.0), Durability.DURABLE, tmp_path / "trial")
    told = "\n".join(f"{one.id} {one.severity}: {one.sentence}" for one in trial.findings)
    assert trial.verdict is Verdict.REJECTED and "audit:tx-history-rows" in {one.id for one in trial.findings}, told
    assert trial.recovery is not None and trial.recovery.lost, told
