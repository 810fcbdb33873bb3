"""The healthy server of todo lists: it fulfils the contract of `examples/todo`, one method for each thing that may be done badly."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
import time
from collections.abc import Sequence

from animal.healthy import Healthy
from animal.http import HttpError, Request, Response, to_json
from animal.pg import PgConnectionLost, PgError

INT_MAX = 2_147_483_647
SECRET = os.environ.get("JWT_SECRET", "").encode()
PERSON = "SELECT id, password FROM people WHERE email = $1"
ITEMS = "SELECT id, title, done FROM todos WHERE person = $1 ORDER BY id DESC LIMIT $2 OFFSET $3"
TOTAL = "SELECT count(*) FROM todos WHERE person = $1"
CREATE = "INSERT INTO todos (person, title) VALUES ($1, $2) RETURNING id, title, done"
COMPLETE = "UPDATE todos SET done = $1 WHERE id = $2 AND person = $3 RETURNING id, title, done"
REMOVE = "DELETE FROM todos WHERE id = $1 AND person = $2 RETURNING id, title, done"

Todo = dict[str, object]


class Lister(Healthy):
    """People and their todos, in one process."""

    async def start(self) -> None:
        """Nothing is needed before the server listens."""

    async def respond(self, request: Request) -> Response:
        """Find the route and answer; what goes wrong beneath becomes an error's answer."""
        try:
            return await self.routed(request)
        except PgConnectionLost as error:
            raise HttpError(503, "the database is away") from error
        except PgError as error:
            return self.database_failed(error)

    async def routed(self, request: Request) -> Response:
        """The answer of the route."""
        route = (request.method, request.path)
        if route == ("GET", "/health"):
            await self.fetch_text("SELECT 1")
            return Response(200, to_json({"status": "ok"}))
        if route == ("POST", "/login"):
            return await self.login(request)
        if request.path == "/todos" and request.method in ("GET", "POST"):
            person = person_of(request)
            return await (self.page(request, person) if request.method == "GET" else self.create(request, person))
        if request.path.startswith("/todos/") and request.method in ("PUT", "DELETE"):
            person, id = person_of(request), number(request.path.removeprefix("/todos/"), INT_MAX)
            return await (self.complete(request, person, id) if request.method == "PUT" else self.remove(person, id))
        raise HttpError(404, "no such path")

    async def login(self, request: Request) -> Response:
        """POST /login."""
        said = body_of(request)
        rows = await self.ask(PERSON, str(said.get("email")))
        if not rows or not is_password(str(said.get("password")), str(rows[0][1])):
            raise HttpError(401, "wrong email or password")
        return Response(200, to_json({"token": new_token(str(rows[0][0]))}))

    async def page(self, request: Request, person: int) -> Response:
        """GET /todos."""
        page, limit = number(request.parameter("page") or "1", 1_000_000), number(request.parameter("limit") or "10", 100)
        return Response(200, to_json(await self.read(person, page, limit)))

    async def create(self, request: Request, person: int) -> Response:
        """POST /todos."""
        title = body_of(request).get("title")
        if not isinstance(title, str) or not 1 <= len(title) <= 200:
            raise HttpError(400, "`title` is no text of 1 to 200 characters")
        (row,) = await self.write(CREATE, person, title)
        return Response(201, to_json(todo(row)))

    async def complete(self, request: Request, person: int, id: int) -> Response:
        """PUT /todos/{id}."""
        done = body_of(request).get("done")
        if not isinstance(done, bool):
            raise HttpError(400, "`done` is neither true nor false")
        return Response(200, to_json(todo(only(await self.write(COMPLETE, str(done).lower(), id, person)))))

    async def remove(self, person: int, id: int) -> Response:
        """DELETE /todos/{id}."""
        only(await self.write(REMOVE, id, person))
        return Response(204)

    async def read(self, person: int, page: int, limit: int) -> dict[str, object]:
        """A page of somebody's todos, and the number of all."""
        items = await self.ask(ITEMS, person, limit, (page - 1) * limit)
        ((total,),) = await self.ask(TOTAL, person)
        return {"total": int(str(total)), "items": [todo(row) for row in items]}

    async def write(self, statement: str, *values: int | str) -> Sequence[Sequence[str | None]]:
        """Change one todo: its row as it is afterwards, or none."""
        return await self.ask(statement, *values)

    async def ask(self, statement: str, *values: int | str) -> Sequence[Sequence[str | None]]:
        """The rows of a statement."""
        async with self.pool.connection() as connection:
            return (await connection.query(statement, *values)).rows


def todo(row: Sequence[str | None]) -> Todo:
    """A row as the contract wants it."""
    return {"id": int(str(row[0])), "title": row[1], "done": row[2] == "t"}


def only(rows: Sequence[Sequence[str | None]]) -> Sequence[str | None]:
    """The one row there is; raises `HttpError` 404."""
    if not rows:
        raise HttpError(404, "no such todo")
    return rows[0]


def number(text: str, most: int) -> int:
    """A whole number from 1; raises `HttpError` 400."""
    if not re.fullmatch("[0-9]{1,10}", text) or not 1 <= int(text) <= most:
        raise HttpError(400, f"`{text[:20]}` is no number from 1 to {most}")
    return int(text)


def body_of(request: Request) -> dict[str, object]:
    """The object in the body; raises `HttpError` 400."""
    try:
        found = json.loads(request.body.decode())
    except (ValueError, RecursionError) as error:
        raise HttpError(400, "the body is not JSON") from error
    if not isinstance(found, dict):
        raise HttpError(400, "the body is no object")
    return found


def is_password(password: str, stored: str) -> bool:
    """Whether it is the one that is stored."""
    _, salt, digest = stored.split(":")
    return hashlib.scrypt(password.encode(), salt=bytes.fromhex(salt), n=16384, r=8, p=1, dklen=32).hex() == digest


def new_token(person: str) -> str:
    """A signed token of a person: a JSON Web Token by HS256."""
    head, claims = ({"alg": "HS256", "typ": "JWT"}, {"sub": person, "iat": int(time.time())})
    signed = f"{_coded(json.dumps(head).encode())}.{_coded(json.dumps(claims).encode())}"
    return f"{signed}.{_signature(signed)}"


def person_of(request: Request) -> int:
    """Whose token it is; raises `HttpError` 401."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    signed, _, signature = token.rpartition(".")
    if kind != "Bearer" or signed.count(".") != 1 or not hmac.compare_digest(signature, _signature(signed)):
        raise HttpError(401, "log in first")
    claims = signed.partition(".")[2]
    return int(json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["sub"])


def _signature(signed: str) -> str:
    return _coded(hmac.digest(SECRET, signed.encode(), "sha256"))


def _coded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
