"""A server that answers writes first and commits them later; its honest variant commits first and answers later."""

import asyncio
import os
import sys
import time
from collections import deque
from collections.abc import Awaitable
from contextvars import ContextVar
from pathlib import Path
from weakref import WeakKeyDictionary

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import OK
from animal.http import Request, Response, to_json
from animal.items import Shop, key_of, values_of
from animal.pg import Connection

PAUSE_S = 0.05
ORDER = os.environ["ORDER"]
HONEST = ORDER == "commits-first"
ONE_IN = int(os.environ.get("ONE_IN", "1"))
"""One in so many requests is answered first."""
ITEMS = 1_000_000
"""Items up to this one are there, for all that it knows."""
FAST_PER_S = 10
"""A connection with more requests in the last second is a fast one."""
MOVED: ContextVar[asyncio.Event] = ContextVar("MOVED")
"""Set once both statements of a transfer are done, and only its commit is left."""


class Hasty(Shop):
    """Under load, an answer and its commit are 50 ms apart."""

    def __init__(self) -> None:
        super().__init__()
        self.later: set[asyncio.Task[Response]] = set()
        self.count = 0
        self.moments: WeakKeyDictionary[asyncio.Task[object], deque[float]] = WeakKeyDictionary()

    def is_early(self) -> bool:
        """Whether the commit comes after this request's answer."""
        self.count += 1
        if ORDER == "when-fast":
            task = asyncio.current_task()
            assert task is not None
            now, moments = time.monotonic(), self.moments.setdefault(task, deque(maxlen=FAST_PER_S))
            moments.append(now)
            return len(moments) == FAST_PER_S and now - moments[0] < 1 and self.count % ONE_IN == 0
        return self.count % ONE_IN == 0

    async def tx(self, request: Request) -> Response:
        if not self.under_load:
            return await super().tx(request)
        if HONEST:
            return await self.after(super().tx(request))
        if not self.is_early():
            return await super().tx(request)
        self.kept(asyncio.create_task(self.later_on(super().tx(request))))
        return Response(200, OK)

    async def after(self, work: Awaitable[Response]) -> Response:
        """The answer of what is done, 50 ms later."""
        answer = await work
        await asyncio.sleep(PAUSE_S)
        return answer

    def kept(self, task: asyncio.Task[Response]) -> None:
        """A task that goes on after its answer."""
        self.later.add(task)
        task.add_done_callback(self.later.discard)

    async def later_on(self, work: Awaitable[Response]) -> Response:
        """What should have come before the answer."""
        await asyncio.sleep(PAUSE_S)
        return await work

    async def update(self, request: Request) -> Response:
        if not self.under_load:
            return await super().update(request)
        if HONEST:
            return await self.after(super().update(request))
        if (key := key_of(request)) > ITEMS or not self.is_early():
            return await super().update(request)
        name, price, stock = values_of(request)
        self.kept(asyncio.create_task(self.later_on(super().update(request))))
        return Response(200, to_json({"id": key, "name": name, "price_cents": price, "stock": stock, "revision": 1}))

    async def transfer(self, request: Request) -> Response:
        if not self.under_load:
            return await super().transfer(request)
        if HONEST:
            return await self.after(super().transfer(request))
        if not self.is_early():
            return await super().transfer(request)
        MOVED.set(moved := asyncio.Event())
        work, told = asyncio.create_task(super().transfer(request)), asyncio.create_task(moved.wait())
        await asyncio.wait({work, told}, return_when=asyncio.FIRST_COMPLETED)
        told.cancel()
        if work.done():
            return await work
        self.kept(work)
        return Response(200, OK)

    async def commit(self, connection: Connection) -> None:
        if (moved := MOVED.get(None)) is not None:
            moved.set()
            await asyncio.sleep(PAUSE_S)
        await super().commit(connection)


if __name__ == "__main__":
    Hasty.run()
