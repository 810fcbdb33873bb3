"""A server that waits without using anything: only more connections would bring more."""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy
from animal.http import Request, Response


class Dreamer(Healthy):
    """Sleeps outside of the pool."""

    async def ping(self, request: Request) -> Response:
        await asyncio.sleep(0.03)
        return await super().ping(request)


if __name__ == "__main__":
    Dreamer.run()
