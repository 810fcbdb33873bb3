"""The routes of the contract, as one WSGI application."""

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

import orjson
import psycopg
from store import DatabaseFailed, NotFound, Store, Unavailable

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
STATUS_LINES = {int(status): f"{int(status)} {status.phrase}" for status in HTTPStatus}
CONTENT_TYPE = ("content-type", "application/json; charset=utf-8")
RETRY_AFTER = ("retry-after", "1")
OK = b'{"ok":true}'

Environ = Mapping[str, Any]
StartResponse = Callable[[str, list[tuple[str, str]]], object]
Handler = Callable[[Environ], bytes | None]


class Refused(Exception):
    """The request is not one that can be answered; `status` says why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class App:
    """Serves once `load_accounts` and `open_store` are done; `is_ready` says whether all workers listen."""

    is_ready: Callable[[], bool]
    _store: Store

    def __init__(self) -> None:
        self._accounts: dict[str, dict[str, object]] = {}
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

    def load_accounts(self, database_url: str) -> None:
        """Map each account id to its row. Before the database answers there is nothing to serve: this retries until it does."""
        while True:
            try:
                with psycopg.connect(database_url) as connection:
                    rows = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM accounts", prepare=False).fetchall()
                break
            except psycopg.OperationalError:
                time.sleep(RETRY_S)
        self._accounts = {row[0]: dict(zip(COLUMNS, row, strict=True)) for row in rows}

    def open_store(self, database_url: str, pool_size: int, pool_wait_s: float | None, prepared: bool) -> None:
        self._store = Store(database_url, pool_size, pool_wait_s, prepared)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        status, body, headers = self._answer(environ)
        if body is not None:
            headers = [CONTENT_TYPE, ("content-length", str(len(body))), *headers]
        start_response(STATUS_LINES[status], [*headers])
        return [] if body is None or environ["REQUEST_METHOD"] == "HEAD" else [body]

    def _answer(self, environ: Environ) -> tuple[int, bytes | None, Sequence[tuple[str, str]]]:
        try:
            body = self._find_handler(environ)(environ)
            return (204 if body is None else 200), body, ()
        except Refused as error:
            return error.status, describe_error(error), ()
        except NotFound as error:
            return 404, describe_error(error), ()
        except Unavailable as error:
            return 503, describe_error(error), [RETRY_AFTER]
        except DatabaseFailed:
            return 500, describe_error("the database failed"), ()

    def _find_handler(self, environ: Environ) -> Handler:
        route = self._routes.get(environ["PATH_INFO"])
        if route is None:
            raise NotFound("no such route")
        method, handler = route
        if environ["REQUEST_METHOD"] != method:
            raise Refused(405, "no such method here")
        return handler

    def _ready(self, environ: Environ) -> None:
        if not self.is_ready():
            raise Unavailable("not all workers listen yet")
        self._store.fetch("SELECT 1")

    def _ping(self, environ: Environ) -> bytes:
        return b'{"ok":true,"message":"OK"}'

    def _time(self, environ: Environ) -> bytes:
        return b'{"serverTime":%d}' % time.time()

    def _database_ping(self, environ: Environ) -> bytes:
        return self._store.fetch(DATABASE_PING)[0][0].encode()  # type: ignore[no-any-return]

    def _database_time(self, environ: Environ) -> bytes:
        return self._store.fetch(DATABASE_TIME)[0][0].encode()  # type: ignore[no-any-return]

    def _users(self, environ: Environ) -> bytes:
        return orjson.dumps([describe_user(*row) for row in self._store.fetch(USERS)])

    def _tx(self, environ: Environ) -> bytes:
        query = dict(parse_qsl(environ["QUERY_STRING"]))
        ids = [parse_integer(query, name, 1) for name in ("aid", "tid", "bid")]
        delta = parse_integer(query, "delta", -INT4_MAX - 1)
        self._store.fetch("SELECT pgbench_tx($1, $2, $3, $4)", *ids, delta)
        return OK

    def _transfer(self, environ: Environ) -> bytes:
        query = dict(parse_qsl(environ["QUERY_STRING"]))
        source, to, amount = (parse_integer(query, name, 1) for name in ("from", "to", "amount"))
        if source == to:
            raise Refused(400, "`from` and `to` must differ")
        self._store.transfer(source, to, amount)
        return OK

    def _lookup(self, environ: Environ) -> bytes:
        account = self._accounts.get(parse_account_id(read_body(environ)))
        if account is None:
            raise NotFound("no such account")
        return orjson.dumps(account)


def describe_user(id: int, username: str, name: str, sex: str, address: str, mail: str, birthdate: Any) -> dict[str, object]:
    """One object of `/users`; orjson alone would leave out the milliseconds."""
    born = birthdate.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    # As UTF-8, because `str.translate` is eight times slower.
    caesar = address.encode().translate(CAESAR).decode()
    return {"id": id, "username": username, "name": name, "sex": sex, "address": caesar, "mail": mail, "birthdate": born}


def describe_error(message: object) -> bytes:
    return orjson.dumps({"ok": False, "message": str(message)})


def parse_integer(query: Mapping[str, str], name: str, least: int) -> int:
    """`int` alone would also take `1_000`, ` 5`, `+5` and the digits of other scripts."""
    match = DECIMAL.fullmatch(query.get(name, ""))
    if match is None or not least <= (value := int(match[1] + match[2])) <= INT4_MAX:
        raise Refused(400, f"`{name}` must be a decimal integer in range")
    return value


def read_body(environ: Environ) -> bytes:
    """The whole body, or 413 when it is longer than the contract's limit."""
    body: bytes = environ["wsgi.input"].read(BODY_LIMIT_BYTES + 1)
    if len(body) > BODY_LIMIT_BYTES:
        raise Refused(413, "the body is too long")
    if len(body) < int(environ.get("CONTENT_LENGTH") or 0):
        raise Refused(400, "the client hung up")
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


app = App()
