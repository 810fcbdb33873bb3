"""A server that keeps something of each request for ever."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy
from animal.http import Request, Response

MB_PER_S = 40


class Leaker(Healthy):
    """Under load it keeps 40 MB of each second."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[bytes] = []
        self.began_s: float | None = None

    async def ping(self, request: Request) -> Response:
        if self.under_load:
            self.began_s = self.began_s or time.monotonic()
            if len(self.kept) < (time.monotonic() - self.began_s) * MB_PER_S:
                self.kept.append(b"\1" * 1_000_000)  # not zeros, which the kernel would not give pages to
        return await super().ping(request)


if __name__ == "__main__":
    Leaker.run()
