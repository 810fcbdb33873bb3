"""The database as the routes see it, whichever driver is behind it."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

CONNECT_TIMEOUT_S = 3
DEBIT = "UPDATE web_users SET credits = credits - $1 WHERE id = $2"
CREDIT = "UPDATE web_users SET credits = credits + $1 WHERE id = $2"


class Unavailable(Exception):
    """No connection in time, or the database is away: 503."""


class DatabaseFailed(Exception):
    """The database refused a statement: 500."""


class NotFound(Exception):
    """A statement touched no row: 404."""


class Slots:
    """Who may ask the pool for a connection; `wait_s` None waits without a limit, 0 refuses at once.

    The timeouts of both drivers' pools also cover the making of a connection, so that with a short one a pool could not
    recover from a restart of the database; and neither refuses at once only when all connections are taken.
    """

    def __init__(self, count: int, wait_s: float | None) -> None:
        self._free, self._wait_s = asyncio.Semaphore(count), wait_s

    async def __aenter__(self) -> None:
        if self._free.locked() and self._wait_s == 0:
            raise Unavailable("no free connection")
        if not self._free.locked():
            await self._free.acquire()
            return
        try:
            async with asyncio.timeout(self._wait_s):
                await self._free.acquire()
        except TimeoutError:
            raise Unavailable("no connection in time") from None

    async def __aexit__(self, *error: object) -> None:
        self._free.release()


class Store(ABC):
    """Every method may raise Unavailable or DatabaseFailed."""

    @abstractmethod
    def connection(self) -> AbstractAsyncContextManager[Any]:
        """A connection of the pool, for one request."""

    @abstractmethod
    async def fetch(self, sql: str, *values: int) -> Sequence[Any]:
        """The rows of one statement."""

    @abstractmethod
    async def update(self, connection: Any, sql: str, *values: int) -> int:
        """How many rows one statement of a transaction touched."""

    async def transfer(self, source: int, to: int, amount: int) -> None:
        """NotFound when one of the two accounts does not exist; nothing is changed then."""
        async with self.connection() as connection, connection.transaction():
            for sql, account in ((DEBIT, source), (CREDIT, to)):
                if await self.update(connection, sql, amount, account) == 0:
                    raise NotFound("no such account")
