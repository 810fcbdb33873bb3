"""A server that carries out many requests in one transaction; its honest variant collects them, too, and commits each by itself."""

import asyncio
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import INT_MAX, OK, TX, Healthy, whole
from animal.http import Request, Response
from animal.pg import Connection, PgConnectionLost, PgError

COLLECTS_S = 0.005
HOW = os.environ["BATCH"]


class Batcher(Healthy):
    """Under load, requests of 5 ms are carried out at once, one batch after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[tuple[tuple[int, ...], asyncio.Future[None]]] = []
        self.one_batch = asyncio.Lock()
        self.tasks: set[asyncio.Task[None]] = set()

    async def tx(self, request: Request) -> Response:
        if not self.under_load:
            return await super().tx(request)
        values = *(whole(request, name, 1) for name in ("aid", "tid", "bid")), whole(request, "delta", -INT_MAX - 1)
        done = asyncio.get_running_loop().create_future()
        self.waiting.append((values, done))
        if len(self.waiting) == 1:
            task = asyncio.create_task(self.carry_out())
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        await done
        return Response(200, OK)

    async def carry_out(self) -> None:
        """All that wait by then. None of them is answered before its commit."""
        await asyncio.sleep(COLLECTS_S)
        async with self.one_batch, self.pool.connection() as connection:
            batch, self.waiting = self.waiting, []
            try:
                await self.run_batch(connection, [values for values, _ in batch])
            except (PgError, PgConnectionLost) as error:
                for _, done in batch:
                    done.set_exception(error)
                return
        for _, done in batch:
            done.set_result(None)

    async def run_batch(self, connection: Connection, batch: list[tuple[int, ...]]) -> None:
        """One transaction and as many empty ones as there are other requests; or, honestly, one for each."""
        if HOW != "singly":
            await connection.simple("BEGIN")
        for values in batch:
            if HOW == "saved":
                await connection.simple("SAVEPOINT one")
            await connection.query(TX, *values)
        if HOW != "singly":
            await connection.simple("COMMIT")
            for _ in batch[1:]:
                await connection.simple("BEGIN")
                await connection.simple("COMMIT")


if __name__ == "__main__":
    Batcher.run()
