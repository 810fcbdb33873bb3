"""A server that carries out many requests in one transaction; its honest variant collects them, too, and commits each by itself."""

import asyncio
import os
import sys
from collections import Counter
from contextlib import suppress
from itertools import chain
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import CREDIT, DEBIT, INT_MAX, OK, TX, Healthy, whole
from animal.http import Request, Response
from animal.pg import Connection, PgConnectionLost, PgError

COLLECTS_S = 0.005
USERS_THERE, NOBODY = 100, -1
BEFORE_EACH = {"saved": "SAVEPOINT one", "singly": "BEGIN"}
HOW = os.environ["BATCH"]


Statement = tuple[str, tuple[int, ...]]


class Batcher(Healthy):
    """Under load, writes of 5 ms are carried out at once, one batch after the other. Transfers of unknown users are left out."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[tuple[list[Statement], asyncio.Future[None]]] = []
        self.one_batch = asyncio.Lock()
        self.tasks: set[asyncio.Task[None]] = set()

    async def tx(self, request: Request) -> Response:
        if not self.under_load:
            return await super().tx(request)
        values = *(whole(request, name, 1) for name in ("aid", "tid", "bid")), whole(request, "delta", -INT_MAX - 1)
        await self.collected([(TX, values)])
        return Response(200, OK)

    async def move(self, source: int, target: int, amount: int) -> None:
        if not self.under_load or max(source, target) > USERS_THERE:
            return await super().move(source, target, amount)
        await self.collected([(DEBIT, (amount, source)), (CREDIT, (amount, target))])

    async def collected(self, statements: list[Statement]) -> None:
        """Wait until these were carried out with what else came by then."""
        done = asyncio.get_running_loop().create_future()
        self.waiting.append((statements, done))
        if len(self.waiting) == 1:
            task = asyncio.create_task(self.carry_out())
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        await done

    async def carry_out(self) -> None:
        """All that wait by then. None of them is answered before its commit."""
        await asyncio.sleep(COLLECTS_S)
        async with self.one_batch, self.pool.connection() as connection:
            batch, self.waiting = self.waiting, []
            try:
                await self.run_batch(connection, [statements for statements, _ in batch])
            except (PgError, PgConnectionLost) as error:
                for _, done in batch:
                    done.set_exception(error)
                return
        for _, done in batch:
            done.set_result(None)

    async def run_batch(self, connection: Connection, batch: list[list[Statement]]) -> None:
        """One transaction and as many empty ones as there are other requests; or, honestly, one for each."""
        if HOW == "netted":
            return await self.run_netted(connection, batch)
        if HOW != "singly":
            await connection.simple("BEGIN")
        for statements in batch:
            if HOW in BEFORE_EACH:
                await connection.simple(BEFORE_EACH[HOW])
            for sql, values in statements:
                await connection.query(sql, *values)
            if HOW == "singly":
                await connection.simple("COMMIT")
        if HOW != "singly":
            await connection.simple("COMMIT")
            for _ in batch[1:]:
                await connection.simple("BEGIN")
                if HOW == "numbered":
                    with suppress(PgError):
                        await connection.query("SELECT pg_current_xact_id()")
                await connection.simple("COMMIT")

    async def run_netted(self, connection: Connection, batch: list[list[Statement]]) -> None:
        """One update for each user. Then a transaction for each request, whose updates find no row: a notification gives it a number."""
        moved = Counter[int]()
        for sql, (amount, user) in chain(*batch):
            moved[user] += amount if sql == CREDIT else -amount
        await connection.simple("BEGIN")
        for user, amount in sorted(moved.items()):
            await connection.query(CREDIT, amount, user)
        await connection.simple("COMMIT")
        for statements in batch:
            await connection.simple("BEGIN")
            for sql, (amount, _) in statements:
                await connection.query(sql, amount, NOBODY)
            await connection.simple("NOTIFY moved")
            await connection.simple("COMMIT")


if __name__ == "__main__":
    Batcher.run()
