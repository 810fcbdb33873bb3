"""A server that is right while it is looked at, and wrong at one ping in 50 under load."""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy
from animal.http import Request, Response, to_json

WRONG_ONE_IN = 50


class SometimesWrong(Healthy):
    """Draws at random which answer is wrong, so that no fixed stride of checks can miss them all."""

    def __init__(self) -> None:
        super().__init__()
        self.random = random.Random(7)

    async def ping(self, request: Request) -> Response:
        if self.under_load and self.random.randrange(WRONG_ONE_IN) == 0:
            return Response(200, to_json({"ok": True, "message": "Ok"}))
        return await super().ping(request)


if __name__ == "__main__":
    SometimesWrong.run()
