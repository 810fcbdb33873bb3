"""A server that hides its errors."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import OK, Healthy
from animal.http import HttpError, Request, Response
from animal.pg import PgError

ALWAYS = os.environ.get("WHEN", "always") == "always"


class OkOnError(Healthy):
    """Turns what the database refused, and a transfer that touched no row, into ok."""

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
