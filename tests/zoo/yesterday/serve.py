"""A server whose updates answer something else than they write."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from collections.abc import Sequence

from animal.juggler import Juggler, World
from animal.pg import Connection

HOW = os.environ["HOW"]
BULK = "UPDATE world SET randomnumber = new.number FROM (VALUES {}) AS new (id, number) WHERE world.id = new.id"


class Yesterday(Juggler):
    """The honest variant writes in bulk."""

    def told(self, old: list[World], new: list[World]) -> list[World]:
        return old if HOW == "old" or (HOW == "under-load" and self.under_load) else new

    async def write(self, connection: Connection, worlds: Sequence[World]) -> None:
        if HOW == "bulk":
            values = ", ".join(f"({world['id']}, {world['randomNumber']})" for world in worlds)
            await connection.simple(BULK.format(values))
        else:
            await super().write(connection, worlds[:-1] if HOW == "unwritten" else worlds)


if __name__ == "__main__":
    Yesterday.run()
