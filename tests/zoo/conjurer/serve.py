"""A server that makes up accounts or items under load, or misses accounts at the ends; its honest variant names what it does not have."""

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.http import HttpError, Request, Response, to_json
from animal.items import Item, Shop

WAY = os.environ["WAY"]


class Conjurer(Shop):
    """Knows every account, but for the ends and what lies beyond them; asks for items, and may not read what comes."""

    async def items(self, sql: str, *values: int | str) -> list[Item]:
        found = await super().items(sql, *values)
        if WAY != "items" or not self.under_load or not sql.startswith("SELECT"):
            return found
        return [one | {"name": "anchor", "price_cents": 100, "stock": 1, "revision": 0} for one in found]

    async def lookup(self, request: Request) -> Response:
        try:
            answer = await super().lookup(request)
        except HttpError as error:
            if error.response.status != 404 or WAY == "forgets":
                raise
            return self.unknown(json.loads(request.body)["account_id"], error)
        if (
            WAY == "forgets"
            and self.under_load
            and json.loads(answer.body)["account_id"] in (min(self.accounts), max(self.accounts))
        ):
            raise HttpError(404, "no such account")
        return answer

    def unknown(self, account: str, error: HttpError) -> Response:
        """The answer about an account that does not exist."""
        if WAY == "tells":
            raise HttpError(404, f"no account `{account}`") from error
        if not self.under_load:
            raise error
        return Response(200, to_json(next(iter(self.accounts.values())) | {"account_id": account}))


if __name__ == "__main__":
    Conjurer.run()
