"""The routes of the contract."""

import asyncio
import os
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from aiohttp import web
from multidict import CIMultiDict
from store import DatabaseFailed, NotFound, Store, Unavailable, open_store

INT4_MAX = 2147483647
BODY_LIMIT_BYTES = 65536
RETRY_S = 0.2
DECIMAL = re.compile("(-?)0*([0-9]{1,10})")
COLUMNS = ("account_id", "name", "email", "plan", "currency", "balance_cents", "active", "created_at", "region", "note")
DATABASE_PING = "SELECT json_build_object('ok', true, 'message', 'OK')::text"
DATABASE_TIME = "SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text"
USERS = "SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id"
UPPER, LOWER = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"abcdefghijklmnopqrstuvwxyz"
CAESAR = bytes.maketrans(UPPER + LOWER, UPPER[14:] + UPPER[:14] + LOWER[14:] + LOWER[:14])
STORE = web.AppKey("STORE", Store)
ACCOUNTS: dict[str, dict[str, object]] = {}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
routes = web.RouteTableDef()


async def create_app() -> web.Application:
    """The application of one worker, with its own pool."""
    app = web.Application(middlewares=[answer_errors], client_max_size=BODY_LIMIT_BYTES)
    app.add_routes(routes)
    app[STORE] = await open_store_of_worker()
    return app


@web.middleware
async def answer_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPException as error:
        return fail(error.status, error.reason)
    except NotFound as error:
        return fail(404, str(error))
    except Unavailable as error:
        response = fail(503, str(error))
        response.headers["retry-after"] = "1"
        return response
    except DatabaseFailed:
        return fail(500, "the database failed")


@routes.get("/ready")
async def ready(request: web.Request) -> web.Response:
    if not is_ready():
        raise Unavailable("not all workers listen yet")
    await request.app[STORE].fetch("SELECT 1")
    return web.Response(status=204)


@routes.get("/ping")
async def ping(request: web.Request) -> web.Response:
    return answer(b'{"ok":true,"message":"OK"}')


@routes.get("/time")
async def unix_time(request: web.Request) -> web.Response:
    return answer(b'{"serverTime":%d}' % time.time())


@routes.get("/db/ping")
async def database_ping(request: web.Request) -> web.Response:
    return answer((await request.app[STORE].fetch(DATABASE_PING))[0][0].encode())


@routes.get("/db/time")
async def database_time(request: web.Request) -> web.Response:
    return answer((await request.app[STORE].fetch(DATABASE_TIME))[0][0].encode())


@routes.get("/users")
async def users(request: web.Request) -> web.Response:
    return answer(orjson.dumps([describe_user(*row) for row in await request.app[STORE].fetch(USERS)]))


@routes.post("/tx")
async def tx(request: web.Request) -> web.Response:
    ids = [parse_integer(request, name, 1) for name in ("aid", "tid", "bid")]
    delta = parse_integer(request, "delta", -INT4_MAX - 1)
    await request.app[STORE].fetch("SELECT pgbench_tx($1, $2, $3, $4)", *ids, delta)
    return answer(b'{"ok":true}')


@routes.post("/transfer")
async def transfer(request: web.Request) -> web.Response:
    source, to, amount = (parse_integer(request, name, 1) for name in ("from", "to", "amount"))
    if source == to:
        raise web.HTTPBadRequest(reason="`from` and `to` must differ")
    await request.app[STORE].transfer(source, to, amount)
    return answer(b'{"ok":true}')


@routes.post("/lookup")
async def lookup(request: web.Request) -> web.Response:
    account = ACCOUNTS.get(parse_account_id(await request.read()))
    if account is None:
        raise NotFound("no such account")
    return answer(orjson.dumps(account))


def is_ready() -> bool:
    """Whether all workers listen; gunicorn.conf.py puts its own here."""
    return False


def answer(body: bytes, status: int = 200) -> web.Response:
    """`body` is JSON already."""
    return web.Response(body=body, status=status, headers=CIMultiDict({"content-type": "application/json; charset=utf-8"}))


def fail(status: int, message: str) -> web.Response:
    return answer(orjson.dumps({"ok": False, "message": message}), status)


def describe_user(id: int, username: str, name: str, sex: str, address: str, mail: str, birthdate: Any) -> dict[str, object]:
    """One object of `/users`; orjson alone would leave out the milliseconds."""
    born = birthdate.isoformat(timespec="milliseconds")[: -len("+00:00")] + "Z"
    # As UTF-8, because `str.translate` is eight times slower.
    caesar = address.encode().translate(CAESAR).decode()
    return {"id": id, "username": username, "name": name, "sex": sex, "address": caesar, "mail": mail, "birthdate": born}


def parse_integer(request: web.Request, name: str, least: int) -> int:
    """`int` alone would also take `1_000`, ` 5`, `+5` and the digits of other scripts."""
    match = DECIMAL.fullmatch(request.query.get(name, ""))
    if match is None or not least <= (value := int(match[1] + match[2])) <= INT4_MAX:
        raise web.HTTPBadRequest(reason=f"`{name}` must be a decimal integer in range")
    return value


def parse_account_id(body: bytes) -> str:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise web.HTTPBadRequest(reason="the body is not JSON") from None
    account_id = value.get("account_id") if isinstance(value, dict) else None
    if not isinstance(account_id, str):
        raise web.HTTPBadRequest(reason="`account_id` must be a string in a JSON object")
    return account_id


def load_accounts() -> None:
    """Fill the map of accounts. Before the database answers there is nothing to serve, so this retries until it does."""
    ACCOUNTS.update(asyncio.run(fetch_accounts()))


async def fetch_accounts() -> dict[str, dict[str, object]]:
    store = await open_store(os.environ["DATABASE_URL"], pool_size=1, pool_wait_s=None, prepared=False)
    while True:
        try:
            rows = await store.fetch(f"SELECT {', '.join(COLUMNS)} FROM accounts")
            await store.close()
            return {row[0]: dict(zip(COLUMNS, row, strict=True)) for row in rows}
        except Unavailable:
            await asyncio.sleep(RETRY_S)


async def open_store_of_worker() -> Store:
    wait_ms, prepared = os.environ.get("POOL_WAIT_MS"), os.environ.get("PREPARED") != "off"
    pool_size = int(os.environ["POOL_SIZE"])
    return await open_store(os.environ["DATABASE_URL"], pool_size, int(wait_ms) / 1000 if wait_ms else None, prepared)
