"""The routes of the contract, as Flask's and psycopg's documentation write them."""

import os
import time
from datetime import UTC
from typing import Any

import psycopg
from flask import Flask, Response, abort, request
from flask.json.provider import DefaultJSONProvider
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool, PoolTimeout
from werkzeug.exceptions import HTTPException

INT4_MAX = 2147483647
A_DAY_S = 86400.0
RETRY_S = 0.1
WAIT_MS = os.environ.get("POOL_WAIT_MS")
WAIT_S = max(int(WAIT_MS), 1) / 1000 if WAIT_MS else A_DAY_S
UPPER, LOWER = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"abcdefghijklmnopqrstuvwxyz"
CAESAR = bytes.maketrans(UPPER + LOWER, UPPER[14:] + UPPER[:14] + LOWER[14:] + LOWER[:14])


class Provider(DefaultJSONProvider):
    """As Flask's own, with keys in the order of their dictionary, and no newline at the end, as the contract demands."""

    sort_keys = False

    def response(self, *args: Any, **kwargs: Any) -> Response:
        return Response(self.dumps(args[0] if args else kwargs, separators=(",", ":")), mimetype=self.mimetype)


class App(Flask):
    json_provider_class = Provider


app = App(__name__)
SIZE = int(os.environ["POOL_SHARE"])
pool: ConnectionPool[Any] = ConnectionPool(
    os.environ["DATABASE_URL"],
    kwargs={} if os.environ.get("PREPARED") != "off" else {"prepare_threshold": None},
    min_size=min(4, SIZE),
    max_size=SIZE,
    open=True,
)


def load_accounts() -> dict[str, dict[str, Any]]:
    """A worker that starts while the database is away waits for it: gunicorn would end all workers."""
    while True:
        try:
            with pool.connection() as connection, connection.cursor(row_factory=dict_row) as cursor:
                return {row["account_id"]: row for row in cursor.execute("SELECT * FROM accounts")}
        except psycopg.Error:
            time.sleep(RETRY_S)


accounts = load_accounts()


def connect() -> Any:
    return pool.connection(timeout=WAIT_S)


@app.get("/ready")
def ready() -> tuple[str, int]:
    with connect() as connection:
        connection.execute("SELECT 1")
    return "", 204


@app.get("/ping")
def ping() -> dict[str, Any]:
    return {"ok": True, "message": "OK"}


@app.get("/time")
def server_time() -> dict[str, Any]:
    return {"serverTime": int(time.time())}


@app.get("/db/ping")
def database_ping() -> Response:
    return text("SELECT json_build_object('ok', true, 'message', 'OK')::text")


@app.get("/db/time")
def database_time() -> Response:
    return text("SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text")


def text(sql: str) -> Response:
    """What a statement returns is JSON already."""
    with connect() as connection:
        row = connection.execute(sql).fetchone()
    return Response(row[0], mimetype="application/json")


@app.get("/users")
def users() -> list[dict[str, Any]]:
    with connect() as connection, connection.cursor(row_factory=dict_row) as cursor:
        cursor.execute("SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id")
        return [described(row) for row in cursor]


def described(user: dict[str, Any]) -> dict[str, Any]:
    born = user["birthdate"].astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {**user, "address": user["address"].encode().translate(CAESAR).decode(), "birthdate": born}


@app.post("/tx")
def tx() -> dict[str, Any]:
    values = integer("aid"), integer("tid"), integer("bid"), integer("delta", -INT4_MAX - 1)
    with connect() as connection:
        connection.execute("SELECT pgbench_tx(%s, %s, %s, %s)", values)
    return {"ok": True}


@app.post("/transfer")
def transfer() -> dict[str, Any]:
    sender, to, amount = integer("from"), integer("to"), integer("amount")
    if sender == to:
        abort(400, "`from` and `to` must differ")
    # The block is a transaction, and an exception in it rolls back.
    with connect() as connection:
        for sql, account in (
            ("UPDATE web_users SET credits = credits - %s WHERE id = %s", sender),
            ("UPDATE web_users SET credits = credits + %s WHERE id = %s", to),
        ):
            if connection.execute(sql, (amount, account)).rowcount == 0:
                abort(404, "no such account")
    return {"ok": True}


@app.post("/lookup")
def lookup() -> dict[str, Any]:
    asked = request.get_json()
    if not isinstance(asked, dict) or not isinstance(asked.get("account_id"), str):
        abort(400, "`account_id` must be a string in a JSON object")
    account = accounts.get(asked["account_id"])
    if account is None:
        abort(404, "no such account")
    return account


def integer(name: str, least: int = 1) -> int:
    value = request.args.get(name, type=int)
    if value is None or not least <= value <= INT4_MAX:
        abort(400, f"`{name}` must be an integer in range")
    return value


@app.errorhandler(HTTPException)
def refused(error: HTTPException) -> tuple[dict[str, Any], int]:
    return {"ok": False, "message": error.description or error.name}, error.code or 500


@app.errorhandler(PoolTimeout)
def busy(error: PoolTimeout) -> tuple[dict[str, Any], int, dict[str, str]]:
    return {"ok": False, "message": "no connection in time"}, 503, {"retry-after": "1"}


@app.errorhandler(psycopg.Error)
def failed(error: psycopg.Error) -> tuple[dict[str, Any], int]:
    return {"ok": False, "message": "the database failed"}, 500
