"""A server that pings the database once."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy
from animal.http import Request, Response


class CachedDbPing(Healthy):
    """Keeps the first answer to GET /db/ping."""

    kept: Response | None = None

    async def db_ping(self, request: Request) -> Response:
        if self.kept is None:
            self.kept = await super().db_ping(request)
        return self.kept


if __name__ == "__main__":
    CachedDbPing.run()
