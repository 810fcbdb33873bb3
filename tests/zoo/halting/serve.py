"""A server that stands still for a while in each second, under load: asleep, or at work on nothing that was asked."""

import asyncio
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy

EVERY_S, FOR_S = 0.7, 0.2


class Halting(Healthy):
    """Its event loop is blocked."""

    async def start(self) -> None:
        await super().start()
        self.halting = asyncio.create_task(self.halt())

    async def halt(self) -> None:
        """Block the loop now and then."""
        while True:
            await asyncio.sleep(EVERY_S)
            if self.under_load and os.environ["HALTS"] == "asleep":
                time.sleep(FOR_S)
            elif self.under_load:
                until = time.monotonic() + FOR_S
                while time.monotonic() < until:
                    pass


if __name__ == "__main__":
    Halting.run()
