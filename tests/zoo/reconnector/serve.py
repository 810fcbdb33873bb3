"""A server that opens a connection to the database for each request, and closes it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy


class Reconnector(Healthy):
    """Has a pool that keeps nothing; a quarter of the size, for the database takes a moment to see that a connection was closed."""

    async def start(self) -> None:
        await super().start()
        self.pool = self.make_pool(max(1, self.pool_size // 4))

    async def fetch_text(self, sql: str) -> str:
        text = await super().fetch_text(sql)
        self.pool.close()
        return text


if __name__ == "__main__":
    Reconnector.run()
