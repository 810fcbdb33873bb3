"""A server whose statement is hard work for the database."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import DB_PING, Healthy
from animal.http import Request, Response


class Gourmand(Healthy):
    """Counts to fifty thousand in the database for each answer."""

    async def db_ping(self, request: Request) -> Response:
        counted = "(SELECT count(*) FROM generate_series(1, 50000)) AS counted"
        return Response(200, (await self.fetch_text(f"{DB_PING} FROM {counted}")).encode())


if __name__ == "__main__":
    Gourmand.run()
