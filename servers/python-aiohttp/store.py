"""The database as the routes see it: asyncpg and its pool."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg

CONNECT_TIMEOUT_S = 3
DEBIT = "UPDATE web_users SET credits = credits - $1 WHERE id = $2"
CREDIT = "UPDATE web_users SET credits = credits + $1 WHERE id = $2"
LOST = (asyncpg.InterfaceError, asyncpg.InternalClientError)
AWAY = (OSError, asyncpg.PostgresConnectionError, asyncpg.OperatorInterventionError, *LOST)


class Unavailable(Exception):
    """No connection in time, or the database is away: 503."""


class DatabaseFailed(Exception):
    """The database refused a statement: 500."""


class NotFound(Exception):
    """A statement touched no row: 404."""


class Connection(asyncpg.Connection):  # type: ignore[misc]
    """Sends no reset when it goes back to the pool: no statement here leaves session state, transactions end by themselves."""

    def get_reset_query(self) -> str:
        return ""


class Store:
    """Every method may raise Unavailable or DatabaseFailed."""

    def __init__(self, pool: Any, size: int, wait_s: float | None, prepared: bool) -> None:
        self._pool, self._wait_s, self._prepared = pool, wait_s, prepared
        # The timeout of asyncpg's pool also covers the making of a connection, so that with a short one the pool could not
        # recover from a restart of the database: who may ask the pool is settled here.
        self._slots = asyncio.Semaphore(size)

    async def fetch(self, sql: str, *values: int) -> Any:
        """The rows of one statement."""
        return await self._use(fetch_rows if self._prepared else fetch_in_transaction, sql, *values)

    async def transfer(self, source: int, to: int, amount: int) -> None:
        """NotFound when one of the two accounts does not exist; nothing is changed then."""
        await self._use(move_credits, source, to, amount)

    async def close(self) -> None:
        await self._pool.close()

    async def _use(self, work: Callable[..., Awaitable[Any]], *values: Any) -> Any:
        await self._take_slot()
        try:
            connection = await self._pool.acquire()
            try:
                return await work(connection, *values)
            finally:
                await self._pool.release(connection)
        except AWAY as error:
            raise Unavailable("the database is away") from error
        except asyncpg.PostgresError as error:
            raise DatabaseFailed(str(error)) from error
        finally:
            self._slots.release()

    async def _take_slot(self) -> None:
        """`wait_s` None waits without a limit, 0 refuses at once."""
        if not self._slots.locked():
            await self._slots.acquire()
            return
        if self._wait_s == 0:
            raise Unavailable("no free connection")
        try:
            async with asyncio.timeout(self._wait_s):
                await self._slots.acquire()
        except TimeoutError:
            raise Unavailable("no connection in time") from None


async def fetch_rows(connection: Any, sql: str, *values: int) -> Any:
    return await connection.fetch(sql, *values)


async def fetch_in_transaction(connection: Any, sql: str, *values: int) -> Any:
    """Unnamed, asyncpg parses and executes in two round trips; a pooler must not part them."""
    async with connection.transaction():
        return await connection.fetch(sql, *values)


async def move_credits(connection: Any, source: int, to: int, amount: int) -> None:
    async with connection.transaction():
        for sql, account in ((DEBIT, source), (CREDIT, to)):
            if await connection.execute(sql, amount, account) == "UPDATE 0":
                raise NotFound("no such account")


async def open_store(database_url: str, pool_size: int, pool_wait_s: float | None, prepared: bool) -> Store:
    """Connections are made when first needed, and kept."""
    pool = await asyncpg.create_pool(
        database_url,
        min_size=0,
        max_size=pool_size,
        max_queries=math.inf,
        max_inactive_connection_lifetime=0,
        statement_cache_size=100 if prepared else 0,
        connection_class=Connection,
        timeout=CONNECT_TIMEOUT_S,
    )
    return Store(pool, pool_size, pool_wait_s, prepared)
