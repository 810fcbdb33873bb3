"""The routes of the contract, with asyncpg and its pool."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any

import asyncpg
from errors import add_handlers
from fastapi import Depends, FastAPI, HTTPException, Request, Response
from models import Account, AccountId, After, Delta, Done, Id, Item, ItemId, Message, NewItem, Sender, ServerTime, User

WAIT_MS = os.environ.get("POOL_WAIT_MS")
RELEASE_S = 5
RETRY_S = 0.1
WAIT_S = max(int(WAIT_MS), 1) / 1000 if WAIT_MS else None


async def eventually(ask: Callable[[], Any]) -> Any:
    """A worker that starts while the database is away waits for it: uvicorn would end all workers."""
    while True:
        try:
            return await ask()
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
            await asyncio.sleep(RETRY_S)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    size = int(os.environ["POOL_SHARE"])
    options = {} if os.environ.get("PREPARED") != "off" else {"statement_cache_size": 0}
    pool = await eventually(
        lambda: asyncpg.create_pool(os.environ["DATABASE_URL"], min_size=min(10, size), max_size=size, **options)
    )
    async with pool:
        rows = await eventually(lambda: pool.fetch("SELECT * FROM accounts"))
        app.state.pool, app.state.accounts = pool, {row["account_id"]: Account(**row) for row in rows}
        yield


async def connect(request: Request) -> AsyncIterator[Any]:
    pool = request.app.state.pool
    connection = await pool.acquire(timeout=WAIT_S)
    try:
        yield connection
    finally:
        # Without a timeout of its own, the release would get that of the acquire.
        await pool.release(connection, timeout=RELEASE_S)


Connection = Annotated[Any, Depends(connect, scope="function")]
app = FastAPI(lifespan=lifespan)
add_handlers(app, TimeoutError, (asyncpg.PostgresError, asyncpg.InterfaceError, OSError))


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
    text = await connection.fetchval("SELECT json_build_object('ok', true, 'message', 'OK')::text")
    return Response(text, media_type="application/json")


@app.get("/db/time")
async def database_time(connection: Connection) -> Response:
    text = await connection.fetchval("SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text")
    return Response(text, media_type="application/json")


@app.get("/users")
async def users(connection: Connection) -> list[User]:
    rows = await connection.fetch("SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id")
    return [User(**row) for row in rows]


@app.post("/tx")
async def tx(connection: Connection, aid: Id, tid: Id, bid: Id, delta: Delta) -> Done:
    await connection.fetchval("SELECT pgbench_tx($1, $2, $3, $4)", aid, tid, bid, delta)
    return Done()


@app.post("/transfer")
async def transfer(connection: Connection, sender: Sender, to: Id, amount: Id) -> Done:
    if sender == to:
        raise HTTPException(400, "`from` and `to` must differ")
    async with connection.transaction():
        for sql, account in (
            ("UPDATE web_users SET credits = credits - $1 WHERE id = $2", sender),
            ("UPDATE web_users SET credits = credits + $1 WHERE id = $2", to),
        ):
            if await connection.execute(sql, amount, account) == "UPDATE 0":
                raise HTTPException(404, "no such account")
    return Done()


@app.post("/lookup")
async def lookup(asked: AccountId, request: Request) -> Account:
    account: Account | None = request.app.state.accounts.get(asked.account_id)
    if account is None:
        raise HTTPException(404, "no such account")
    return account


@app.get("/items/{item_id}")
async def read_item(connection: Connection, item_id: ItemId) -> Item:
    return item(await connection.fetchrow("SELECT id, name, price_cents, stock, revision FROM items WHERE id = $1", item_id))


@app.get("/items")
async def list_items(connection: Connection, after: After = 0) -> list[Item]:
    rows = await connection.fetch(
        "SELECT id, name, price_cents, stock, revision FROM items WHERE id > $1 ORDER BY id LIMIT 20", after
    )
    return [Item(**row) for row in rows]


@app.post("/items", status_code=201)
async def create_item(connection: Connection, new: NewItem) -> Item:
    row = await connection.fetchrow(
        "INSERT INTO items (name, price_cents, stock) VALUES ($1, $2, $3) RETURNING id, name, price_cents, stock, revision",
        new.name, new.price_cents, new.stock,
    )  # fmt: skip
    return item(row)


@app.put("/items/{item_id}")
async def update_item(connection: Connection, item_id: ItemId, new: NewItem) -> Item:
    row = await connection.fetchrow(
        "UPDATE items SET name = $1, price_cents = $2, stock = $3, revision = revision + 1 WHERE id = $4 "
        "RETURNING id, name, price_cents, stock, revision",
        new.name, new.price_cents, new.stock, item_id,
    )  # fmt: skip
    return item(row)


def item(row: Any) -> Item:
    if row is None:
        raise HTTPException(404, "no such item")
    return Item(**row)
