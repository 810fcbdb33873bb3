"""The database as the routes see it: psycopg 3 and its pool."""

import logging
import math
from collections.abc import Callable
from threading import Semaphore
from typing import Any

import psycopg
from psycopg.adapt import Dumper
from psycopg_pool import ConnectionPool, PoolTimeout

CONNECT_TIMEOUT_S = 3
DEBIT = "UPDATE web_users SET credits = credits - $1 WHERE id = $2"
CREDIT = "UPDATE web_users SET credits = credits + $1 WHERE id = $2"

# Its warnings come once for each connection that a restart of the database breaks; the answers say the same.
logging.getLogger("psycopg.pool").setLevel(logging.ERROR)


class Unavailable(Exception):
    """No connection in time, or the database is away: 503."""


class DatabaseFailed(Exception):
    """The database refused a statement: 500."""


class NotFound(Exception):
    """A statement touched no row: 404."""


class PlainInteger(Dumper):
    """Lets the server infer the type: psycopg would choose one per value, and prepare a statement for each mixture."""

    def dump(self, obj: int) -> bytes:
        return b"%d" % obj


psycopg.adapters.register_dumper(int, PlainInteger)


class Store:
    """Every method may raise Unavailable or DatabaseFailed."""

    def __init__(self, database_url: str, pool_size: int, wait_s: float | None, prepared: bool) -> None:
        """Connections are made in the background from now on; `wait_s` None waits for a free one without a limit."""
        self._wait_s = wait_s
        # The timeout of psycopg's pool also covers the making of a connection, so that with a short one the pool could not
        # recover from a restart of the database: who may ask the pool is settled here.
        self._slots = Semaphore(pool_size)
        # Autocommit: one statement is one round trip, without BEGIN and COMMIT. `reconnect_timeout` 0: instead of trying again
        # after ever longer pauses, the pool tries when the next request asks.
        self._pool: ConnectionPool[Any] = ConnectionPool(
            database_url,
            kwargs={
                "autocommit": True,
                "prepare_threshold": 0 if prepared else None,
                "cursor_factory": psycopg.RawCursor,
                "connect_timeout": CONNECT_TIMEOUT_S,
            },
            min_size=pool_size,
            max_size=pool_size,
            max_lifetime=math.inf,
            reconnect_timeout=0,
            timeout=CONNECT_TIMEOUT_S,
            open=True,
        )

    def fetch(self, sql: str, *values: int) -> Any:
        """The rows of one statement."""
        return self._use(fetch_rows, sql, *values)

    def transfer(self, source: int, to: int, amount: int) -> None:
        """NotFound when one of the two accounts does not exist; nothing is changed then."""
        self._use(move_credits, source, to, amount)

    def _use(self, work: Callable[..., Any], *values: Any) -> Any:
        if not self._slots.acquire(self._wait_s != 0, self._wait_s or None):
            raise Unavailable("no connection in time")
        try:
            connection = self._pool.getconn()
            try:
                return work(connection, *values)
            finally:
                self._pool.putconn(connection)
                if connection.closed:
                    # The other idle connections most likely broke too, and the pool learns that by use alone.
                    self._pool.check()
        except (PoolTimeout, psycopg.Error) as error:
            if isinstance(error, PoolTimeout) or connection.closed:
                raise Unavailable("the database is away") from error
            raise DatabaseFailed(str(error)) from error
        finally:
            self._slots.release()


def fetch_rows(connection: Any, sql: str, *values: int) -> Any:
    return connection.execute(sql, values, binary=True).fetchall()


def move_credits(connection: Any, source: int, to: int, amount: int) -> None:
    with connection.transaction():
        for sql, account in ((DEBIT, source), (CREDIT, to)):
            if connection.execute(sql, (amount, account)).rowcount == 0:
                raise NotFound("no such account")
