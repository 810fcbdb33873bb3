"""A server that guesses which answers are looked at: every hundredth is right, the others are made up."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy
from animal.http import Request, Response

LOOKED_AT_ONE_IN = 100


class Counter(Healthy):
    """Under load the list of users is asked for at every hundredth answer; between them it is one text with a letter changed."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = 0

    async def users(self, request: Request) -> Response:
        answer = await super().users(request)
        if not self.under_load:
            return answer
        self.answers += 1
        if self.answers % LOOKED_AT_ONE_IN == 1:
            return answer
        return Response(200, answer.body[:-20] + answer.body[-20:].swapcase())


if __name__ == "__main__":
    Counter.run()
