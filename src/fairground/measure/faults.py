"""Faults as they are carried out: what a cell's load says shall go wrong in its window, done to the path of one arm.

A restart ends the database as its manual calls fast: it writes out what it has and closes all connections, so that nothing
committed is lost where durability is relaxed. A crash kills all of its processes: what they had not written out is lost, and its
counters with that. A pooler is killed, since it holds nothing but connections. All of this is done by the thread that reads the
generator's events, for the keeper serves one thread.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import psutil

from fairground.host import Child, Keeper, RoleMeter
from fairground.judge import crash
from fairground.measure.path import Route
from fairground.measure.watch import WatchedArm
from fairground.model import AuditLine, Cell, Fault, FaultKind, Finding, Recovery, Workload
from fairground.model.workload import GOOD
from fairground.postgres import Database, Refusals

UNLIMITED = -1
"""PostgreSQL's word for no limit on a role's connections."""


@dataclass(frozen=True)
class Happened:
    """The times at which a fault began and had been carried out, by the wall clock.

    `cut`: how many connections to the database it ended; None where nobody counted.
    """

    fault: Fault
    began_unix_s: float
    over_unix_s: float
    cut: int | None = None


@dataclass
class Faults:
    """The faults of one arm, and what is needed to carry them out."""

    keeper: Keeper
    database: Database
    path: Route
    seen: WatchedArm
    cell: Cell
    earlier: Refusals = Refusals()
    """The connections that the database had refused before the fault."""
    lifted: bool = False
    """The server was held to no number of connections any more."""
    crashed: bool = False
    """The database was made to crash, so that it has lost its counters."""

    def carry_out(self, fault: Fault) -> Happened:
        """Do it now, and come back once it is done: after a restart, when connections are accepted again. LabError if they are
        not."""
        if fault.kind is not FaultKind.STALL:
            self._stop_counting()
        began_unix_s = time.time()
        deeds: Mapping[FaultKind, Callable[[], int | None]] = {
            FaultKind.DATABASE_RESTART: self._restart_database,
            FaultKind.DATABASE_CRASH: lambda: self._restart_database(crash=True),
            FaultKind.CONNECTIONS_CUT: self.database.sever,
            FaultKind.POOLER_RESTART: self._restart_pooler,
            FaultKind.STALL: lambda: self._stall((fault.for_ms or 0.0) / 1000),
        }
        cut = deeds[fault.kind]()
        return Happened(fault, began_unix_s, time.time(), cut)

    def most_lost(self, found: Recovery | None) -> int | None:
        """The most acknowledged writes that a crash may have taken; None where there was none, or it may take none."""
        return crash.most_lost(found, self.cell.settings.durability) if self.crashed and found is not None else None

    def count_lost(
        self, found: Recovery, lines: Sequence[AuditLine], workload: Workload, acknowledged: int
    ) -> tuple[Recovery, tuple[Finding, ...]]:
        """Count what a crash took, by the audit's lines: the recovery with it, and what is to be said."""
        if not self.crashed:
            return found, ()
        # Where some requests take away what others make, a sum tells of neither how many are missing.
        of = [one.id for one in workload.audit.invariants if one.counts_answers and "-" not in GOOD.sub("", one.equals)]
        lossy = self.most_lost(found) is not None
        found = replace(found, lost=crash.count_lost(lines, of, lossy))
        return found, (crash.finding(found, acknowledged, lossy),) if workload.audit.writes else ()

    def refusals(self) -> Refusals | None:
        """Count the connections that were refused before the fault and after it; None where nobody is told."""
        found = self.database.refusals()
        return None if found is None else Refusals(*map(sum, zip(found, self.earlier, strict=True)))

    def _stop_counting(self) -> None:
        """Stop holding connections against the budget: successors overlap with the last moments of the old ones."""
        self.earlier, self.lifted = self.refusals() or Refusals(), True
        self.database.limit_connections(UNLIMITED)
        self.seen.counts_connections = False

    def _restart_database(self, crash: bool = False) -> None:
        owner, meter = self.database.owner, self.path.meters["database"]
        assert owner is not None and isinstance(meter, RoleMeter), "the lab restarts a database of its own alone"
        spent_ns = meter.cpu_ns()
        self.crashed = crash
        owner.restart(self.keeper, self.cell.settings.durability, crash=crash)
        assert owner.child is not None
        owner.child.pin(self.cell.settings.cores_of("database"))
        meter.succeed(owner.child, spent_ns)

    def _restart_pooler(self) -> None:
        self.path.restart_pooler()
        self.seen.pooler, self.seen.console = self.path.pooler, None

    def _stall(self, seconds: float) -> None:
        child = self.database.child
        assert child is not None, "the lab stops a database of its own alone"
        stopped = dict[int, psutil.Process]()
        try:
            while fresh := _others(child, stopped):
                for process in fresh:
                    stopped[process.pid] = process
                    with suppress(psutil.NoSuchProcess):
                        process.send_signal(signal.SIGSTOP)
            time.sleep(seconds)
        finally:
            for process in stopped.values():
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(signal.SIGCONT)


def _others(child: Child, known: Mapping[int, object]) -> list[psutil.Process]:
    """Processes of a child that are not known yet, itself first: one that stands still starts no others."""
    return sorted((one for one in child.processes() if one.pid not in known), key=lambda one: one.pid != child.pid)
