"""A server whose commits do not wait for the disk; its honest variant asks for what a durable database does by itself."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy, Pool
from animal.pg import Connection

WAITS = os.environ["WAITS"]


class Told(Pool):
    """Each new connection is told once."""

    async def _take(self) -> Connection:
        connection = await super()._take()
        if not connection.statements:
            await connection.simple(f"SET synchronous_commit = {WAITS}")
        return connection


class Hurried(Healthy):
    """The contract, fulfilled on such connections."""

    def make_pool(self, size: int) -> Pool:
        given = super().make_pool(size)
        return Told(given.url, given.size, given.wait_ms, given.prepared)


if __name__ == "__main__":
    Hurried.run()
