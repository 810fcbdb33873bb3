"""The routes of the contract, as Robyn's and asyncpg's documentation write them."""

import asyncio
import logging
import os
import sys
import time
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import unquote_plus

import asyncpg
from robyn import Headers, Request, Response, Robyn, jsonify
from robyn.argument_parser import Config

INT4_MAX = 2147483647
RELEASE_S = 5
RETRY_S = 0.2
WAIT_MS = os.environ.get("POOL_WAIT_MS")
WAIT_S = max(int(WAIT_MS), 1) / 1000 if WAIT_MS else None
UPPER, LOWER = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"abcdefghijklmnopqrstuvwxyz"
CAESAR = bytes.maketrans(UPPER + LOWER, UPPER[14:] + UPPER[:14] + LOWER[14:] + LOWER[:14])
JSON = {"content-type": "application/json"}
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS")

config = Config()
config.log_level, config.disable_openapi = "ERROR", True
# Actix reports requests that are no HTTP as errors of the server.
logging.getLogger("actix_http").setLevel(logging.CRITICAL)
app = Robyn(__file__, config=config)
accounts: dict[str, dict[str, Any]] = {}
pool: Any = None


class Refused(Exception):
    """The request is not one that can be answered; `status` says why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


async def open_pool(share: int) -> None:
    """On the event loop of the handlers, in each process. A worker that starts while the database is away waits for it."""
    global pool
    options = {} if os.environ.get("PREPARED") != "off" else {"statement_cache_size": 0}
    while pool is None:
        try:
            pool = await asyncpg.create_pool(os.environ["DATABASE_URL"], min_size=min(10, share), max_size=share, **options)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
            await asyncio.sleep(RETRY_S)
    accounts.update({row["account_id"]: dict(row) for row in await pool.fetch("SELECT * FROM accounts")})


@asynccontextmanager
async def connect() -> AsyncIterator[Any]:
    connection = await pool.acquire(timeout=WAIT_S)
    try:
        yield connection
    finally:
        # Without a timeout of its own, the release would get that of the acquire.
        await pool.release(connection, timeout=RELEASE_S)


@app.exception
def answer_error(error: Exception) -> Response:
    """What Robyn answers for whatever a handler raises."""
    status, message, headers = 500, "the database failed", JSON
    if isinstance(error, Refused):
        status, message = error.status, str(error)
    elif isinstance(error, TimeoutError):
        status, message, headers = 503, "no connection in time", {**JSON, "retry-after": "1"}
    elif not isinstance(error, (asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
        traceback.print_exception(error, file=sys.stderr)
    return Response(status, Headers(headers), jsonify({"ok": False, "message": message}))


@app.get("/ready")
async def ready() -> Response:
    if pool is None:
        raise TimeoutError
    async with connect() as connection:
        await connection.execute("SELECT 1")
    return Response(204, Headers({}), "")


@app.get("/ping")
def ping() -> dict[str, Any]:
    return {"ok": True, "message": "OK"}


@app.get("/time")
def server_time() -> dict[str, Any]:
    return {"serverTime": int(time.time())}


@app.get("/db/ping")
async def database_ping() -> Response:
    return await text("SELECT json_build_object('ok', true, 'message', 'OK')::text")


@app.get("/db/time")
async def database_time() -> Response:
    return await text("SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text")


async def text(sql: str) -> Response:
    """What a statement returns is JSON already."""
    async with connect() as connection:
        return Response(200, Headers(JSON), await connection.fetchval(sql))


@app.get("/users")
async def users() -> list[dict[str, Any]]:
    async with connect() as connection:
        rows = await connection.fetch("SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id")
    return [described(row) for row in rows]


def described(user: Any) -> dict[str, Any]:
    born = user["birthdate"].isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {**user, "address": user["address"].encode().translate(CAESAR).decode(), "birthdate": born}


@app.post("/tx")
async def tx(request: Request) -> dict[str, Any]:
    query = decoded(request)
    values = *(integer(query, name) for name in ("aid", "tid", "bid")), integer(query, "delta", -INT4_MAX - 1)
    async with connect() as connection:
        await connection.fetchval("SELECT pgbench_tx($1, $2, $3, $4)", *values)
    return {"ok": True}


@app.post("/transfer")
async def transfer(request: Request) -> dict[str, Any]:
    query = decoded(request)
    sender, to, amount = (integer(query, name) for name in ("from", "to", "amount"))
    if sender == to:
        raise Refused(400, "`from` and `to` must differ")
    async with connect() as connection, connection.transaction():
        for sql, account in (
            ("UPDATE web_users SET credits = credits - $1 WHERE id = $2", sender),
            ("UPDATE web_users SET credits = credits + $1 WHERE id = $2", to),
        ):
            if await connection.execute(sql, amount, account) == "UPDATE 0":
                raise Refused(404, "no such account")
    return {"ok": True}


@app.post("/lookup")
def lookup(request: Request) -> dict[str, Any]:
    # Robyn takes a body that broke off for a whole one.
    body = request.body.encode() if isinstance(request.body, str) else request.body
    if int(request.headers.get("content-length") or len(body)) != len(body):
        raise Refused(400, "the body broke off")
    try:
        asked = request.json()
    except ValueError:
        raise Refused(400, "the body is not JSON") from None
    if not isinstance(asked, dict) or not isinstance(asked.get("account_id"), str):
        raise Refused(400, "`account_id` must be a string in a JSON object")
    account = accounts.get(asked["account_id"])
    if account is None:
        raise Refused(404, "no such account")
    return account


def decoded(request: Request) -> dict[str, str]:
    """Robyn hands parameters out as they came, percent-encoded."""
    return {unquote_plus(name): unquote_plus(value) for name, value in request.query_params.items()}


def integer(query: dict[str, str], name: str, least: int = 1) -> int:
    try:
        value = int(query[name])
    except (KeyError, ValueError):
        raise Refused(400, f"`{name}` must be an integer") from None
    if not least <= value <= INT4_MAX:
        raise Refused(400, f"`{name}` is out of range")
    return value


def unknown() -> Response:
    raise Refused(404, "no such route")


def unknown_head() -> Response:
    """Empty by itself: actix-http forgets the method of a request once it reads the next."""
    return Response(404, Headers({}), "")


# Robyn's own 404 is plain text. Each method has a table of its own, so that these answer known paths, too.
for path in ("/", "/*path"):
    for method in METHODS:
        app.add_route(method, path, unknown)
    app.add_route("HEAD", path, unknown_head)
