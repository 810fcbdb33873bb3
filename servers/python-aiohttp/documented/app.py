"""The routes of the contract, as aiohttp's and asyncpg's documentation write them."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC
from functools import partial
from typing import Any

import asyncpg
from aiohttp import web

INT4_MAX = 2147483647
RELEASE_S = 5
RETRY_S = 0.1
WAIT_MS = os.environ.get("POOL_WAIT_MS")
WAIT_S = max(int(WAIT_MS), 1) / 1000 if WAIT_MS else None
UPPER, LOWER = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"abcdefghijklmnopqrstuvwxyz"
CAESAR = bytes.maketrans(UPPER + LOWER, UPPER[14:] + UPPER[:14] + LOWER[14:] + LOWER[:14])
POOL = web.AppKey("POOL", asyncpg.Pool)
ACCOUNTS = web.AppKey("ACCOUNTS", dict[str, dict[str, Any]])

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
routes = web.RouteTableDef()
# Without spaces, since the contract says the very text of some answers.
answer = partial(web.json_response, dumps=partial(json.dumps, separators=(",", ":")))


async def create_app(list_users: Handler | None = None) -> web.Application:
    app = web.Application(middlewares=[errors])
    app.add_routes(routes)
    app.router.add_get("/users", list_users or users)
    app.cleanup_ctx.append(database)
    return app


async def database(app: web.Application) -> AsyncIterator[None]:
    """The pool, and the accounts, which are read before anything is served."""
    size = int(os.environ["POOL_SHARE"])
    options = {} if os.environ.get("PREPARED") != "off" else {"statement_cache_size": 0}
    pool = await eventually(
        lambda: asyncpg.create_pool(os.environ["DATABASE_URL"], min_size=min(10, size), max_size=size, **options)
    )
    async with pool:
        rows = await eventually(lambda: pool.fetch("SELECT * FROM accounts"))
        app[POOL], app[ACCOUNTS] = pool, {row["account_id"]: dict(row) for row in rows}
        yield


async def eventually(ask: Callable[[], Awaitable[Any]]) -> Any:
    """A worker that starts while the database is away waits for it: gunicorn would end all workers."""
    while True:
        try:
            return await ask()
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
            await asyncio.sleep(RETRY_S)


@asynccontextmanager
async def connect(request: web.Request) -> AsyncIterator[Any]:
    pool = request.app[POOL]
    connection = await pool.acquire(timeout=WAIT_S)
    try:
        yield connection
    finally:
        # Without a timeout of its own, the release would get that of the acquire.
        await pool.release(connection, timeout=RELEASE_S)


@web.middleware
async def errors(request: web.Request, handler: Any) -> web.StreamResponse:
    """Every error as the contract's object."""
    try:
        return await handler(request)
    except web.HTTPException as error:
        return answer({"ok": False, "message": error.reason}, status=error.status)
    except TimeoutError:
        return answer({"ok": False, "message": "no connection in time"}, status=503, headers={"retry-after": "1"})
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
        return answer({"ok": False, "message": "the database failed"}, status=500)


@routes.get("/ready")
async def ready(request: web.Request) -> web.Response:
    async with connect(request) as connection:
        await connection.execute("SELECT 1")
    return web.Response(status=204)


@routes.get("/ping")
async def ping(request: web.Request) -> web.Response:
    return answer({"ok": True, "message": "OK"})


@routes.get("/time")
async def server_time(request: web.Request) -> web.Response:
    return answer({"serverTime": int(time.time())})


@routes.get("/db/ping")
async def database_ping(request: web.Request) -> web.Response:
    async with connect(request) as connection:
        text = await connection.fetchval("SELECT json_build_object('ok', true, 'message', 'OK')::text")
    return web.json_response(text=text)


@routes.get("/db/time")
async def database_time(request: web.Request) -> web.Response:
    async with connect(request) as connection:
        text = await connection.fetchval("SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text")
    return web.json_response(text=text)


async def users(request: web.Request) -> web.Response:
    async with connect(request) as connection:
        rows = await connection.fetch("SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id")
    return answer([described(row) for row in rows])


def described(user: Any) -> dict[str, Any]:
    born = user["birthdate"].astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {**user, "address": user["address"].encode().translate(CAESAR).decode(), "birthdate": born}


@routes.post("/tx")
async def tx(request: web.Request) -> web.Response:
    values = *(integer(request, name) for name in ("aid", "tid", "bid")), integer(request, "delta", -INT4_MAX - 1)
    async with connect(request) as connection:
        await connection.fetchval("SELECT pgbench_tx($1, $2, $3, $4)", *values)
    return answer({"ok": True})


@routes.post("/transfer")
async def transfer(request: web.Request) -> web.Response:
    sender, to, amount = (integer(request, name) for name in ("from", "to", "amount"))
    if sender == to:
        raise web.HTTPBadRequest(reason="`from` and `to` must differ")
    async with connect(request) as connection, connection.transaction():
        for sql, account in (
            ("UPDATE web_users SET credits = credits - $1 WHERE id = $2", sender),
            ("UPDATE web_users SET credits = credits + $1 WHERE id = $2", to),
        ):
            if await connection.execute(sql, amount, account) == "UPDATE 0":
                raise web.HTTPNotFound(reason="no such account")
    return answer({"ok": True})


@routes.post("/lookup")
async def lookup(request: web.Request) -> web.Response:
    try:
        asked = await request.json()
    except ValueError:
        raise web.HTTPBadRequest(reason="the body is not JSON") from None
    if not isinstance(asked, dict) or not isinstance(asked.get("account_id"), str):
        raise web.HTTPBadRequest(reason="`account_id` must be a string in a JSON object")
    account = request.app[ACCOUNTS].get(asked["account_id"])
    if account is None:
        raise web.HTTPNotFound(reason="no such account")
    return answer(account)


def integer(request: web.Request, name: str, least: int = 1) -> int:
    try:
        value = int(request.query[name])
    except (KeyError, ValueError):
        raise web.HTTPBadRequest(reason=f"`{name}` must be an integer") from None
    if not least <= value <= INT4_MAX:
        raise web.HTTPBadRequest(reason=f"`{name}` is out of range")
    return value
