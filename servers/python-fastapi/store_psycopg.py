"""The store over psycopg 3 and its pool."""

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from psycopg.adapt import Dumper
from psycopg_pool import AsyncConnectionPool, PoolTimeout
from store import CONNECT_TIMEOUT_S, DatabaseFailed, Slots, Store, Unavailable

# Its warnings come once for each connection that a restart of the database breaks; the answers say the same.
logging.getLogger("psycopg.pool").setLevel(logging.ERROR)


class PlainInteger(Dumper):
    """Lets the server infer the type: psycopg would choose one per value, and prepare a statement for each mixture."""

    def dump(self, obj: int) -> bytes:
        return b"%d" % obj


psycopg.adapters.register_dumper(int, PlainInteger)


class PsycopgStore(Store):
    def __init__(self, database_url: str, pool_size: int, slots: Slots, prepared: bool) -> None:
        self._slots = slots
        self._waiting: set[asyncio.Timeout] = set()
        self._check: asyncio.Task[None] | None = None
        # Autocommit: one statement is one round trip, without BEGIN and COMMIT. `reconnect_timeout` 0: instead of being patient
        # the pool tells who waits, and the next request makes it try again.
        threshold = 0 if prepared else None
        options = {"autocommit": True, "prepare_threshold": threshold, "cursor_factory": psycopg.AsyncRawCursor}
        self.pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
            database_url,
            kwargs=options | {"connect_timeout": CONNECT_TIMEOUT_S},
            min_size=pool_size,
            max_size=pool_size,
            max_lifetime=math.inf,
            reconnect_timeout=0,
            reconnect_failed=self._refuse_waiting,
            open=False,
        )

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        async with self._slots:
            connection = await self._take()
            try:
                yield connection
            except psycopg.Error as error:
                if not connection.closed:
                    raise DatabaseFailed(str(error)) from error
                # The other idle connections most likely broke too, and the pool learns that by use alone.
                if self._check is None or self._check.done():
                    self._check = asyncio.create_task(self.pool.check())
                raise Unavailable("the database is away") from error
            finally:
                await self.pool.putconn(connection)

    async def _take(self) -> Any:
        """Who holds a slot and finds no connection waits for one that is being made, until that fails."""
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S) as limit:
                self._waiting.add(limit)
                try:
                    return await self.pool.getconn(timeout=math.inf)
                finally:
                    self._waiting.discard(limit)
        except (TimeoutError, PoolTimeout) as error:
            raise Unavailable("the database is away") from error

    def _refuse_waiting(self, pool: AsyncConnectionPool[Any]) -> None:
        for limit in self._waiting:
            limit.reschedule(0)

    async def fetch(self, sql: str, *values: int) -> Sequence[Any]:
        async with self.connection() as connection:
            return await (await connection.execute(sql, values, binary=True)).fetchall()  # type: ignore[no-any-return]

    async def update(self, connection: Any, sql: str, *values: int) -> int:
        return (await connection.execute(sql, values)).rowcount  # type: ignore[no-any-return]


async def open_store(database_url: str, pool_size: int, pool_wait_s: float | None, prepared: bool) -> Store:
    """Connections are made in the background from now on."""
    store = PsycopgStore(database_url, pool_size, Slots(pool_size, pool_wait_s), prepared)
    await store.pool.open()
    return store
