"""A server whose ping is wrong in one letter."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy
from animal.http import Request, Response, to_json


class WrongJson(Healthy):
    """Writes `Ok` for `OK`, so that status and length are right."""

    async def ping(self, request: Request) -> Response:
        return Response(200, to_json({"ok": True, "message": "Ok"}))


if __name__ == "__main__":
    WrongJson.run()
