"""A server that answers from memory, and hides it behind commits."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy
from animal.http import Request, Response


class Padded(Healthy):
    """Under load each answer is an earlier one, and the database commits something for it all the same.

    Elsewhere it is honest, so that its cases pass. The users are padded by a count of them: it reads as many rows.
    """

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, Response] = {}

    async def respond(self, request: Request) -> Response:
        if request.path not in ("/db/ping", "/db/time", "/users"):
            return await super().respond(request)
        if request.path not in self.kept or not self.under_load:
            self.kept[request.path] = await super().respond(request)
        elif request.path == "/users":
            await self.fetch_text("SELECT count(*) FROM users")
        else:
            await self.fetch_text("SELECT 1")
        return self.kept[request.path]


if __name__ == "__main__":
    Padded.run()
