"""The databases of the arms in `fakes`: they hold rows, and are on no server."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import psycopg

from fairground.model import DatabaseEnded, DatabaseWork
from fairground.model.cause import DatabaseLifetime
from fairground.model.contract import CompiledDatabase
from fairground.postgres import Counters, Refusals

if TYPE_CHECKING:
    from builders.fakes import World

GOOD = 1000
"""Answers of a window, and of a turn."""


class FakeDatabases:
    """A database server with a database for each arm, in their order."""

    def __init__(self, world: World) -> None:
        self._world = self.owner = world

    def watch(self) -> Any:
        """Nobody looks on, so nobody connects."""
        raise AssertionError("a fake database has no connections")

    def require(self) -> None:
        """DatabaseEnded once it has ended."""
        if self._world.ended is not None:
            raise DatabaseEnded(f"the database server {self._world.ended}")

    def room(self) -> int:
        """As many connections as the world's database takes."""
        return self._world.room

    def arm(self, number: int, compiled: CompiledDatabase | None = None) -> FakeDatabase:
        return FakeDatabase(self._world, list(self._world.servers)[number - 1])


class FakeDatabase:
    """One arm's database, which holds rows."""

    shared = None

    def __init__(self, world: World, label: str) -> None:
        self._world, self.name, self._server = world, label, world.servers[label]
        self.owner = world
        self._is_counted = False

    def keep_asking(self) -> AbstractContextManager[None]:
        """Nothing that is asked here needs a connection."""
        return nullcontext()

    def require(self) -> None:
        """DatabaseEnded once it has ended."""
        FakeDatabases(self._world).require()

    def lifetime(self) -> DatabaseLifetime:
        """One that a crash ends; an error where the server has ended."""
        if self._world.ended is not None:
            raise psycopg.OperationalError("connection refused")
        since_s = 2.0 if any(one.crashes and one.loaded for one in self._world.servers.values()) else 1.0
        return DatabaseLifetime(1.0, since_s, since_s)

    def reset(self, _: int) -> None:
        self._world.does(self.name, "reset")

    def connect(self) -> Any:
        """Refuse a connection of the lab's own: what asks meanwhile takes the database for away."""
        raise psycopg.OperationalError("connection refused")

    def limit_connections(self, _: int) -> None:
        """Nobody connects."""

    def refusals(self) -> Refusals:
        return Refusals(no_room=self._server.without_room)

    def alter(self, statements: Sequence[str]) -> None:
        for statement in statements:
            self._world.does(self.name, statement)

    def probe(self, statement: str, keyed: bool = False) -> list[tuple[int]]:
        """As `query`."""
        return self.query(statement, keyed)

    def query(self, _: str, keyed: bool = False) -> list[tuple[int]]:
        """How many rows there are; an error where it is gone, once the server was loaded."""
        self._world.does(self.name, "count")
        return [(self._server.rows,)]

    def work(self) -> DatabaseWork:
        return DatabaseWork({})

    def clock_of_commits_us(self) -> tuple[int, int] | None:
        """It keeps no moments of commits."""
        return None

    def transactions(self) -> int | None:
        """The next number of a transaction, at each reading; unknown where none is left."""
        return self._server.transactions.pop(0) if self._server.transactions else None

    def wal_position(self) -> None:
        """It keeps none."""

    def flushes(self) -> int | None:
        """Flushes of its log, at each reading; where none is left, its commits wait for no disk."""
        return self._server.flushes.pop(0) if self._server.flushes else None

    def wait_for_no_connections(self) -> bool:
        return True

    def count_backends(self, _: str) -> int:
        """None of them does anything."""
        return 0

    def counters(self) -> Counters:
        """Nothing at the first look, which is before the load; an error where the database is gone after it."""
        if not self._is_counted:
            self._is_counted = True
            return Counters(0, 0, 0, 0, 0)
        if self._server.unreadable:
            raise psycopg.OperationalError("connection refused")
        is_late = self._server.hands_in_late and f"{self.name} stop" not in self._world.log
        commits = 0 if is_late else self._server.commits
        return Counters(commits, 0, GOOD, self._server.deadlocks.pop(0) if self._server.deadlocks else 0, 1)
