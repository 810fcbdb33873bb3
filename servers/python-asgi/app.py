"""The routes of the contract, as one ASGI application."""

import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

import orjson
from store import DatabaseFailed, NotFound, Store, Unavailable

INT4_MAX = 2147483647
BODY_LIMIT_BYTES = 65536
DECIMAL = re.compile("(-?)0*([0-9]{1,10})")
DATABASE_PING = "SELECT json_build_object('ok', true, 'message', 'OK')::text"
DATABASE_TIME = "SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text"
USERS = "SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id"
UPPER, LOWER = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"abcdefghijklmnopqrstuvwxyz"
CAESAR = bytes.maketrans(UPPER + LOWER, UPPER[14:] + UPPER[:14] + LOWER[14:] + LOWER[:14])
CONTENT_TYPE = (b"content-type", b"application/json; charset=utf-8")
RETRY_AFTER = (b"retry-after", b"1")
OK = b'{"ok":true}'

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Handler = Callable[[Message, Receive], Awaitable[bytes | None]]


class Refused(Exception):
    """The request is not one that can be answered; `status` says why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class App:
    """Over an open store; `is_ready` says whether all workers listen."""

    def __init__(self, store: Store, accounts: Mapping[str, object], is_ready: Callable[[], bool]) -> None:
        self._store, self._accounts, self._is_ready = store, accounts, is_ready
        self._routes: Mapping[str, tuple[str, Handler]] = {
            "/ready": ("GET", self._ready),
            "/ping": ("GET", self._ping),
            "/time": ("GET", self._time),
            "/db/ping": ("GET", self._database_ping),
            "/db/time": ("GET", self._database_time),
            "/users": ("GET", self._users),
            "/tx": ("POST", self._tx),
            "/transfer": ("POST", self._transfer),
            "/lookup": ("POST", self._lookup),
        }

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        try:
            method, handler = self._routes.get(scope["path"]) or self._no_route()
            if scope["method"] != method:
                raise Refused(405, "no such method here")
            body = await handler(scope, receive)
            await answer(send, 200 if body is not None else 204, body)
        except Refused as error:
            await answer_error(send, error.status, error)
        except NotFound as error:
            await answer_error(send, 404, error)
        except Unavailable as error:
            await answer_error(send, 503, error, [RETRY_AFTER])
        except DatabaseFailed:
            await answer_error(send, 500, "the database failed")

    def _no_route(self) -> tuple[str, Handler]:
        raise NotFound("no such route")

    async def _ready(self, scope: Message, receive: Receive) -> None:
        if not self._is_ready():
            raise Unavailable("not all workers listen yet")
        await self._store.fetch("SELECT 1")

    async def _ping(self, scope: Message, receive: Receive) -> bytes:
        return b'{"ok":true,"message":"OK"}'

    async def _time(self, scope: Message, receive: Receive) -> bytes:
        return b'{"serverTime":%d}' % time.time()

    async def _database_ping(self, scope: Message, receive: Receive) -> bytes:
        return (await self._store.fetch(DATABASE_PING))[0][0].encode()  # type: ignore[no-any-return]

    async def _database_time(self, scope: Message, receive: Receive) -> bytes:
        return (await self._store.fetch(DATABASE_TIME))[0][0].encode()  # type: ignore[no-any-return]

    async def _users(self, scope: Message, receive: Receive) -> bytes:
        return orjson.dumps([describe_user(*row) for row in await self._store.fetch(USERS)])

    async def _tx(self, scope: Message, receive: Receive) -> bytes:
        query = parse_query(scope)
        ids = [parse_integer(query, name, 1) for name in ("aid", "tid", "bid")]
        delta = parse_integer(query, "delta", -INT4_MAX - 1)
        await self._store.fetch("SELECT pgbench_tx($1, $2, $3, $4)", *ids, delta)
        return OK

    async def _transfer(self, scope: Message, receive: Receive) -> bytes:
        query = parse_query(scope)
        source, to, amount = (parse_integer(query, name, 1) for name in ("from", "to", "amount"))
        if source == to:
            raise Refused(400, "`from` and `to` must differ")
        await self._store.transfer(source, to, amount)
        return OK

    async def _lookup(self, scope: Message, receive: Receive) -> bytes:
        account = self._accounts.get(parse_account_id(await read_body(receive)))
        if account is None:
            raise NotFound("no such account")
        return orjson.dumps(account)


async def answer(send: Send, status: int, body: bytes | None, more: Sequence[tuple[bytes, bytes]] = ()) -> None:
    """`body` is JSON; None sends none."""
    headers = [] if body is None else [CONTENT_TYPE, (b"content-length", b"%d" % len(body)), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body or b""})


async def answer_error(send: Send, status: int, error: object, more: Sequence[tuple[bytes, bytes]] = ()) -> None:
    await answer(send, status, orjson.dumps({"ok": False, "message": str(error)}), more)


def describe_user(id: int, username: str, name: str, sex: str, address: str, mail: str, birthdate: Any) -> dict[str, object]:
    """One object of `/users`; orjson alone would leave out the milliseconds."""
    born = birthdate.isoformat(timespec="milliseconds")[: -len("+00:00")] + "Z"
    # As UTF-8, because `str.translate` is eight times slower.
    caesar = address.encode().translate(CAESAR).decode()
    return {"id": id, "username": username, "name": name, "sex": sex, "address": caesar, "mail": mail, "birthdate": born}


def parse_query(scope: Message) -> dict[str, str]:
    return dict(parse_qsl(scope["query_string"].decode("latin-1")))


def parse_integer(query: Mapping[str, str], name: str, least: int) -> int:
    """`int` alone would also take `1_000`, ` 5`, `+5` and the digits of other scripts."""
    match = DECIMAL.fullmatch(query.get(name, ""))
    if match is None or not least <= (value := int(match[1] + match[2])) <= INT4_MAX:
        raise Refused(400, f"`{name}` must be a decimal integer in range")
    return value


async def read_body(receive: Receive) -> bytes:
    """The whole body, or 413 as soon as it is longer than the contract's limit."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(400, "the client hung up")
        body += message.get("body", b"")
        if len(body) > BODY_LIMIT_BYTES:
            raise Refused(413, "the body is too long")
        more = message.get("more_body", False)
    return body


def parse_account_id(body: bytes) -> str:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise Refused(400, "the body is not JSON") from None
    account_id = value.get("account_id") if isinstance(value, dict) else None
    if not isinstance(account_id, str):
        raise Refused(400, "`account_id` must be a string in a JSON object")
    return account_id
