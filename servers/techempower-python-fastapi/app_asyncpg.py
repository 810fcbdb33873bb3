"""TechEmpower's six tests with asyncpg and its pool."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import asyncpg
from fastapi import Depends, FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse
from models import Count, Fortune, Message, World, random_ids, random_number, sorted_fortunes, templates

SELECT = "SELECT id, randomnumber FROM world WHERE id = $1"
UPDATE = "UPDATE world SET randomnumber = $1 WHERE id = $2"
WAIT_MS = os.environ.get("POOL_WAIT_MS")
WAIT_S = max(int(WAIT_MS), 1) / 1000 if WAIT_MS else None
RELEASE_S = 5


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    size = int(os.environ["POOL_SHARE"])
    options = {} if os.environ.get("PREPARED") != "off" else {"statement_cache_size": 0}
    url = os.environ["DATABASE_URL"]
    async with asyncpg.create_pool(url, min_size=min(10, size), max_size=size, **options) as pool:
        app.state.pool = pool
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


@app.exception_handler(TimeoutError)
async def busy(request: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"message": "no connection in time"}, 503, {"retry-after": "1"})


@app.get("/plaintext", response_class=PlainTextResponse)
async def plaintext() -> str:
    return "Hello, World!"


@app.get("/json")
async def message() -> Message:
    return Message(message="Hello, World!")


@app.get("/db")
async def single(connection: Connection) -> World:
    return World(**await connection.fetchrow(SELECT, random_number()))


@app.get("/queries")
async def several(connection: Connection, count: Count) -> list[World]:
    return [World(**await connection.fetchrow(SELECT, random_number())) for _ in range(count)]


@app.get("/updates")
async def updates(connection: Connection, count: Count) -> list[World]:
    async with connection.transaction():
        worlds = [World(**await connection.fetchrow(SELECT, id)) for id in random_ids(count)]
        for world in worlds:
            world.randomnumber = random_number()
        await connection.executemany(UPDATE, [(world.randomnumber, world.id) for world in worlds])
    return worlds


@app.get("/fortunes", response_class=HTMLResponse)
async def fortunes(connection: Connection, request: Request) -> HTMLResponse:
    found = [Fortune(**row) for row in await connection.fetch("SELECT id, message FROM fortune")]
    return templates.TemplateResponse(request, "fortunes.html", {"fortunes": sorted_fortunes(found)})
