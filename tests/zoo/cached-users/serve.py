"""A server that reads the users once."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy
from animal.http import Request, Response


class CachedUsers(Healthy):
    """Keeps the first answer to GET /users."""

    kept: Response | None = None

    async def users(self, request: Request) -> Response:
        if self.kept is None:
            self.kept = await super().users(request)
        return self.kept


if __name__ == "__main__":
    CachedUsers.run()
