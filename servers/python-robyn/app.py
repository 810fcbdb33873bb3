"""The routes of the contract on Robyn."""

import logging
import re
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote_plus

import orjson
from robyn import Headers, Request, Response, Robyn
from robyn.argument_parser import Config
from store import Failed, NotFound, Store, Unavailable

INT4_MAX = 2147483647
BODY_LIMIT_BYTES = 65536
DECIMAL = re.compile("(-?)0*([0-9]{1,10})")
DATABASE_PING = "SELECT json_build_object('ok', true, 'message', 'OK')::text"
DATABASE_TIME = "SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text"
USERS = "SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id"
UPPER, LOWER = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"abcdefghijklmnopqrstuvwxyz"
CAESAR = bytes.maketrans(UPPER + LOWER, UPPER[14:] + UPPER[:14] + LOWER[14:] + LOWER[:14])
BODY_METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS")
JSON = Headers({"content-type": "application/json; charset=utf-8"})
JSON_RETRY = Headers({"content-type": "application/json; charset=utf-8", "retry-after": "1"})
OK = '{"ok":true}'


class Refused(Exception):
    """The request is not one that can be answered; `status` says why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Routes:
    """Coroutines, on the event loop, wait for the database; functions Robyn calls in the thread that read the request."""

    def __init__(self, store: Store, accounts: Mapping[str, object], is_ready: Callable[[], bool]) -> None:
        self._store, self._accounts, self._is_ready = store, accounts, is_ready

    async def ready(self) -> Response:
        if not self._is_ready():
            raise Unavailable("not all workers listen yet")
        await self._store.rows("SELECT 1")
        return Response(204, {}, "")

    def ping(self) -> Response:
        return Response(200, JSON, '{"ok":true,"message":"OK"}')

    def time(self) -> Response:
        return Response(200, JSON, f'{{"serverTime":{int(time.time())}}}')

    async def database_ping(self) -> Response:
        return Response(200, JSON, await self._store.text(DATABASE_PING))

    async def database_time(self) -> Response:
        return Response(200, JSON, await self._store.text(DATABASE_TIME))

    async def users(self) -> Response:
        return Response(200, JSON, orjson.dumps([describe_user(*row) for row in await self._store.rows(USERS)]))

    async def tx(self, request: Request) -> Response:
        query = parse_query(request)
        aid, tid, bid = (parse_integer(query, name, 1) for name in ("aid", "tid", "bid"))
        await self._store.tx(aid, tid, bid, parse_integer(query, "delta", -INT4_MAX - 1))
        return Response(200, JSON, OK)

    async def transfer(self, request: Request) -> Response:
        query = parse_query(request)
        source, to, amount = (parse_integer(query, name, 1) for name in ("from", "to", "amount"))
        if source == to:
            raise Refused(400, "`from` and `to` must differ")
        await self._store.transfer(source, to, amount)
        return Response(200, JSON, OK)

    def lookup(self, request: Request) -> Response:
        account = self._accounts.get(parse_account_id(request))
        if account is None:
            raise NotFound("no such account")
        return Response(200, JSON, orjson.dumps(account))

    def unknown(self) -> Response:
        raise NotFound("no such route")

    def unknown_head(self) -> Response:
        """Empty by itself: actix-http forgets the method of a request once it reads the next."""
        return Response(404, {}, "")


def create_app(routes: Routes) -> Robyn:
    config = Config()
    config.log_level, config.disable_openapi = "ERROR", True
    # Actix reports requests that are no HTTP as errors of the server.
    logging.getLogger("actix_http").setLevel(logging.CRITICAL)
    app = Robyn(__file__, config=config)
    app.exception(answer_error)
    app.get("/ready")(routes.ready)
    app.get("/ping")(routes.ping)
    app.get("/time")(routes.time)
    app.get("/db/ping")(routes.database_ping)
    app.get("/db/time")(routes.database_time)
    app.get("/users")(routes.users)
    app.post("/tx")(routes.tx)
    app.post("/transfer")(routes.transfer)
    app.post("/lookup")(routes.lookup)
    # Robyn's own 404 is plain text. Each method has a table of its own, so that these answer known paths too.
    for path in ("/", "/*path"):
        for method in BODY_METHODS:
            app.add_route(method, path, routes.unknown)
        app.add_route("HEAD", path, routes.unknown_head)
    return app


def answer_error(error: Exception) -> Response:
    """What Robyn answers for whatever a handler raises."""
    body = orjson.dumps({"ok": False, "message": str(error)})
    match error:
        case Refused():
            return Response(error.status, JSON, body)
        case NotFound():
            return Response(404, JSON, body)
        case Unavailable():
            return Response(503, JSON_RETRY, body)
        case Failed():
            return Response(500, JSON, body)
    traceback.print_exception(error, file=sys.stderr)
    return Response(500, JSON, '{"ok":false,"message":"the server failed"}')


def describe_user(id: int, username: str, name: str, sex: str, address: str, mail: str, birthdate: Any) -> dict[str, object]:
    """One object of `/users`; orjson alone would leave out the milliseconds."""
    born = birthdate.isoformat(timespec="milliseconds")[: -len("+00:00")] + "Z"
    # As UTF-8, because `str.translate` is eight times slower.
    caesar = address.encode().translate(CAESAR).decode()
    return {"id": id, "username": username, "name": name, "sex": sex, "address": caesar, "mail": mail, "birthdate": born}


def parse_query(request: Request) -> dict[str, str]:
    """Robyn hands the parameters out as they came, percent-encoded."""
    return {unquote_plus(name): unquote_plus(value) for name, value in request.query_params.items()}


def parse_integer(query: Mapping[str, str], name: str, least: int) -> int:
    """`int` alone would also take `1_000`, ` 5`, `+5` and the digits of other scripts."""
    match = DECIMAL.fullmatch(query.get(name, ""))
    if match is None or not least <= (value := int(match[1] + match[2])) <= INT4_MAX:
        raise Refused(400, f"`{name}` must be a decimal integer in range")
    return value


def parse_account_id(request: Request) -> str:
    body = request.body.encode() if isinstance(request.body, str) else request.body
    if len(body) > BODY_LIMIT_BYTES:
        raise Refused(413, "the body is too long")
    # Robyn takes a body that broke off for a whole one.
    length = request.headers.get("content-length")
    if length is not None and int(length) != len(body):
        raise Refused(400, "the body broke off")
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise Refused(400, "the body is not JSON") from None
    account_id = value.get("account_id") if isinstance(value, dict) else None
    if not isinstance(account_id, str):
        raise Refused(400, "`account_id` must be a string in a JSON object")
    return account_id
