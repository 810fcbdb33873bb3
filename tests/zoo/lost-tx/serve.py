"""A server that loses one transaction in 100."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import OK, Healthy
from animal.http import Request, Response

LOST_ONE_IN = 100


class LostTx(Healthy):
    """Says ok to every hundredth transaction under load and forgets it."""

    count = 0

    async def tx(self, request: Request) -> Response:
        self.count += self.under_load
        if self.under_load and self.count % LOST_ONE_IN == 0:
            return Response(200, OK)
        return await super().tx(request)


if __name__ == "__main__":
    LostTx.run()
