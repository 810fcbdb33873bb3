"""A server that opens many connections at once now and then, for a moment too short for samples."""

import asyncio
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy
from animal.pg import Connection, PgConnectionLost, PgError

EVERY = 40


class Burster(Healthy):
    """Keeps half of its pool. Under load one answer in forty opens others beside it: the rest of the pool, or three pools more."""

    async def start(self) -> None:
        await super().start()
        self.extra = self.pool_size // 2 if os.environ["BURST"] == "within" else 3 * self.pool_size
        self.pool.close()
        self.pool = self.make_pool(self.pool_size // 2)
        self.fetched, self.bursting = 0, False

    async def fetch_text(self, sql: str) -> str:
        self.fetched += 1
        if self.under_load and self.fetched % EVERY == 0 and not self.bursting:
            self.bursting = True
            await self.burst()
            self.bursting = False
        return await super().fetch_text(sql)

    async def burst(self) -> None:
        """Open them at once, and close them as soon as they are there."""
        opened = await asyncio.gather(*(Connection.open(self.pool.url) for _ in range(self.extra)), return_exceptions=True)
        for one in opened:
            if isinstance(one, Connection):
                one.close()
            elif not isinstance(one, PgError | PgConnectionLost):
                raise one
        await asyncio.sleep(0.05)  # the database takes a moment to see that a connection was closed


if __name__ == "__main__":
    Burster.run()
