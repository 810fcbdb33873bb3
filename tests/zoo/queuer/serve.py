"""A server with one lock around what it does: more connections bring nothing."""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy
from animal.http import Request, Response


class Queuer(Healthy):
    """Waits for 2 ms inside of the lock, using nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = asyncio.Lock()

    async def ping(self, request: Request) -> Response:
        async with self.lock:
            await asyncio.sleep(0.002)
            return await super().ping(request)


if __name__ == "__main__":
    Queuer.run()
