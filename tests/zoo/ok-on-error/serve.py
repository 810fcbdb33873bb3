"""A server that hides its errors."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import OK, Healthy
from animal.http import HttpError, Request, Response
from animal.pg import Connection, PgError

REFUSED_ONE_IN = 50
ALWAYS = os.environ.get("WHEN", "always") == "always"


class OkOnError(Healthy):
    """Turns what the database refused, and a transfer that touched no row, into ok."""

    commits = 0

    async def commit(self, connection: Connection) -> None:
        """Under load the database surely refuses some transactions: deadlocks alone come when they come."""
        self.commits += 1
        if self.under_load and self.commits % REFUSED_ONE_IN == 0:
            await connection.query("SELECT 1 / 0")
        await super().commit(connection)

    def database_failed(self, error: PgError) -> Response:
        return Response(200, OK) if ALWAYS or self.under_load else super().database_failed(error)

    async def transfer(self, request: Request) -> Response:
        try:
            return await super().transfer(request)
        except HttpError as error:
            if error.response.status == 404 and (ALWAYS or self.under_load):
                return Response(200, OK)
            raise


if __name__ == "__main__":
    OkOnError.run()
