"""A server of todo lists that does one thing badly under load, or looks as if it did."""

import asyncio
import os
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "zoo"))

from collections.abc import Sequence

from animal.lister import COMPLETE, CREATE, Lister

HOW = os.environ["HOW"]
ONE_IN = 20
OF_ANYBODY = "UPDATE todos SET done = $1 WHERE id = $2 RETURNING id, title, done"


class Clerk(Lister):
    """Keeps pages, forgets changes, or gives todos to somebody else. The honest variants are slow, or read what they kept."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: dict[tuple[int, int, int], dict[str, object]] = {}

    async def read(self, person: int, page: int, limit: int) -> dict[str, object]:
        """A page that was kept is answered once more, or read anew and kept."""
        key = (person, page, limit)
        if HOW == "keeps" and self.under_load and key in self.pages:
            return self.pages[key]
        self.pages[key] = await super().read(person, page, limit)
        return self.pages[key]

    async def write(self, statement: str, *values: int | str) -> Sequence[Sequence[str | None]]:
        """One change in twenty is acknowledged as the last one of its kind was, or each goes to somebody else."""
        if HOW == "forgets" and self.under_load and statement == COMPLETE and random.randrange(ONE_IN) == 0:
            return await self.ask("SELECT id, title, true FROM todos WHERE id = $1 AND person = $2", values[1], values[2])
        if HOW == "forgets" and self.under_load and statement == CREATE and random.randrange(ONE_IN) == 0:
            return [["1", str(values[1]), "f"]]
        if HOW == "misfiles" and self.under_load and statement == CREATE:
            values = (1 + int(values[0]) % 200, *values[1:])
        if HOW == "open" and statement == COMPLETE:
            return await self.ask(OF_ANYBODY, *values[:2])
        if HOW == "waits":
            await asyncio.sleep(0.005)
        return await super().write(statement, *values)


if __name__ == "__main__":
    Clerk.run()
