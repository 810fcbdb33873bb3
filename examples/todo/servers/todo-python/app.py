"""A todo list. People log in, and read and change their own todos; those of others do not exist for them."""

from typing import Annotated

from accounts import Person, is_password, new_token
from asyncpg import Record
from fastapi import FastAPI, HTTPException, Path, Query
from pydantic import BaseModel, Field, StrictBool
from store import COMPLETE, CREATE, ITEMS, PERSON, REMOVE, TOTAL, Connection, lifespan


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
app = FastAPI(lifespan=lifespan)


def found(row: Record | None) -> Record:
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
    person = await connection.fetchrow(PERSON, credentials.email)
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
