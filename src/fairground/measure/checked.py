"""A stack on which all of the contract's cases are tried: those too that restart its database, exhaust its pool or end it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg

from fairground import contract
from fairground.judge import answers, blame
from fairground.measure import supply
from fairground.measure.arm import CheckArm
from fairground.measure.faults import UNLIMITED
from fairground.measure.path import STOP_GRACE_S
from fairground.measure.stack import StartedStack
from fairground.measure.watch import count_held
from fairground.model import CellSettings, Durability, Finding, LabError, PoolScope
from fairground.postgres import Database

LOCK_TIMEOUT_MS = 10_000


@dataclass
class CheckedStack(StartedStack):
    """Started as a stack that is to be loaded, with the same guarantees; in place of a load come the cases."""

    stage: LiveStage = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.stage = LiveStage(self)

    def _verify(self) -> bool:
        """Try every case that is asked for, and go on whatever fails.

        A case that disturbs the server or its database starts the server anew.
        """
        assert isinstance(self.arm, CheckArm)
        with self.phase("verify"), self.database.keep_asking():
            report = contract.run(
                [case for case in self.bench.cases if case.contract == self.workload.contract.id],
                address=(self.host, self.port),
                contract=self.workload.contract,
                names=self.arm.names,
                probe=self.database.probe,
                stage=self.stage,
                only=self.arm.only,
                terms=supply.terms_of(self.arm, self.database),
            )
        self.findings.extend(report.findings)
        return True

    def ready(self) -> None:
        """Do nothing: nothing is loaded, so nothing is noted for an audit."""

    def close(self) -> None:
        """Stop the server of the last case as those before it, and then what is left."""
        self.stage.stop()
        super().close()

    def note(self, found: Finding) -> None:
        """Note a finding on one start of the server: once, however often it was seen."""
        if found.id not in {one.id for one in self.findings}:
            self.findings.append(found)


class LiveStage:
    """A real server on a real database, for the cases that disturb them (`contract.Stage`)."""

    def __init__(self, checked: CheckedStack) -> None:
        self._checked = checked
        self._settings = checked.arm.cell.settings
        self._disturbed = False
        self._backends = frozenset[int]()

    @property
    def _database(self) -> Database:
        return self._checked.database

    def start(self, settings: contract.ProcedureSettings) -> tuple[str, int]:
        """The server that runs, if it runs under `settings`; else one that is started. LabError when it does not become ready."""
        checked, path = self._checked, self._checked.path
        wanted = of_case(settings, self._settings.scale)
        if wanted == self._settings and self.alive():
            return path.host, path.server_port
        self.stop()
        self._settings, self._disturbed = wanted, False
        cell = replace(checked.arm.cell, settings=self._settings)
        checked.limit_connections(cell)
        path.open_server(checked.stack_arm.stack, self._settings)
        problem = path.wait(checked.bench.ready_timeout_s)
        if problem is not None:
            raise LabError(f"the server did not become ready: {problem}")
        return path.host, path.server_port

    def stop(self) -> contract.Exit:
        """Send SIGTERM, and wait five seconds at most. How it ended, and how many connections it held, are said of the arm."""
        checked = self._checked
        if checked.path.server is None:
            return contract.Exit(0.0, None, False)
        stopped, found = checked.path.close_server()
        found += self._beyond_its_pool()
        self._database.wait_for_no_connections()  # those of a server that was killed are not its successor's
        if checked.stack_arm.holds_a_pool:  # each start may be told another size; who is told none is asked for the most of all
            checked.seen.connections_peak = None
        for one in found:
            checked.note(one)
        forced = stopped.seconds is None or bool({one.id for one in found} & {"strays", "port"})
        return contract.Exit(stopped.seconds if stopped.seconds is not None else STOP_GRACE_S, stopped.exit_code, forced)

    def alive(self) -> bool:
        return self._checked.path.server is not None and self._checked.exit_code() is None

    def connections(self) -> int:
        """The connections that it holds, by this look and the last one; what is still ending is none of them."""
        now, before = self._database.backends(), self._backends
        self._backends = now
        return count_held(now, before, self._checked.seen.allowed)

    def waiting(self) -> int:
        return self._database.count_backends("Lock:")

    def restart_database(self) -> None:
        if self._database.owner is None:
            raise contract.NotStaged("the lab does not restart a given database")
        self._disturb()
        self._checked.notice_crash()
        self._database.owner.restart(self._checked.bench.keeper, Durability.RELAXED, pause_s=0.2)
        self._checked.lifetime.begin()

    def sever_connections(self) -> None:
        self._disturb()
        self._database.sever()

    def _disturb(self) -> None:
        """All connections will be cut: that their successors overlap with the last moments of the old ones is no breach."""
        for one in self._beyond_its_pool():
            self._checked.note(one)
        self._disturbed = True
        self._database.limit_connections(UNLIMITED)

    def _beyond_its_pool(self) -> tuple[Finding, ...]:
        """Return the findings on the connections that the server has held so far. Its budget counts until they were cut."""
        peak, (refused, without_room) = self._checked.seen.connections_peak, self._database.refusals() or (None, None)
        is_held = self._checked.stack_arm.holds_a_pool and not self._disturbed
        found = answers.connections(peak, self._settings.pool_total, refused=refused) if is_held else ()
        return (*found, *filter(None, [blame.no_room(without_room, is_held)]))

    @contextmanager
    def holding(self, *rows: str) -> Iterator[contract.Hold]:
        """A transaction of the lab's own that has locked these rows."""
        with self._database.connect() as connection:
            connection.autocommit = False
            held = RowHold(connection)
            try:
                for row in rows:
                    held.take(row)
                yield held
            finally:
                with suppress(psycopg.Error):
                    connection.rollback()


class RowHold:
    """Locked rows (`contract.Hold`)."""

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self._connection = connection
        connection.execute(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}".encode())

    def is_free(self, row: str) -> bool:
        """True if the row can be locked at once; it is let go of again."""
        with self._connection.transaction(force_rollback=True):
            found = self._connection.execute(f"{row} FOR UPDATE SKIP LOCKED".encode()).fetchone()
        return found is not None

    def take(self, row: str) -> bool:
        """Lock the row. False: the database ended this transaction for a deadlock, and it holds nothing any more."""
        try:
            self._connection.execute(f"{row} FOR UPDATE".encode())
            return True
        except psycopg.errors.DeadlockDetected:
            self._connection.rollback()
            return False


def of_case(settings: contract.ProcedureSettings, scale: int = CellSettings.scale) -> CellSettings:
    """A case's settings as those of a cell, on data of a scale."""
    return CellSettings(
        scale=scale,
        workers=settings.workers,
        pool_size=settings.pool_size,
        pool_wait_ms=settings.pool_wait_ms,
        prepared=settings.prepared,
        pool_scope=PoolScope.TOTAL,
    )
