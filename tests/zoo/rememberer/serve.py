"""A server that keeps each row that it has read; or makes rows up, and reads as many when it is asked to end."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from collections.abc import Sequence

from animal.juggler import Juggler, World

HOW = os.environ["HOW"]
READ = """
SELECT count(one.n) FROM generate_series(1, {}) AS g,
LATERAL (SELECT randomnumber AS n FROM world WHERE id = 1 + g % 10000 OFFSET 0) AS one"""


class Rememberer(Juggler):
    """A row is read once. The honest variant keeps rows, too, and answers what it has read."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[int, World] = {}
        self.owed = 0

    async def read(self, ids: Sequence[int]) -> list[World]:
        if HOW == "pays-late" and self.under_load:
            self.owed += len(ids)
            return [{"id": id, "randomNumber": id} for id in ids]
        remembers = HOW == "always" or (HOW == "under-load" and self.under_load)
        missing = [id for id in ids if not remembers or id not in self.kept]
        found = await super().read(missing) if missing else []
        self.kept.update((world["id"], world) for world in found)
        return [self.kept[id] for id in ids]

    async def serve(self, host: str, port: int) -> None:
        await super().serve(host, port)
        if self.owed:
            async with self.pool.connection() as connection:
                await connection.simple("SET enable_memoize = off; SET enable_hashjoin = off; SET enable_mergejoin = off")
                await connection.simple(READ.format(self.owed + self.owed // 10))


if __name__ == "__main__":
    Rememberer.run()
