"""The routes of the contract, with psycopg 3 and its pool."""

import asyncio
import math
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import psycopg
from errors import add_handlers
from fastapi import Depends, FastAPI, HTTPException, Request, Response
from models import Account, AccountId, Delta, Done, Id, Message, Sender, ServerTime, User
from psycopg.rows import class_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

RETRY_S = 0.1
WAIT_MS = os.environ.get("POOL_WAIT_MS")
WAIT_S = max(int(WAIT_MS), 1) / 1000 if WAIT_MS else math.inf


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    size = int(os.environ["POOL_SHARE"])
    options: dict[str, Any] = {} if os.environ.get("PREPARED") != "off" else {"prepare_threshold": None}
    pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
        os.environ["DATABASE_URL"], kwargs=options, min_size=min(4, size), max_size=size, open=False
    )
    async with pool:
        app.state.pool, app.state.accounts = pool, await accounts(pool)
        yield


async def accounts(pool: AsyncConnectionPool[Any]) -> dict[str, Account]:
    """All of them. A worker that starts while the database is away waits for it: uvicorn would end all workers."""
    while True:
        try:
            async with pool.connection() as connection, connection.cursor(row_factory=class_row(Account)) as cursor:
                await cursor.execute("SELECT * FROM accounts")
                return {one.account_id: one async for one in cursor}
        except (psycopg.Error, PoolTimeout):
            await asyncio.sleep(RETRY_S)


async def connect(request: Request) -> AsyncIterator[Any]:
    async with request.app.state.pool.connection(timeout=WAIT_S) as connection:
        yield connection


Connection = Annotated[Any, Depends(connect, scope="function")]
app = FastAPI(lifespan=lifespan)
add_handlers(app, PoolTimeout, (psycopg.Error,))


@app.get("/ready", status_code=204)
async def ready(connection: Connection) -> None:
    await connection.execute("SELECT 1")


@app.get("/ping")
async def ping() -> Message:
    return Message(ok=True, message="OK")


@app.get("/time")
async def server_time() -> ServerTime:
    return ServerTime(serverTime=int(time.time()))


@app.get("/db/ping")
async def database_ping(connection: Connection) -> Response:
    cursor = await connection.execute("SELECT json_build_object('ok', true, 'message', 'OK')::text")
    return Response((await cursor.fetchone())[0], media_type="application/json")


@app.get("/db/time")
async def database_time(connection: Connection) -> Response:
    cursor = await connection.execute("SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text")
    return Response((await cursor.fetchone())[0], media_type="application/json")


@app.get("/users")
async def users(connection: Connection) -> list[User]:
    async with connection.cursor(row_factory=class_row(User)) as cursor:
        await cursor.execute("SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id")
        return await cursor.fetchall()  # type: ignore[no-any-return]


@app.post("/tx")
async def tx(connection: Connection, aid: Id, tid: Id, bid: Id, delta: Delta) -> Done:
    await connection.execute("SELECT pgbench_tx(%s, %s, %s, %s)", (aid, tid, bid, delta))
    return Done()


@app.post("/transfer")
async def transfer(connection: Connection, sender: Sender, to: Id, amount: Id) -> Done:
    if sender == to:
        raise HTTPException(400, "`from` and `to` must differ")
    async with connection.transaction():
        for sql, account in (
            ("UPDATE web_users SET credits = credits - %s WHERE id = %s", sender),
            ("UPDATE web_users SET credits = credits + %s WHERE id = %s", to),
        ):
            cursor = await connection.execute(sql, (amount, account))
            if cursor.rowcount == 0:
                raise HTTPException(404, "no such account")
    return Done()


@app.post("/lookup")
async def lookup(asked: AccountId, request: Request) -> Account:
    account: Account | None = request.app.state.accounts.get(asked.account_id)
    if account is None:
        raise HTTPException(404, "no such account")
    return account
