"""A server that reads many rows by one statement, under load."""

import asyncio
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from collections.abc import Sequence

from animal.juggler import Juggler, World

HOW = os.environ["HOW"]
GATHER_S = 0.002


class Gatherer(Juggler):
    """What is asked for within 2 ms is read together."""

    def __init__(self) -> None:
        super().__init__()
        self.wanted: set[int] = set()
        self.gathered: asyncio.Task[dict[int, World]] | None = None

    async def read(self, ids: Sequence[int]) -> list[World]:
        if not self.under_load:
            return await super().read(ids)
        if HOW == "rows":
            found = await self.at_once(ids)
        elif HOW == "requests":
            self.wanted.update(ids)
            if self.gathered is None:
                self.gathered = asyncio.create_task(self.gather())
            found = await self.gathered
            async with self.pool.connection() as connection:
                await connection.simple("SELECT 1")
        else:
            await asyncio.sleep(GATHER_S)
            return await super().read(ids)
        return [found[id] for id in ids]

    async def gather(self) -> dict[int, World]:
        """The rows that all requests of a moment want."""
        await asyncio.sleep(GATHER_S)
        ids, self.wanted, self.gathered = list(self.wanted), set(), None
        return await self.at_once(ids)

    async def at_once(self, ids: Sequence[int]) -> dict[int, World]:
        """The rows of these ids, by one statement."""
        sql = "SELECT id, randomnumber FROM world WHERE id = ANY($1::integer[])"
        async with self.pool.connection() as connection:
            rows = (await connection.query(sql, "{" + ",".join(map(str, ids)) + "}")).rows
        return {int(str(id)): {"id": int(str(id)), "randomNumber": int(str(value))} for id, value in rows}


if __name__ == "__main__":
    Gatherer.run()
