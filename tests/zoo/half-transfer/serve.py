"""A server that destroys credits."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import DEBIT, Healthy

HALVED_ONE_IN = 50


class HalfTransfer(Healthy):
    """Forgets the credit of one transfer in 50 under load."""

    count = 0

    async def move(self, source: int, target: int, amount: int) -> None:
        self.count += 1
        if not self.under_load or self.count % HALVED_ONE_IN:
            return await super().move(source, target, amount)
        async with self.pool.connection() as connection:
            await connection.query(DEBIT, amount, source)


if __name__ == "__main__":
    HalfTransfer.run()
