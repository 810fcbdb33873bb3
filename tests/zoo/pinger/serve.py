"""A server that does not trust its connections."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from animal.healthy import Healthy, Pool
from animal.pg import Connection


class Pinger(Healthy):
    """Pings a connection each time that it is taken from the pool."""

    @asynccontextmanager
    async def _pinged(self) -> AsyncIterator[Connection]:
        async with self.lend() as connection:
            await connection.query("SELECT 1")
            yield connection

    def make_pool(self, size: int) -> Pool:
        """The healthy server's pool; what it lends was pinged."""
        pool = super().make_pool(size)
        self.lend = pool.connection
        pool.connection = self._pinged  # type: ignore[method-assign]
        return pool


if __name__ == "__main__":
    Pinger.run()
