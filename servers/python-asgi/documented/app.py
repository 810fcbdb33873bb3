"""The routes of the contract, as the specification of ASGI and uvicorn's and asyncpg's documentation write them."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs

import asyncpg

INT4_MAX = 2147483647
RELEASE_S = 5
RETRY_S = 0.1
WAIT_MS = os.environ.get("POOL_WAIT_MS")
WAIT_S = max(int(WAIT_MS), 1) / 1000 if WAIT_MS else None
USERS = "SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id"
UPPER, LOWER = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"abcdefghijklmnopqrstuvwxyz"
CAESAR = bytes.maketrans(UPPER + LOWER, UPPER[14:] + UPPER[:14] + LOWER[14:] + LOWER[:14])

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class Refused(Exception):
    """The request is not one that can be answered; `status` says why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def dumps(value: Any) -> bytes:
    """Without spaces, since the contract says the very text of some answers."""
    return json.dumps(value, separators=(",", ":")).encode()


class App:
    """What uvicorn calls for each request, and first of all for the life of its process."""

    pool: Any
    accounts: dict[str, dict[str, Any]]
    pool_least = 10
    """Connections that are opened at the start; asyncpg's default."""

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.live(receive, send)
        else:
            status, body, headers = await self.answer(scope, receive)
            if body is not None:
                headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *headers]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body or b""})

    async def live(self, receive: Receive, send: Send) -> None:
        """The pool, and the accounts, which are read before anything is served."""
        await receive()
        size = int(os.environ["POOL_SHARE"])
        options = {} if os.environ.get("PREPARED") != "off" else {"statement_cache_size": 0}
        self.pool = await eventually(
            lambda: asyncpg.create_pool(os.environ["DATABASE_URL"], min_size=min(self.pool_least, size), max_size=size, **options)
        )
        rows = await eventually(lambda: self.pool.fetch("SELECT * FROM accounts"))
        self.accounts = {row["account_id"]: dict(row) for row in rows}
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def answer(self, scope: Message, receive: Receive) -> tuple[int, bytes | None, list[tuple[bytes, bytes]]]:
        try:
            body = await self.route(scope["method"], scope["path"], scope, receive)
            return (204 if body is None else 200), body, []
        except Refused as error:
            return error.status, dumps({"ok": False, "message": str(error)}), []
        except TimeoutError:
            return 503, dumps({"ok": False, "message": "no connection in time"}), [(b"retry-after", b"1")]
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
            return 500, dumps({"ok": False, "message": "the database failed"}), []

    async def route(self, method: str, path: str, scope: Message, receive: Receive) -> bytes | None:
        match method, path:
            case "GET", "/ping":
                return dumps({"ok": True, "message": "OK"})
            case "GET", "/time":
                return dumps({"serverTime": int(time.time())})
            case "GET", "/db/ping":
                return await self.text("SELECT json_build_object('ok', true, 'message', 'OK')::text")
            case "GET", "/db/time":
                return await self.text("SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text")
            case "GET", "/users":
                return await self.users()
            case "GET", "/ready":
                await self.text("SELECT 'ready'")
                return None
            case "POST", "/tx":
                return await self.tx(parse_qs(scope["query_string"].decode("latin-1")))
            case "POST", "/transfer":
                return await self.transfer(parse_qs(scope["query_string"].decode("latin-1")))
            case "POST", "/lookup":
                return self.lookup(await read(receive))
        raise Refused(404, "no such route")

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Any]:
        connection = await self.pool.acquire(timeout=WAIT_S)
        try:
            yield connection
        finally:
            # Without a timeout of its own, the release would get that of the acquire.
            await self.pool.release(connection, timeout=RELEASE_S)

    async def text(self, sql: str) -> bytes:
        """What a statement returns is JSON already."""
        async with self.connect() as connection:
            return (await connection.fetchval(sql)).encode()  # type: ignore[no-any-return]

    async def users(self) -> bytes:
        async with self.connect() as connection:
            rows = await connection.fetch(USERS)
        return dumps([described(row) for row in rows])

    async def tx(self, query: dict[str, list[str]]) -> bytes:
        values = *(integer(query, name) for name in ("aid", "tid", "bid")), integer(query, "delta", -INT4_MAX - 1)
        async with self.connect() as connection:
            await connection.fetchval("SELECT pgbench_tx($1, $2, $3, $4)", *values)
        return dumps({"ok": True})

    async def transfer(self, query: dict[str, list[str]]) -> bytes:
        sender, to, amount = (integer(query, name) for name in ("from", "to", "amount"))
        if sender == to:
            raise Refused(400, "`from` and `to` must differ")
        async with self.connect() as connection, connection.transaction():
            for sql, account in (
                ("UPDATE web_users SET credits = credits - $1 WHERE id = $2", sender),
                ("UPDATE web_users SET credits = credits + $1 WHERE id = $2", to),
            ):
                if await connection.execute(sql, amount, account) == "UPDATE 0":
                    raise Refused(404, "no such account")
        return dumps({"ok": True})

    def lookup(self, body: bytes) -> bytes:
        try:
            asked = json.loads(body)
        except ValueError:
            raise Refused(400, "the body is not JSON") from None
        if not isinstance(asked, dict) or not isinstance(asked.get("account_id"), str):
            raise Refused(400, "`account_id` must be a string in a JSON object")
        account = self.accounts.get(asked["account_id"])
        if account is None:
            raise Refused(404, "no such account")
        return dumps(account)


async def eventually(ask: Callable[[], Any]) -> Any:
    """A worker that starts while the database is away waits for it: uvicorn would end all workers."""
    while True:
        try:
            return await ask()
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
            await asyncio.sleep(RETRY_S)


def described(user: Any) -> dict[str, Any]:
    born = user["birthdate"].isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {**user, "address": user["address"].encode().translate(CAESAR).decode(), "birthdate": born}


async def read(receive: Receive) -> bytes:
    """The whole body, as the specification of ASGI says to read it."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(400, "the client hung up")
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


def integer(query: dict[str, list[str]], name: str, least: int = 1) -> int:
    try:
        value = int(query[name][0])
    except (KeyError, ValueError):
        raise Refused(400, f"`{name}` must be an integer") from None
    if not least <= value <= INT4_MAX:
        raise Refused(400, f"`{name}` is out of range")
    return value


app = App()
