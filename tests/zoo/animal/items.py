"""The healthy server with the rows of `items`: read, listed, made and changed."""

from __future__ import annotations

import json
import re

from animal.healthy import INT_MAX, Handler, Healthy
from animal.http import HttpError, Request, Response, to_json

COLUMNS = ("id", "name", "price_cents", "stock", "revision")
ITEM = ", ".join(COLUMNS)
READ = f"SELECT {ITEM} FROM items WHERE id = $1"
PAGE = f"SELECT {ITEM} FROM items WHERE id > $1 ORDER BY id LIMIT 20"
CREATE = f"INSERT INTO items (name, price_cents, stock) VALUES ($1, $2, $3) RETURNING {ITEM}"
UPDATE = f"UPDATE items SET name = $1, price_cents = $2, stock = $3, revision = revision + 1 WHERE id = $4 RETURNING {ITEM}"

Item = dict[str, object]


class Shop(Healthy):
    """The contract, with its optional requests."""

    def route(self, request: Request) -> tuple[str, Handler | None]:
        if request.path == "/items":
            return ("POST", self.create) if request.method == "POST" else ("GET", self.page)
        if request.path.startswith("/items/"):
            return ("PUT", self.update) if request.method == "PUT" else ("GET", self.read)
        return super().route(request)

    async def read(self, request: Request) -> Response:
        """GET /items/ID."""
        return Response(200, to_json((await self.items(READ, key_of(request)))[0]))

    async def page(self, request: Request) -> Response:
        """GET /items?after=ID."""
        after = request.parameter("after") or "0"
        if not re.fullmatch("[0-9]{1,10}", after) or int(after) > INT_MAX:
            raise HttpError(400, "`after` is no number")
        async with self.pool.connection() as connection:
            rows = (await connection.query(PAGE, int(after))).rows
        return Response(200, to_json([item_of(row) for row in rows]))

    async def create(self, request: Request) -> Response:
        """POST /items."""
        return Response(201, to_json((await self.items(CREATE, *values_of(request)))[0]))

    async def update(self, request: Request) -> Response:
        """PUT /items/ID."""
        return Response(200, to_json((await self.items(UPDATE, *values_of(request), key_of(request)))[0]))

    async def items(self, sql: str, *values: int | str) -> list[Item]:
        """The items that a statement returns, of which there must be one."""
        async with self.pool.connection() as connection:
            rows = (await connection.query(sql, *values)).rows
        if not rows:
            raise HttpError(404, "no such item")
        return [item_of(row) for row in rows]


def item_of(row: list[str | None]) -> Item:
    """A row as an object."""
    return {name: value if name == "name" else int(str(value)) for name, value in zip(COLUMNS, row, strict=True)}


def key_of(request: Request) -> int:
    """The item that the path names."""
    found = request.path.rpartition("/")[2]
    if not re.fullmatch("[0-9]{1,10}", found) or not 1 <= int(found) <= INT_MAX:
        raise HttpError(404, "no such item")
    return int(found)


def values_of(request: Request) -> tuple[str, int, int]:
    """What the body says of an item: its name, its price and its stock."""
    try:
        body = json.loads(request.body.decode())
        name, price, stock = body["name"], body["price_cents"], body["stock"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise HttpError(400, "the body is no item") from error
    if not (isinstance(name, str) and name and all(type(one) is int and 0 <= one <= INT_MAX for one in (price, stock))):
        raise HttpError(400, "the body is no item")
    return name, price, stock
