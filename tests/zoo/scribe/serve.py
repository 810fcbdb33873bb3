"""A server whose every transaction waits for the disk, where the database does."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import DB_PING, Healthy
from animal.http import Request, Response


class Scribe(Healthy):
    """Writes 200 kB to the write-ahead log and to no table: no row is locked."""

    async def db_ping(self, request: Request) -> Response:
        written = "pg_logical_emit_message(true, 'zoo', repeat('x', 200000))"
        return Response(200, (await self.fetch_text(f"{DB_PING} FROM {written}")).encode())


if __name__ == "__main__":
    Scribe.run()
