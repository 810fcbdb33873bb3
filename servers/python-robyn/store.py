"""The database as the routes see it: asyncpg and its pool."""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

CONNECT_TIMEOUT_S = 3
CALL = "SELECT pgbench_tx($1, $2, $3, $4)"
DEBIT = "UPDATE web_users SET credits = credits - $1 WHERE id = $2"
CREDIT = "UPDATE web_users SET credits = credits + $1 WHERE id = $2"
UNUSABLE = (asyncpg.InterfaceError, asyncpg.InternalClientError)
BROKEN = (OSError, asyncpg.PostgresConnectionError, asyncpg.OperatorInterventionError, *UNUSABLE)


class Unavailable(Exception):
    """No connection in time, or the database is away: 503."""


class Failed(Exception):
    """The database refused a statement: 500."""


class NotFound(Exception):
    """A statement touched no row: 404."""


class Connection(asyncpg.Connection):  # type: ignore[misc]
    """Goes back to the pool without a reset, which would be a second round trip: no statement here leaves session state."""

    def get_reset_query(self) -> str:
        return ""


class Store:
    """Its methods may raise Unavailable or Failed; `open` comes first, on the event loop of the handlers."""

    def __init__(self, url: str, pool_size: int, pool_wait_s: float | None, prepared: bool) -> None:
        self._url, self._size, self._wait_s, self._prepared = url, pool_size, pool_wait_s, prepared

    async def open(self) -> None:
        """Connections are made when first needed, and kept."""
        # asyncpg's own timeout also covers the making of a connection: who may ask its pool is settled before.
        self._slots = asyncio.Semaphore(self._size)
        self._pool = await asyncpg.create_pool(
            self._url,
            min_size=0,
            max_size=self._size,
            max_queries=math.inf,
            max_inactive_connection_lifetime=0,
            statement_cache_size=100 if self._prepared else 0,
            connection_class=Connection,
            timeout=CONNECT_TIMEOUT_S,
        )

    async def rows(self, sql: str, *values: int) -> Any:
        """The rows of one statement."""
        async with self._connection() as connection:
            if self._prepared:
                return await connection.fetch(sql, *values)
            # Unnamed, asyncpg parses and executes in two round trips: a pooler must not part them.
            async with connection.transaction():
                return await connection.fetch(sql, *values)

    async def text(self, sql: str) -> str:
        """The one value of one row."""
        return (await self.rows(sql))[0][0]  # type: ignore[no-any-return]

    async def tx(self, aid: int, tid: int, bid: int, delta: int) -> None:
        await self.rows(CALL, aid, tid, bid, delta)

    async def transfer(self, source: int, to: int, amount: int) -> None:
        """NotFound when one of the two does not exist; nothing is changed then."""
        async with self._connection() as connection, connection.transaction():
            for sql, user in ((DEBIT, source), (CREDIT, to)):
                if await connection.execute(sql, amount, user) == "UPDATE 0":
                    raise NotFound("no such user")

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Any]:
        await self._take_slot()
        try:
            async with self._pool.acquire() as connection:
                yield connection
        except BROKEN as error:
            raise Unavailable("the database is away") from error
        except asyncpg.PostgresError as error:
            raise Failed("the database failed") from error
        finally:
            self._slots.release()

    async def _take_slot(self) -> None:
        """None waits without a limit; 0 refuses at once."""
        if self._slots.locked() and self._wait_s == 0:
            raise Unavailable("no database connection is free")
        if self._wait_s is None or not self._slots.locked():
            await self._slots.acquire()
            return
        try:
            async with asyncio.timeout(self._wait_s):
                await self._slots.acquire()
        except TimeoutError:
            raise Unavailable("no database connection became free in time") from None
