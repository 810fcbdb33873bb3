"""The healthy server: it fulfils the whole contract, one method for each thing that an animal may do badly."""

from __future__ import annotations

import asyncio
import json
import os
import re
import string
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime

from animal.http import HttpError, HttpServer, Request, Response, to_json
from animal.pg import Connection, PgConnectionLost, PgError

INT_MAX = 2_147_483_647
ROTATION = 14
USERS = "SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id"
USER_KEYS = ("id", "username", "name", "sex", "address", "mail", "birthdate")
ACCOUNTS = "SELECT account_id, name, email, plan, currency, balance_cents, active, created_at, region, note FROM accounts"
ACCOUNT_KEYS = ("account_id", "name", "email", "plan", "currency", "balance_cents", "active", "created_at", "region", "note")
DB_PING = "SELECT json_build_object('ok', true, 'message', 'OK')::text"
DB_TIME = "SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text"
TX = "SELECT pgbench_tx($1, $2, $3, $4)"
DEBIT = "UPDATE web_users SET credits = credits - $1 WHERE id = $2"
CREDIT = "UPDATE web_users SET credits = credits + $1 WHERE id = $2"
OK = to_json({"ok": True})
OK_MESSAGE = to_json({"ok": True, "message": "OK"})

Handler = Callable[[Request], Awaitable[Response]]


class PoolTimeout(Exception):
    """No connection became free in time."""


class Pool:
    """At most `size` connections, opened when they are needed; `wait_ms` None waits for one without a limit, 0 not at all."""

    def __init__(self, url: str, size: int, wait_ms: int | None, prepared: bool) -> None:
        self.url, self.size, self.wait_ms, self.prepared = url, size, wait_ms, prepared
        self.idle: list[Connection] = []
        self.free = asyncio.Semaphore(size)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Lend a connection; one that died or was left inside a transaction is closed and not lent again."""
        await self._wait_for_turn()
        try:
            connection = await self._take()
            try:
                yield connection
            finally:
                if connection.closed or connection.status != "I" or not connection.waiter.done():
                    connection.close()
                else:
                    self.idle.append(connection)
        finally:
            self.free.release()

    def close(self) -> None:
        """Close what is idle."""
        while self.idle:
            self.idle.pop().close()

    async def _wait_for_turn(self) -> None:
        if self.wait_ms == 0 and self.free.locked():
            raise PoolTimeout
        try:
            async with asyncio.timeout(self.wait_ms / 1000 if self.wait_ms else None):
                await self.free.acquire()
        except TimeoutError as error:
            raise PoolTimeout from error

    async def _take(self) -> Connection:
        while self.idle:
            connection = self.idle.pop()
            if not connection.closed:
                return connection
        return await Connection.open(self.url, self.prepared)


class Healthy(HttpServer):
    """The contract, fulfilled in one process."""

    def __init__(self) -> None:
        super().__init__()
        self.pool_size = int(os.environ["POOL_SIZE"])
        self.pool = self.make_pool(self.pool_size)
        self.accounts: dict[str, dict[str, object]] = {}
        self.cipher = make_cipher(ROTATION)
        self.routes: dict[str, tuple[str, Handler]] = {
            "/ready": ("GET", self.ready),
            "/ping": ("GET", self.ping),
            "/time": ("GET", self.time),
            "/db/ping": ("GET", self.db_ping),
            "/db/time": ("GET", self.db_time),
            "/users": ("GET", self.users),
            "/tx": ("POST", self.tx),
            "/transfer": ("POST", self.transfer),
            "/lookup": ("POST", self.lookup),
        }

    @classmethod
    def run(cls) -> None:
        """Serve as the environment says, until SIGTERM."""
        asyncio.run(cls._run())

    @classmethod
    async def _run(cls) -> None:
        server = cls()
        await server.start()
        await server.serve(os.environ["HOST"], int(os.environ["PORT"]))
        server.pool.close()

    async def start(self) -> None:
        """Before the server listens: load the accounts, as soon as the database answers."""
        while not self.accounts:
            try:
                async with self.pool.connection() as connection:
                    answer = await connection.query(ACCOUNTS)
                self.accounts = {str(row[0]): _account(row) for row in answer.rows}
            except (PgError, PgConnectionLost):
                await asyncio.sleep(0.1)

    def make_pool(self, size: int) -> Pool:
        """The pool that the environment asks for."""
        wait = os.environ.get("POOL_WAIT_MS", "")
        return Pool(os.environ["DATABASE_URL"], size, int(wait) if wait else None, os.environ.get("PREPARED", "on") == "on")

    async def respond(self, request: Request) -> Response:
        """Find the route and answer; what goes wrong beneath becomes an error's answer."""
        method, handler = self.route(request)
        if handler is None:
            raise HttpError(404, "no such path")
        if request.method != method and (request.method, method) != ("HEAD", "GET"):
            raise HttpError(405, "no such method here", ("allow", method))
        try:
            return await handler(request)
        except PoolTimeout as error:
            raise HttpError(503, "no database connection in time", ("retry-after", "1")) from error
        except PgConnectionLost as error:
            raise HttpError(503, "the database is away", ("retry-after", "1")) from error
        except PgError as error:
            return self.database_failed(error)

    def route(self, request: Request) -> tuple[str, Handler | None]:
        """The method and the handler of a path; no handler where there is no such path."""
        return self.routes.get(request.path, ("", None))

    def database_failed(self, error: PgError) -> Response:
        """The answer to a statement that the database refused."""
        raise HttpError(500, f"the database failed with {error.code}")

    async def ready(self, request: Request) -> Response:
        """GET /ready."""
        try:
            await self.fetch_text("SELECT 1")
        except (PgError, PgConnectionLost) as error:
            raise HttpError(503, "the database does not answer yet", ("retry-after", "1")) from error
        return Response(204)

    async def ping(self, request: Request) -> Response:
        """GET /ping."""
        return Response(200, OK_MESSAGE)

    async def time(self, request: Request) -> Response:
        """GET /time."""
        return Response(200, to_json({"serverTime": int(time.time())}))

    async def db_ping(self, request: Request) -> Response:
        """GET /db/ping."""
        return Response(200, (await self.fetch_text(DB_PING)).encode())

    async def db_time(self, request: Request) -> Response:
        """GET /db/time."""
        return Response(200, (await self.fetch_text(DB_TIME)).encode())

    async def users(self, request: Request) -> Response:
        """GET /users."""
        async with self.pool.connection() as connection:
            answer = await connection.query(USERS)
        return Response(200, to_json([self.user(row) for row in answer.rows]))

    def user(self, row: list[str | None]) -> dict[str, object]:
        """One row of `users` as the contract wants it."""
        values: dict[str, object] = dict(zip(USER_KEYS, row, strict=True))
        born = datetime.fromisoformat(str(values["birthdate"]))
        return values | {
            "id": int(str(values["id"])),
            "address": str(values["address"]).translate(self.cipher),
            "birthdate": born.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }

    async def tx(self, request: Request) -> Response:
        """POST /tx."""
        keys = [whole(request, name, 1) for name in ("aid", "tid", "bid")]
        delta = whole(request, "delta", -INT_MAX - 1)
        async with self.pool.connection() as connection:
            await connection.query(TX, *keys, delta)
        return Response(200, OK)

    async def transfer(self, request: Request) -> Response:
        """POST /transfer."""
        source, target, amount = (whole(request, name, 1) for name in ("from", "to", "amount"))
        if source == target:
            raise HttpError(400, "`from` and `to` are the same")
        await self.move(source, target, amount)
        return Response(200, OK)

    async def move(self, source: int, target: int, amount: int) -> None:
        """Move credits in one transaction."""
        async with self.pool.connection() as connection:
            await connection.simple("BEGIN")
            try:
                for sql, user in ((DEBIT, source), (CREDIT, target)):
                    if (await connection.query(sql, amount, user)).affected == 0:
                        raise HttpError(404, f"no user {user}")
                await self.commit(connection)
            except (PgError, HttpError):
                await connection.simple("ROLLBACK")
                raise

    async def commit(self, connection: Connection) -> None:
        """End a transaction that went well."""
        await connection.simple("COMMIT")

    async def lookup(self, request: Request) -> Response:
        """POST /lookup."""
        try:
            body = json.loads(request.body.decode())
        except (ValueError, RecursionError) as error:
            raise HttpError(400, "the body is not JSON") from error
        key = body.get("account_id") if isinstance(body, dict) else None
        if not isinstance(key, str):
            raise HttpError(400, "the body has no text `account_id`")
        if key not in self.accounts:
            raise HttpError(404, "no such account")
        return Response(200, to_json(self.accounts[key]))

    async def fetch_text(self, sql: str) -> str:
        """The single value that `sql` returns."""
        async with self.pool.connection() as connection:
            return str((await connection.query(sql)).rows[0][0])


def make_cipher(rotation: int) -> dict[int, int]:
    """The Caesar cipher as a table for `str.translate`."""
    lower, upper = string.ascii_lowercase, string.ascii_uppercase
    turned = lower[rotation:] + lower[:rotation] + upper[rotation:] + upper[:rotation]
    return str.maketrans(lower + upper, turned)


def whole(request: Request, name: str, least: int) -> int:
    """The query parameter `name`, an integer of `least`…2147483647; raises `HttpError` 400."""
    digits = re.fullmatch("(-?)0*([0-9]{1,10})", request.parameter(name) or "")
    value = int(digits[1] + digits[2]) if digits else None
    if value is None or not least <= value <= INT_MAX:
        raise HttpError(400, f"`{name}` is not an integer of {least}…{INT_MAX}")
    return value


def _account(row: list[str | None]) -> dict[str, object]:
    values: dict[str, object] = dict(zip(ACCOUNT_KEYS, row, strict=True))
    return values | {"balance_cents": int(str(values["balance_cents"])), "active": values["active"] == "t"}
