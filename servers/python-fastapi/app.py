"""The routes of the contract."""

import re
import time
from collections.abc import Callable, Mapping
from typing import Any

import orjson
from fastapi import FastAPI, HTTPException, Request, Response
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.requests import ClientDisconnect
from store import DatabaseFailed, NotFound, Store, Unavailable

INT4_MAX = 2147483647
BODY_LIMIT_BYTES = 65536
DECIMAL = re.compile("(-?)0*([0-9]{1,10})")
USERS = "SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id"
UPPER, LOWER = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"abcdefghijklmnopqrstuvwxyz"
CAESAR = bytes.maketrans(UPPER + LOWER, UPPER[14:] + UPPER[:14] + LOWER[14:] + LOWER[:14])


class JSON(Response):
    """An answer whose content is JSON already."""

    media_type = "application/json; charset=utf-8"


def create_app(store: Store, accounts: Mapping[str, object], is_ready: Callable[[], bool]) -> FastAPI:
    """The application over an open store; `is_ready` says whether all workers listen."""
    app = FastAPI(openapi_url=None, redirect_slashes=False, telemetry={"tracing": False, "metrics": False, "logs": False})
    for kind in (StarletteHTTPException, Unavailable, DatabaseFailed, NotFound):
        app.add_exception_handler(kind, answer_error)
    add_plain_routes(app, accounts)
    add_database_routes(app, store, is_ready)
    return app


def add_plain_routes(app: FastAPI, accounts: Mapping[str, object]) -> None:
    @app.get("/ping")
    async def ping() -> Response:
        return JSON(b'{"ok":true,"message":"OK"}')

    @app.get("/time")
    async def unix_time() -> Response:
        return JSON(b'{"serverTime":%d}' % time.time())

    @app.post("/lookup")
    async def lookup(request: Request) -> Response:
        account = accounts.get(parse_account_id(await read_body(request)))
        if account is None:
            raise NotFound("no such account")
        return JSON(orjson.dumps(account))


def add_database_routes(app: FastAPI, store: Store, is_ready: Callable[[], bool]) -> None:
    @app.get("/ready")
    async def ready() -> Response:
        if not is_ready():
            raise Unavailable("not all workers listen yet")
        await store.fetch("SELECT 1")
        return Response(status_code=204)

    @app.get("/db/ping")
    async def database_ping() -> Response:
        return JSON((await store.fetch("SELECT json_build_object('ok', true, 'message', 'OK')::text"))[0][0])

    @app.get("/db/time")
    async def database_time() -> Response:
        sql = "SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text"
        return JSON((await store.fetch(sql))[0][0])

    @app.get("/users")
    async def users() -> Response:
        return JSON(orjson.dumps([describe_user(*row) for row in await store.fetch(USERS)]))

    @app.post("/tx")
    async def tx(request: Request) -> Response:
        ids, delta = parse_ids(request, "aid", "tid", "bid"), parse_integer(request, "delta", -INT4_MAX - 1)
        await store.fetch("SELECT pgbench_tx($1, $2, $3, $4)", *ids, delta)
        return JSON(b'{"ok":true}')

    @app.post("/transfer")
    async def transfer(request: Request) -> Response:
        source, to, amount = parse_ids(request, "from", "to", "amount")
        if source == to:
            raise HTTPException(400, "`from` and `to` must differ")
        await store.transfer(source, to, amount)
        return JSON(b'{"ok":true}')


def describe_user(id: int, username: str, name: str, sex: str, address: str, mail: str, birthdate: Any) -> dict[str, object]:
    """One object of `/users`; orjson alone would leave out the milliseconds."""
    born = birthdate.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    caesar = address.encode().translate(CAESAR).decode()  # bytes have a table of 256, text a dictionary
    return {"id": id, "username": username, "name": name, "sex": sex, "address": caesar, "mail": mail, "birthdate": born}


def parse_ids(request: Request, *names: str) -> list[int]:
    return [parse_integer(request, name, 1) for name in names]


def parse_integer(request: Request, name: str, least: int) -> int:
    """`int` alone would also take `1_000`, ` 5`, `+5` and the digits of other scripts."""
    match = DECIMAL.fullmatch(request.query_params.get(name, ""))
    if match is None or not least <= (value := int(match[1] + match[2])) <= INT4_MAX:
        raise HTTPException(400, f"`{name}` must be a decimal integer in range")
    return value


async def read_body(request: Request) -> bytes:
    """The whole body, or 413 as soon as it is longer than the contract's limit."""
    body = b""
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > BODY_LIMIT_BYTES:
                raise HTTPException(413, "the body is too long")
    except ClientDisconnect:
        raise HTTPException(400, "the client hung up") from None
    return body


def parse_account_id(body: bytes) -> str:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise HTTPException(400, "the body is not JSON") from None
    account_id = value.get("account_id") if isinstance(value, dict) else None
    if not isinstance(account_id, str):
        raise HTTPException(400, "`account_id` must be a string in a JSON object")
    return account_id


async def answer_error(request: Request, error: Exception) -> Response:
    status, message, headers = 500, "the database failed", None
    if isinstance(error, StarletteHTTPException):
        status, message, headers = error.status_code, error.detail, error.headers
    elif isinstance(error, Unavailable):
        status, message, headers = 503, str(error), {"retry-after": "1"}
    elif isinstance(error, NotFound):
        status, message = 404, str(error)
    return JSON(orjson.dumps({"ok": False, "message": message}), status, headers)
