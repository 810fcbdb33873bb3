"""A server whose transfers never happen."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy
from animal.pg import Connection

ALWAYS = os.environ.get("WHEN", "always") == "always"


class NoCommit(Healthy):
    """Rolls back where it should commit."""

    async def commit(self, connection: Connection) -> None:
        await connection.simple("ROLLBACK" if ALWAYS or self.under_load else "COMMIT")


if __name__ == "__main__":
    NoCommit.run()
