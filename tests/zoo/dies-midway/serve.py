"""A server that dies under load."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy
from animal.http import Request, Response

LAST_REQUEST = 3000
EXIT_CODE = 3


class DiesMidway(Healthy):
    """Counts its requests under load and is gone in the middle of the last one."""

    count = 0

    async def respond(self, request: Request) -> Response:
        self.count += self.under_load
        if self.count == LAST_REQUEST:
            os._exit(EXIT_CODE)
        return await super().respond(request)


if __name__ == "__main__":
    DiesMidway.run()
