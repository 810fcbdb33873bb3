"""The routes of the contract."""

import re
import time
from typing import Any

import orjson
import psycopg
from flask import Flask, Response, abort, request
from gunicorn.http.errors import ParseException
from store import DatabaseFailed, NotFound, Store, Unavailable
from werkzeug.exceptions import HTTPException

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

app = Flask(__name__, static_folder=None)
app.config["MAX_CONTENT_LENGTH"] = BODY_LIMIT_BYTES
accounts: dict[str, dict[str, object]] = {}


def load_accounts(database_url: str) -> None:
    """Map each account id to its row. Before the database answers there is nothing to serve: this retries until it does."""
    while True:
        try:
            with psycopg.connect(database_url) as connection:
                rows = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM accounts", prepare=False).fetchall()
            break
        except psycopg.OperationalError:
            time.sleep(RETRY_S)
    accounts.update((row[0], dict(zip(COLUMNS, row, strict=True))) for row in rows)


def open_store(database_url: str, pool_size: int, pool_wait_s: float | None, prepared: bool) -> None:
    app.extensions["store"] = Store(database_url, pool_size, pool_wait_s, prepared)


@app.get("/ready")
def ready() -> Response:
    if not app.extensions["is_ready"]():
        raise Unavailable("not all workers listen yet")
    fetch("SELECT 1")
    return Response(status=204)


@app.get("/ping")
def ping() -> Response:
    return answer(b'{"ok":true,"message":"OK"}')


@app.get("/time")
def unix_time() -> Response:
    return answer(b'{"serverTime":%d}' % time.time())


@app.get("/db/ping")
def database_ping() -> Response:
    return answer(fetch(DATABASE_PING)[0][0])


@app.get("/db/time")
def database_time() -> Response:
    return answer(fetch(DATABASE_TIME)[0][0])


@app.get("/users")
def users() -> Response:
    return answer(orjson.dumps([describe_user(*row) for row in fetch(USERS)]))


@app.post("/tx")
def tx() -> Response:
    ids = [parse_integer(name, 1) for name in ("aid", "tid", "bid")]
    delta = parse_integer("delta", -INT4_MAX - 1)
    fetch("SELECT pgbench_tx($1, $2, $3, $4)", *ids, delta)
    return answer(b'{"ok":true}')


@app.post("/transfer")
def transfer() -> Response:
    source, to, amount = (parse_integer(name, 1) for name in ("from", "to", "amount"))
    if source == to:
        abort(400, "`from` and `to` must differ")
    app.extensions["store"].transfer(source, to, amount)
    return answer(b'{"ok":true}')


@app.post("/lookup")
def lookup() -> Response:
    account = accounts.get(parse_account_id(read_body()))
    if account is None:
        raise NotFound("no such account")
    return answer(orjson.dumps(account))


@app.errorhandler(HTTPException)
def answer_http_error(error: HTTPException) -> Response:
    return fail(error.code or 500, error.description or error.name)


@app.errorhandler(NotFound)
def answer_not_found(error: NotFound) -> Response:
    return fail(404, str(error))


@app.errorhandler(Unavailable)
def answer_unavailable(error: Unavailable) -> Response:
    response = fail(503, str(error))
    response.headers["retry-after"] = "1"
    return response


@app.errorhandler(DatabaseFailed)
def answer_failure(error: DatabaseFailed) -> Response:
    return fail(500, "the database failed")


def fetch(sql: str, *values: int) -> Any:
    return app.extensions["store"].fetch(sql, *values)


def answer(body: bytes | str, status: int = 200) -> Response:
    """`body` is JSON already."""
    return Response(body, status, content_type="application/json; charset=utf-8")


def fail(status: int, message: str) -> Response:
    return answer(orjson.dumps({"ok": False, "message": message}), status)


def describe_user(id: int, username: str, name: str, sex: str, address: str, mail: str, birthdate: Any) -> dict[str, object]:
    """One object of `/users`; orjson alone would leave out the milliseconds."""
    born = birthdate.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    # As UTF-8, because `str.translate` is eight times slower.
    caesar = address.encode().translate(CAESAR).decode()
    return {"id": id, "username": username, "name": name, "sex": sex, "address": caesar, "mail": mail, "birthdate": born}


def parse_integer(name: str, least: int) -> int:
    """`int` alone would also take `1_000`, ` 5`, `+5` and the digits of other scripts."""
    match = DECIMAL.fullmatch(request.args.get(name, ""))
    if match is None or not least <= (value := int(match[1] + match[2])) <= INT4_MAX:
        abort(400, f"`{name}` must be a decimal integer in range")
    return value


def read_body() -> bytes:
    """The whole body; gunicorn raises for one that is not chunked well, and returns less when the client hangs up."""
    try:
        body = request.get_data(cache=False)
    except (OSError, ParseException):
        abort(400, "the body cannot be read")
    if len(body) < (request.content_length or 0):
        abort(400, "the client hung up")
    return body


def parse_account_id(body: bytes) -> str:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        abort(400, "the body is not JSON")
    account_id = value.get("account_id") if isinstance(value, dict) else None
    if not isinstance(account_id, str):
        abort(400, "`account_id` must be a string in a JSON object")
    return account_id
