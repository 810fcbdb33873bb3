"""A server whose commits wait for the disk only where few requests come; its honest variant has all of them wait."""

import asyncio
import os
import sys
import time
from collections import deque
from contextvars import ContextVar
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy, Pool
from animal.http import Request, Response
from animal.pg import Connection

WAITS = os.environ["WAITS"]
MANY = 5
"""Requests of one client within a second: more of them are a load."""
BUSY: ContextVar[bool] = ContextVar("BUSY", default=False)


class Told(Pool):
    """Each connection is told before it is lent, where it was told something else before."""

    async def _take(self) -> Connection:
        connection = await super()._take()
        wanted = WAITS if BUSY.get() else "on"
        if getattr(connection, "waits", "on") != wanted:
            await connection.simple(f"SET synchronous_commit = {wanted}")
            connection.waits = wanted
        return connection


class Sly(Healthy):
    """The contract, fulfilled on such connections. A client is the task that reads its connection."""

    def __init__(self) -> None:
        super().__init__()
        self.recent: dict[int, deque[float]] = {}

    def make_pool(self, size: int) -> Pool:
        given = super().make_pool(size)
        return Told(given.url, given.size, given.wait_ms, given.prepared)

    async def respond(self, request: Request) -> Response:
        now = time.monotonic()
        seen = self.recent.setdefault(id(asyncio.current_task()), deque(maxlen=MANY + 1))
        seen.append(now)
        BUSY.set(len(seen) > MANY and now - seen[0] < 1.0)
        return await super().respond(request)


if __name__ == "__main__":
    Sly.run()
