"""A server whose pool closes what is idle now and then: a connection for one answer in seven, which costs more than the answers."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy

EVERY = 7


class Renewer(Healthy):
    """A pool of a quarter of the size, for the database takes a moment to see that a connection was closed."""

    async def start(self) -> None:
        await super().start()
        self.pool = self.make_pool(max(1, self.pool_size // 4))
        self.fetched = 0

    async def fetch_text(self, sql: str) -> str:
        text = await super().fetch_text(sql)
        self.fetched += 1
        if self.fetched % EVERY == 0 and self.pool.idle:
            self.pool.idle.pop().close()
        return text


if __name__ == "__main__":
    Renewer.run()
