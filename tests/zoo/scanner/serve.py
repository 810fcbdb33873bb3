"""A server one of whose statements reads a whole table, for want of an index."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy, whole
from animal.http import Request, Response

BALANCE = "SELECT abalance FROM pgbench_accounts WHERE aid + 0 = $1"


class Scanner(Healthy):
    """Asks for the balance before each transaction, in words that no index knows."""

    async def tx(self, request: Request) -> Response:
        account = whole(request, "aid", 1)
        async with self.pool.connection() as connection:
            await connection.query(BALANCE, account)
        return await super().tx(request)


if __name__ == "__main__":
    Scanner.run()
