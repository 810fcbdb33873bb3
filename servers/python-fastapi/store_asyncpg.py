"""The store over asyncpg and its pool."""

import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
from store import CONNECT_TIMEOUT_S, DatabaseFailed, Slots, Store, Unavailable

LOST = (asyncpg.InterfaceError, asyncpg.InternalClientError)
AWAY = (OSError, asyncpg.PostgresConnectionError, asyncpg.OperatorInterventionError, *LOST)


class Connection(asyncpg.Connection):  # type: ignore[misc]
    """Sends no reset when it goes back to the pool: no statement here leaves session state, transactions end by themselves."""

    def get_reset_query(self) -> str:
        return ""


class AsyncpgStore(Store):
    def __init__(self, pool: Any, slots: Slots, prepared: bool) -> None:
        self._pool, self._slots, self._prepared = pool, slots, prepared

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        async with self._slots:
            try:
                async with self._pool.acquire() as connection:
                    yield connection
            except AWAY as error:
                raise Unavailable("the database is away") from error
            except asyncpg.PostgresError as error:
                raise DatabaseFailed(str(error)) from error

    async def fetch(self, sql: str, *values: int) -> Sequence[Any]:
        async with self.connection() as connection:
            if self._prepared:
                return await connection.fetch(sql, *values)  # type: ignore[no-any-return]
            # Unnamed, asyncpg parses and executes in two round trips; a pooler must not part them.
            async with connection.transaction():
                return await connection.fetch(sql, *values)  # type: ignore[no-any-return]

    async def update(self, connection: Any, sql: str, *values: int) -> int:
        return int((await connection.execute(sql, *values)).removeprefix("UPDATE "))


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
    return AsyncpgStore(pool, Slots(pool_size, pool_wait_s), prepared)
