"""The routes of the contract, as PEP 3333 and psycopg's documentation write them."""

import json
import os
import time
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs

import psycopg
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool, PoolTimeout

INT4_MAX = 2147483647
A_DAY_S = 86400.0
RETRY_S = 0.1
WAIT_MS = os.environ.get("POOL_WAIT_MS")
WAIT_S = max(int(WAIT_MS), 1) / 1000 if WAIT_MS else A_DAY_S
USERS = "SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id"
UPPER, LOWER = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"abcdefghijklmnopqrstuvwxyz"
CAESAR = bytes.maketrans(UPPER + LOWER, UPPER[14:] + UPPER[:14] + LOWER[14:] + LOWER[:14])
STATUS = {200: "200 OK", 204: "204 No Content", 400: "400 Bad Request", 404: "404 Not Found"}
STATUS |= {500: "500 Internal Server Error", 503: "503 Service Unavailable"}

Environ = dict[str, Any]


class Refused(Exception):
    """The request is not one that can be answered; `status` says why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def dumps(value: Any) -> bytes:
    """Without spaces, since the contract says the very text of some answers."""
    return json.dumps(value, separators=(",", ":")).encode()


class App:
    """What gunicorn calls for each request."""

    pool_least = 4
    """Connections that are opened at the start; psycopg's default."""

    def __init__(self) -> None:
        size = int(os.environ["POOL_SHARE"])
        self.pool: ConnectionPool[Any] = ConnectionPool(
            os.environ["DATABASE_URL"],
            kwargs={} if os.environ.get("PREPARED") != "off" else {"prepare_threshold": None},
            min_size=min(self.pool_least, size),
            max_size=size,
            open=True,
        )
        self.accounts = self.load_accounts()

    def load_accounts(self) -> dict[str, dict[str, Any]]:
        """A worker that starts while the database is away waits for it: gunicorn would end all workers."""
        while True:
            try:
                return {row["account_id"]: row for row in self.rows("SELECT * FROM accounts")}
            except psycopg.Error:
                time.sleep(RETRY_S)

    def __call__(self, environ: Environ, start_response: Callable[..., object]) -> Iterable[bytes]:
        status, body, headers = self.answer(environ)
        if body is not None:
            headers = [("content-type", "application/json"), ("content-length", str(len(body))), *headers]
        start_response(STATUS[status], headers)
        return [] if body is None or environ["REQUEST_METHOD"] == "HEAD" else [body]

    def answer(self, environ: Environ) -> tuple[int, bytes | None, list[tuple[str, str]]]:
        try:
            body = self.route(environ)
            return (204 if body is None else 200), body, []
        except Refused as error:
            return error.status, dumps({"ok": False, "message": str(error)}), []
        except PoolTimeout:
            return 503, dumps({"ok": False, "message": "no connection in time"}), [("retry-after", "1")]
        except psycopg.Error:
            return 500, dumps({"ok": False, "message": "the database failed"}), []

    def route(self, environ: Environ) -> bytes | None:
        match environ["REQUEST_METHOD"], environ["PATH_INFO"]:
            case "GET", "/ping":
                return dumps({"ok": True, "message": "OK"})
            case "GET", "/time":
                return dumps({"serverTime": int(time.time())})
            case "GET", "/db/ping":
                return self.text("SELECT json_build_object('ok', true, 'message', 'OK')::text")
            case "GET", "/db/time":
                return self.text("SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text")
            case "GET", "/users":
                return self.users()
            case "GET", "/ready":
                self.text("SELECT 'ready'")
                return None
            case "POST", "/tx":
                return self.tx(parse_qs(environ["QUERY_STRING"]))
            case "POST", "/transfer":
                return self.transfer(parse_qs(environ["QUERY_STRING"]))
            case "POST", "/lookup":
                return self.lookup(environ)
        raise Refused(404, "no such route")

    def connect(self) -> Any:
        return self.pool.connection(timeout=WAIT_S)

    def text(self, sql: str) -> bytes:
        """What a statement returns is JSON already."""
        with self.connect() as connection:
            return connection.execute(sql).fetchone()[0].encode()  # type: ignore[no-any-return]

    def rows(self, sql: str) -> list[dict[str, Any]]:
        with self.connect() as connection, connection.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(sql).fetchall()  # type: ignore[no-any-return]

    def users(self) -> bytes:
        return dumps([described(row) for row in self.rows(USERS)])

    def tx(self, query: dict[str, list[str]]) -> bytes:
        values = *(integer(query, name) for name in ("aid", "tid", "bid")), integer(query, "delta", -INT4_MAX - 1)
        with self.connect() as connection:
            connection.execute("SELECT pgbench_tx(%s, %s, %s, %s)", values)
        return dumps({"ok": True})

    def transfer(self, query: dict[str, list[str]]) -> bytes:
        sender, to, amount = (integer(query, name) for name in ("from", "to", "amount"))
        if sender == to:
            raise Refused(400, "`from` and `to` must differ")
        # The block is a transaction, and an exception in it rolls back.
        with self.connect() as connection:
            for sql, account in (
                ("UPDATE web_users SET credits = credits - %s WHERE id = %s", sender),
                ("UPDATE web_users SET credits = credits + %s WHERE id = %s", to),
            ):
                if connection.execute(sql, (amount, account)).rowcount == 0:
                    raise Refused(404, "no such account")
        return dumps({"ok": True})

    def lookup(self, environ: Environ) -> bytes:
        body = environ["wsgi.input"].read()
        if len(body) < int(environ.get("CONTENT_LENGTH") or 0):
            raise Refused(400, "the client hung up")
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


def described(user: dict[str, Any]) -> dict[str, Any]:
    born = user["birthdate"].isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {**user, "address": user["address"].encode().translate(CAESAR).decode(), "birthdate": born}


def integer(query: dict[str, list[str]], name: str, least: int = 1) -> int:
    try:
        value = int(query[name][0])
    except (KeyError, ValueError):
        raise Refused(400, f"`{name}` must be an integer") from None
    if not least <= value <= INT4_MAX:
        raise Refused(400, f"`{name}` is out of range")
    return value


def application() -> App:
    """What gunicorn calls in each worker, once: `documented.app:application()`."""
    return App()
