"""A server that is never ready."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy
from animal.http import HttpError, Request, Response


class NeverReady(Healthy):
    """Says 503 to every GET /ready."""

    async def ready(self, request: Request) -> Response:
        raise HttpError(503, "not yet", ("retry-after", "1"))


if __name__ == "__main__":
    NeverReady.run()
