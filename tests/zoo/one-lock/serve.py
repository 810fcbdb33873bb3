"""A server whose requests wait for a lock that one of them holds."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import DB_PING, Healthy
from animal.http import Request, Response


class OneLock(Healthy):
    """Takes the same advisory lock in every transaction."""

    async def db_ping(self, request: Request) -> Response:
        locked = "(SELECT pg_advisory_xact_lock(1), pg_sleep(0.005)) AS locked"
        return Response(200, (await self.fetch_text(f"{DB_PING} FROM {locked}")).encode())


if __name__ == "__main__":
    OneLock.run()
