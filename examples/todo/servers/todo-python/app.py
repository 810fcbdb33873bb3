"""A todo list. People log in, and read and change their own todos; those of others do not exist for them."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import asyncpg
from accounts import Person, is_password, new_token
from fastapi import Depends, FastAPI, HTTPException, Path, Query, Request
from pydantic import BaseModel, Field, StrictBool

ITEMS = "SELECT id, title, done FROM todos WHERE person = $1 ORDER BY id DESC LIMIT $2 OFFSET $3"
TOTAL = "SELECT count(*) FROM todos WHERE person = $1"
CREATE = "INSERT INTO todos (person, title) VALUES ($1, $2) RETURNING id, title, done"
COMPLETE = "UPDATE todos SET done = $1 WHERE id = $2 AND person = $3 RETURNING id, title, done"
REMOVE = "DELETE FROM todos WHERE id = $1 AND person = $2 RETURNING id"


class Credentials(BaseModel):
    email: str
    password: str


class Token(BaseModel):
    token: str


class NewTodo(BaseModel):
    title: Annotated[str, Field(min_length=1, max_length=200)]


class Change(BaseModel):
    done: StrictBool


class Todo(BaseModel):
    id: int
    title: str
    done: bool


class Page(BaseModel):
    total: int
    items: list[Todo]


Id = Annotated[int, Path(ge=1, le=2**31 - 1)]


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
app = FastAPI(lifespan=lifespan)


def found(row: asyncpg.Record | None) -> asyncpg.Record:
    """The row of a todo. That of somebody else is none, so that nobody learns that it is there."""
    if row is None:
        raise HTTPException(404, "no such todo")
    return row


@app.get("/health")
async def health(connection: Connection) -> dict[str, str]:
    await connection.fetchval("SELECT 1")
    return {"status": "ok"}


@app.post("/login")
async def login(connection: Connection, credentials: Credentials) -> Token:
    person = await connection.fetchrow("SELECT id, password FROM people WHERE email = $1", credentials.email)
    if person is None or not await is_password(credentials.password, person["password"]):
        raise HTTPException(401, "wrong email or password")
    return Token(token=new_token(person["id"]))


@app.get("/todos")
async def page(
    person: Person,
    connection: Connection,
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
) -> Page:
    items = await connection.fetch(ITEMS, person, limit, (page - 1) * limit)
    return Page(total=await connection.fetchval(TOTAL, person), items=[Todo(**row) for row in items])


@app.post("/todos", status_code=201)
async def create(person: Person, connection: Connection, todo: NewTodo) -> Todo:
    return Todo(**await connection.fetchrow(CREATE, person, todo.title))


@app.put("/todos/{id}")
async def complete(person: Person, connection: Connection, id: Id, change: Change) -> Todo:
    return Todo(**found(await connection.fetchrow(COMPLETE, change.done, id, person)))


@app.delete("/todos/{id}", status_code=204)
async def remove(person: Person, connection: Connection, id: Id) -> None:
    found(await connection.fetchrow(REMOVE, id, person))
