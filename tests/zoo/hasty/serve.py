"""A server that answers a transaction first and commits it later; its honest variant commits it first and answers later."""

import asyncio
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import OK, Healthy
from animal.http import Request, Response

PAUSE_S = 0.05
HONEST = os.environ["ORDER"] == "commits-first"


class Hasty(Healthy):
    """Under load, an answer and its commit are 50 ms apart."""

    def __init__(self) -> None:
        super().__init__()
        self.later: set[asyncio.Task[Response]] = set()

    async def tx(self, request: Request) -> Response:
        if not self.under_load:
            return await super().tx(request)
        if HONEST:
            answer = await super().tx(request)
            await asyncio.sleep(PAUSE_S)
            return answer
        task = asyncio.create_task(self.commit_later(request))
        self.later.add(task)
        task.add_done_callback(self.later.discard)
        return Response(200, OK)

    async def commit_later(self, request: Request) -> Response:
        """What should have come before the answer."""
        await asyncio.sleep(PAUSE_S)
        return await super().tx(request)


if __name__ == "__main__":
    Hasty.run()
