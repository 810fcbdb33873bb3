"""TechEmpower's six tests with SQLAlchemy's ORM: entities of a session, on asyncpg."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated

import models
from fastapi import Depends, FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse
from models import Count, Message, random_ids, random_number, sorted_fortunes, templates
from sqlalchemy import String, select
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

WAIT_MS = os.environ.get("POOL_WAIT_MS")
YEAR_S = 31_536_000

engine = create_async_engine(
    os.environ["DATABASE_URL"].replace("postgresql://", "postgresql+asyncpg://"),
    pool_size=int(os.environ["POOL_SHARE"]),
    max_overflow=0,
    # SQLAlchemy knows no wait without a limit.
    pool_timeout=max(int(WAIT_MS), 1) / 1000 if WAIT_MS else YEAR_S,
    connect_args={} if os.environ.get("PREPARED") != "off" else {"statement_cache_size": 0, "prepared_statement_cache_size": 0},
)
new_session = async_sessionmaker(engine, expire_on_commit=False)


class Base(DeclarativeBase):
    pass


class World(Base):
    __tablename__ = "world"

    id: Mapped[int] = mapped_column(primary_key=True)
    randomnumber: Mapped[int]


class Fortune(Base):
    __tablename__ = "fortune"

    id: Mapped[int] = mapped_column(primary_key=True)
    message: Mapped[str] = mapped_column(String(2048))


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    yield
    await engine.dispose()


async def open_session() -> AsyncIterator[AsyncSession]:
    async with new_session() as session:
        yield session


Session = Annotated[AsyncSession, Depends(open_session, scope="function")]
app = FastAPI(lifespan=lifespan)


@app.exception_handler(PoolTimeout)
async def busy(request: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"message": "no connection in time"}, 503, {"retry-after": "1"})


@app.get("/plaintext", response_class=PlainTextResponse)
async def plaintext() -> str:
    return "Hello, World!"


@app.get("/json")
async def message() -> Message:
    return Message(message="Hello, World!")


@app.get("/db", response_model=models.World)
async def single(session: Session) -> World:
    return await session.get_one(World, random_number())


@app.get("/queries", response_model=list[models.World])
async def several(session: Session, count: Count) -> Sequence[World]:
    return [await session.get_one(World, id) for id in random_ids(count)]


@app.get("/updates", response_model=list[models.World])
async def updates(session: Session, count: Count) -> Sequence[World]:
    worlds = [await session.get_one(World, id) for id in random_ids(count)]
    for world in worlds:
        world.randomnumber = random_number()
    await session.commit()
    return worlds


@app.get("/fortunes", response_class=HTMLResponse)
async def fortunes(session: Session, request: Request) -> HTMLResponse:
    found = [models.Fortune.model_validate(one) for one in await session.scalars(select(Fortune))]
    return templates.TemplateResponse(request, "fortunes.html", {"fortunes": sorted_fortunes(found)})
