"""The database as the routes see it: each statement, and a connection of asyncpg's pool."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import asyncpg
from fastapi import Depends, FastAPI, Request

PERSON = "SELECT id, password FROM people WHERE email = $1"
ITEMS = "SELECT id, title, done FROM todos WHERE person = $1 ORDER BY id DESC LIMIT $2 OFFSET $3"
TOTAL = "SELECT count(*) FROM todos WHERE person = $1"
CREATE = "INSERT INTO todos (person, title) VALUES ($1, $2) RETURNING id, title, done"
COMPLETE = "UPDATE todos SET done = $1 WHERE id = $2 AND person = $3 RETURNING id, title, done"
REMOVE = "DELETE FROM todos WHERE id = $1 AND person = $2 RETURNING id"


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    size = int(os.environ["POOL_SHARE"])
    async with asyncpg.create_pool(os.environ["DATABASE_URL"], min_size=min(10, size), max_size=size) as pool:
        app.state.pool = pool
        yield


async def connect(request: Request) -> AsyncIterator[Any]:
    async with request.app.state.pool.acquire() as connection:
        yield connection


# Of the scope `function`, the connection is back in the pool before the answer leaves.
Connection = Annotated[Any, Depends(connect, scope="function")]
