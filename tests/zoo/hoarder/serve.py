"""A server that opens more connections than it may."""

import sys
from contextlib import AsyncExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy

EXTRA = 3


class Hoarder(Healthy):
    """Fills a pool that is too large before it listens."""

    async def start(self) -> None:
        await super().start()
        self.pool.close()
        size = self.pool_size + EXTRA
        self.pool = self.make_pool(size)
        async with AsyncExitStack() as lent:
            for _ in range(size):
                await lent.enter_async_context(self.pool.connection())


if __name__ == "__main__":
    Hoarder.run()
