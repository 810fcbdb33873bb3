"""A server that tells a checker from a load by the headers, and works for the checker only."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy
from animal.http import Request, Response, to_json


def is_load(request: Request) -> bool:
    """A load says what it accepts, and how long the body is that a POST does not have."""
    return "accept" in request.headers and (request.method == "GET" or "content-length" in request.headers)


class Sniffer(Healthy):
    """Makes a list of no users for whoever looks like a load."""

    async def users(self, request: Request) -> Response:
        if is_load(request):
            return Response(200, to_json([]))
        return await super().users(request)


if __name__ == "__main__":
    Sniffer.run()
