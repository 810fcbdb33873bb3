"""Does a server fulfil the contract? Every case, those too that restart the database or exhaust the pool."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg

from fairground import contract
from fairground.host import Child, Keeper, free_port, server, wait_until_silent
from fairground.model import Durability, Finding, LabError, MachineError, Settings, Severity, Stack
from fairground.postgres import Database

HOST = "127.0.0.1"
LOCK_TIMEOUT_MS = 10_000


def check(
    keeper: Keeper,
    database: Database,
    stack: Stack,
    cases: Sequence[contract.Case],
    log: Path,
    only: Collection[str] | None = None,
    scale: int = 10,
    ready_timeout_s: float = 30.0,
) -> contract.Report:
    """Start `stack` on fresh data and try `cases` on it; its output goes to the file `log`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(b"")
    database.reset(scale)
    stage = LiveStage(keeper, database, stack, log, ready_timeout_s)
    try:
        host, port = stage.start(contract.Settings(workers=2))
        exposed = server.exposed(port)
        report = contract.run(
            cases,
            host=host,
            port=port,
            facts=contract.facts_from(database.query),
            probe=database.query,
            stage=stage,
            only=only,
            skip=stack.server.skip,
        )
        return report if exposed is None else replace(report, findings=(*report.findings, exposed))
    except MachineError:
        raise
    except LabError as error:
        return contract.Report((Finding("ready", Severity.REJECT, error.message, {}),))
    finally:
        stage.stop()


class LiveStage:
    """A real server on a real database, for the cases that disturb them (`contract.Stage`)."""

    def __init__(self, keeper: Keeper, database: Database, stack: Stack, log: Path, ready_timeout_s: float) -> None:
        self._keeper, self._database, self._stack, self._log = keeper, database, stack, log
        self._ready_timeout_s = ready_timeout_s
        self._child: Child | None = None
        self._port = 0

    def start(self, settings: contract.Settings) -> tuple[str, int]:
        """Start the server anew under `settings`; LabError when it does not become ready."""
        self.stop()
        self._port = free_port()
        full = Settings(
            workers=settings.workers, pool_size=settings.pool_size, pool_wait_ms=settings.pool_wait_ms, prepared=settings.prepared
        )
        self._child = server.start(self._keeper, self._stack, full, HOST, self._port, self._database.server_url(), self._log)
        problem = server.wait(self._child, HOST, self._port, self._ready_timeout_s)
        if problem is not None:
            raise LabError(f"the server did not become ready: {problem}")
        return HOST, self._port

    def stop(self) -> contract.Exit:
        """SIGTERM, and five seconds."""
        if self._child is None:
            return contract.Exit(0.0, None, False)
        child, self._child = self._child, None
        stopped = child.stop(5.0)
        forced = stopped.seconds is None or bool(stopped.strays) or not wait_until_silent(HOST, self._port)
        return contract.Exit(stopped.seconds if stopped.seconds is not None else 5.0, stopped.exit_code, forced)

    def alive(self) -> bool:
        return self._child is not None and self._child.exit_code() is None

    def connections(self) -> int:
        return self._database.connections()

    def waiting(self) -> int:
        return self._database.waiting_for_locks()

    def restart_database(self) -> None:
        if self._database.owner is None:
            raise contract.NotStaged("a given database is not ours to restart")
        self._database.owner.restart(self._keeper, Durability.RELAXED, pause_s=0.2)

    def sever_connections(self) -> None:
        self._database.sever()

    @contextmanager
    def holding(self, *user_ids: int) -> Iterator[contract.Hold]:
        """A transaction of the lab's own that has locked these rows of `web_users`."""
        with self._database.connect() as connection:
            connection.autocommit = False
            held = RowHold(connection)
            try:
                for user_id in user_ids:
                    held.take(user_id)
                yield held
            finally:
                with suppress(psycopg.Error):
                    connection.rollback()


class RowHold:
    """Locked rows of `web_users` (`contract.Hold`)."""

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self._connection = connection
        connection.execute(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}".encode())

    def is_free(self, user_id: int) -> bool:
        """Whether the row can be locked at once; it is let go of again."""
        with self._connection.transaction(force_rollback=True):
            found = self._connection.execute(
                "SELECT id FROM web_users WHERE id = %s FOR UPDATE SKIP LOCKED", [user_id]
            ).fetchone()
        return found is not None

    def take(self, user_id: int) -> bool:
        """Lock the row. False: the database ended this transaction for a deadlock, and it holds nothing any more."""
        try:
            self._connection.execute("SELECT id FROM web_users WHERE id = %s FOR UPDATE", [user_id])
            return True
        except psycopg.errors.DeadlockDetected:
            self._connection.rollback()
            return False
