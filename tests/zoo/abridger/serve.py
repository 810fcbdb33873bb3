"""A server that answers a shorter account under load; its honest variant answers the whole one, written in another way."""

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy
from animal.http import Request, Response, to_json

HONEST = os.environ["FORM"] == "reordered"
KEPT = ("account_id", "name", "email")


class Abridger(Healthy):
    """Leaves out what few clients would miss, or (honest) writes keys backwards, with spaces, and other escapes."""

    async def lookup(self, request: Request) -> Response:
        answer = await super().lookup(request)
        account = json.loads(answer.body)
        if HONEST:
            text = json.dumps(dict(reversed(account.items())), indent=1).replace("@", "\\u0040")
            return Response(200, text.encode())
        if not self.under_load:
            return answer
        return Response(200, to_json({key: account[key] for key in KEPT}))


if __name__ == "__main__":
    Abridger.run()
