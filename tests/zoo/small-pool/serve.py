"""A server whose statement sleeps: the pool is what its requests wait for."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import DB_PING, Healthy
from animal.http import Request, Response


class SmallPool(Healthy):
    """Every connection of the pool is always at work, and nothing is full."""

    async def db_ping(self, request: Request) -> Response:
        return Response(200, (await self.fetch_text(f"{DB_PING} FROM pg_sleep(0.02)")).encode())


if __name__ == "__main__":
    SmallPool.run()
