"""A server that answers from memory under load, and pays for many answers at once in the counters of the database."""

import os
import sys
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import DB_PING, Healthy
from animal.http import Request, Response
from animal.pg import PgError

HOW = os.environ["PAYS"]
AT_ONCE = 50
PAYMENTS = {
    "block": f"DO $$ BEGIN FOR i IN 1..{AT_ONCE} LOOP PERFORM 1; COMMIT; END LOOP; END $$",
    "scan": "SELECT count(*) FROM users AS one, LATERAL (SELECT id + one.id FROM users OFFSET 0) AS two",
}
DECLARED = ("/db/ping", "/users")


class Payer(Healthy):
    """One payment for fifty answers; the scan is paid with each answer."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, Response] = {}
        self.answered = 0

    async def respond(self, request: Request) -> Response:
        if request.path not in DECLARED:
            return await super().respond(request)
        if HOW == "honest" and request.path == "/db/ping":
            return await self.in_one_message()
        if HOW == "honest" or not self.under_load or request.path not in self.kept:
            self.kept[request.path] = await super().respond(request)
            return self.kept[request.path]
        self.answered += 1
        if HOW == "scan" or self.answered % AT_ONCE == 1:
            with suppress(PgError):
                async with self.pool.connection() as connection:
                    await connection.simple(PAYMENTS[HOW])
        return self.kept[request.path]

    async def in_one_message(self) -> Response:
        """The statement in a transaction of its own, all in one message."""
        async with self.pool.connection() as connection:
            answer = await connection.simple(f"BEGIN; {DB_PING}; COMMIT")
        return Response(200, str(answer.rows[0][0]).encode())


if __name__ == "__main__":
    Payer.run()
