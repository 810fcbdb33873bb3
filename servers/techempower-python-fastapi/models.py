"""What answers look like, and what requests ask for."""

import random
from typing import Annotated

from fastapi import Depends
from fastapi.templating import Jinja2Templates
from pydantic import BaseModel, ConfigDict, Field

WORLDS = 10_000
MOST_QUERIES = 500
ADDED = "Additional fortune added at request time."
templates = Jinja2Templates(directory="templates")


class Message(BaseModel):
    message: str


class World(BaseModel):
    model_config = ConfigDict(from_attributes=True, serialize_by_alias=True, validate_by_name=True)

    id: int
    randomnumber: int = Field(serialization_alias="randomNumber")


class Fortune(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: int
    message: str


def count(queries: str = "") -> int:
    """How many were asked for, within 1 and 500; what is no number is 1."""
    try:
        return min(max(int(queries), 1), MOST_QUERIES)
    except ValueError:
        return 1


Count = Annotated[int, Depends(count)]


def random_number() -> int:
    return random.randint(1, WORLDS)


def random_ids(count: int) -> list[int]:
    """Different ones in order, so that two requests that update the same rows wait for each other and do not deadlock."""
    return sorted(random.sample(range(1, WORLDS + 1), count))


def sorted_fortunes(fortunes: list[Fortune]) -> list[Fortune]:
    """All of them and the one that each request adds, by their text."""
    return sorted([*fortunes, Fortune(id=0, message=ADDED)], key=lambda fortune: fortune.message)
