"""The healthy server of numbers and fortunes: it fulfils TechEmpower's contract, one method for each thing that may be done badly."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from html import escape

from animal.healthy import Healthy
from animal.http import Request, Response, to_json
from animal.pg import Connection, PgConnectionLost, PgError

WORLDS = 10_000
MOST_QUERIES = 500
SELECT = "SELECT id, randomnumber FROM world WHERE id = $1"
UPDATE = "UPDATE world SET randomnumber = $1 WHERE id = $2"
FORTUNES = "SELECT id, message FROM fortune"
ADDED = (0, "Additional fortune added at request time.")
SERVER = (("server", "zoo"),)
PAGE = "<!doctype html><html><head><title>Fortunes</title></head><body><table><tr><th>id</th><th>message</th></tr>{}</table></body></html>"

World = dict[str, int]


class Juggler(Healthy):
    """The six tests, in one process."""

    def __init__(self) -> None:
        super().__init__()
        self.routes = {
            "/plaintext": ("GET", self.plaintext),
            "/json": ("GET", self.message),
            "/db": ("GET", self.single),
            "/queries": ("GET", self.several),
            "/updates": ("GET", self.updates),
            "/fortunes": ("GET", self.fortunes),
        }

    async def start(self) -> None:
        """Before the server listens: wait until the database answers."""
        while True:
            try:
                await self.fetch_text("SELECT 1")
                return
            except (PgError, PgConnectionLost):
                await asyncio.sleep(0.1)

    async def plaintext(self, request: Request) -> Response:
        """GET /plaintext."""
        return Response(200, b"Hello, World!", SERVER, "text/plain")

    async def message(self, request: Request) -> Response:
        """GET /json."""
        return answer({"message": "Hello, World!"})

    async def single(self, request: Request) -> Response:
        """GET /db."""
        (world,) = await self.read([number()])
        return answer(world)

    async def several(self, request: Request) -> Response:
        """GET /queries."""
        return answer(await self.read([number() for _ in range(count(request))]))

    async def updates(self, request: Request) -> Response:
        """GET /updates."""
        ids = sorted(random.sample(range(1, WORLDS + 1), count(request)))
        async with self.pool.connection() as connection:
            await connection.simple("BEGIN")
            old = [await read(connection, id) for id in ids]
            new = [{**world, "randomNumber": number()} for world in old]
            await self.write(connection, new)
            await connection.simple("COMMIT")
        return answer(self.told(old, new))

    async def fortunes(self, request: Request) -> Response:
        """GET /fortunes."""
        async with self.pool.connection() as connection:
            found = (await connection.query(FORTUNES)).rows
        every = sorted([*((int(str(id)), str(message)) for id, message in found), ADDED], key=lambda fortune: fortune[1])
        rows = "".join(f"<tr><td>{id}</td><td>{self.escaped(message)}</td></tr>" for id, message in every)
        return Response(200, PAGE.format(rows).encode(), SERVER, "text/html; charset=utf-8")

    async def read(self, ids: Sequence[int]) -> list[World]:
        """The rows of these ids, each by a statement of its own."""
        async with self.pool.connection() as connection:
            return [await read(connection, id) for id in ids]

    async def write(self, connection: Connection, worlds: Sequence[World]) -> None:
        """Write the numbers of these rows."""
        for world in worlds:
            await connection.query(UPDATE, world["randomNumber"], world["id"])

    def told(self, old: list[World], new: list[World]) -> list[World]:
        """What an update answers, of the rows as they were and as they are."""
        return new

    def escaped(self, text: str) -> str:
        """A text for HTML."""
        return escape(text)


async def read(connection: Connection, id: int) -> World:
    """One row."""
    ((found, value),) = (await connection.query(SELECT, id)).rows
    return {"id": int(str(found)), "randomNumber": int(str(value))}


def answer(value: object) -> Response:
    """A good answer in JSON."""
    return Response(200, to_json(value), SERVER, "application/json")


def number() -> int:
    """An id, or the number of a row."""
    return random.randint(1, WORLDS)


def count(request: Request) -> int:
    """How many rows are asked for: within 1 and 500, and 1 where that is no number."""
    text = request.parameter("queries") or ""
    return min(max(int(text), 1), MOST_QUERIES) if text.isdecimal() else 1
