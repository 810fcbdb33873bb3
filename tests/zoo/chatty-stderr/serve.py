"""A server that writes nonsense to standard error."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy
from animal.http import Request, Response

NOISE = b"\x1b[2J\x1b[31m<script>alert('chatty')</script>\x1b]0;title\x07 & \"quoted\" \xff\xfe \x1b[0m\r\n"
FIRST_LINES = 200
SPEAKS_ONE_IN = 10


class Chatty(Healthy):
    """Says more than a pipe holds; what it says must not reach a terminal or a page as it is."""

    count = 0

    async def start(self) -> None:
        self.say(NOISE * FIRST_LINES)
        await super().start()

    async def respond(self, request: Request) -> Response:
        self.count += 1
        if self.count % SPEAKS_ONE_IN == 0:
            self.say(NOISE)
        return await super().respond(request)

    def say(self, noise: bytes) -> None:
        """Write to standard error at once."""
        sys.stderr.buffer.write(noise)
        sys.stderr.buffer.flush()


if __name__ == "__main__":
    Chatty.run()
