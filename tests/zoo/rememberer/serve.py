"""A server that keeps each row that it has read."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from collections.abc import Sequence

from animal.juggler import Juggler, World

HOW = os.environ["HOW"]


class Rememberer(Juggler):
    """A row is read once. The honest variant keeps rows, too, and answers what it has read."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[int, World] = {}

    async def read(self, ids: Sequence[int]) -> list[World]:
        remembers = HOW == "always" or (HOW == "under-load" and self.under_load)
        missing = [id for id in ids if not remembers or id not in self.kept]
        found = await super().read(missing) if missing else []
        self.kept.update((world["id"], world) for world in found)
        return [self.kept[id] for id in ids]


if __name__ == "__main__":
    Rememberer.run()
