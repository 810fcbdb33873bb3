"""The stage of the reference server: what the lab does to a process and a database, done in memory."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Iterator

from fairground.contract.case import ProcedureSettings
from fairground.contract.stage import Exit
from reference.database import Database, DatabaseFailed, Transaction
from reference.server import Server


class ReferenceHold:
    """A transaction of the lab's own."""

    def __init__(self, transaction: Transaction, loses: bool) -> None:
        self._transaction, self._loses = transaction, loses

    def is_free(self, row: str) -> bool:
        return self._transaction.lock(_number(row), wait=False)

    def take(self, row: str) -> bool:
        if self._loses:
            self._transaction.rollback()
            return False
        try:
            return self._transaction.lock(_number(row))
        except DatabaseFailed:
            return False


class ReferenceStage:
    """Starts reference servers with faults; `ignores-sigterm`, `keeps-listening`, `lab-is-the-victim` are the stage's."""

    def __init__(self, database: Database, faults: Collection[str] = ()) -> None:
        self._database, self._faults = database, faults
        self._server: Server | None = None
        self._own: set[Transaction] = set()

    @property
    def server(self) -> Server:
        assert self._server is not None, "nothing was started"
        return self._server

    def start(self, settings: ProcedureSettings) -> tuple[str, int]:
        if self._server is not None:
            self._server.stop()
        self._database.sever()
        self._server = Server(self._database, settings, self._faults)
        return "127.0.0.1", self._server.port

    def stop(self) -> Exit:
        if self._server is None:
            return Exit(0.0, None, False)
        if "keeps-listening" not in self._faults:
            self.server.stop()
        return Exit(8.0, None, True) if "ignores-sigterm" in self._faults else Exit(0.1, 0, False)

    def alive(self) -> bool:
        return self.server.alive

    def connections(self) -> int:
        return len(self._database.sessions)

    def waiting(self) -> int:
        return len(set(self._database.waiters) - self._own)

    @contextlib.contextmanager
    def holding(self, *rows: str) -> Iterator[ReferenceHold]:
        transaction = Transaction(self._database)
        self._own.add(transaction)
        try:
            for row in rows:
                transaction.lock(_number(row))
            yield ReferenceHold(transaction, "lab-is-the-victim" in self._faults)
        finally:
            transaction.rollback()

    def restart_database(self) -> None:
        self._database.away = True
        self._database.sever()
        time.sleep(0.2)
        self._database.away = False

    def sever_connections(self) -> None:
        self._database.sever()


def _number(row: str) -> int:
    """The id of the row that a statement selects."""
    return int(row.rpartition("=")[2])
