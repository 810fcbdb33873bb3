"""A server that makes each transfer twice."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy

ALWAYS = os.environ.get("WHEN", "always") == "always"


class DoubleCommit(Healthy):
    """Conserves money and moves twice as much of it."""

    async def move(self, source: int, target: int, amount: int) -> None:
        await super().move(source, target, amount)
        if ALWAYS or self.under_load:
            await super().move(source, target, amount)


if __name__ == "__main__":
    DoubleCommit.run()
