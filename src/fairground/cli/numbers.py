"""Numbers on the command line: what is not one of the kind that is meant is an error with an example."""

from __future__ import annotations

import math
from typing import TypeVar

from fairground.model import LabError

Above = TypeVar("Above", int, float)


def counts(option: str, text: str) -> list[int]:
    """Whole numbers from 1, separated by commas."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise LabError(f"`{option} {text}` should be whole numbers from 1, separated by commas", f"for instance {option} 10,100")
    return [int(part) for part in parts]


def span(option: str, text: str) -> tuple[float, float]:
    """Least and most, separated by a comma."""
    try:
        least, most = (float(part) for part in text.split(","))
    except ValueError:
        least, most = math.nan, math.nan
    if not 0 <= least <= most < math.inf:
        raise LabError(f"`{option} {text}` should be two numbers, the smaller first", f"for instance {option} 2,20")
    return least, most


def wait(value: int | None) -> int | None:
    """`--pool-wait-ms`: 0 or more, or None for no limit."""
    if value is not None and value < 0:
        raise LabError(f"`--pool-wait-ms {value}` should be 0 or more", "leave it out for no limit")
    return value


def positive(option: str, value: Above) -> Above:
    """A number above 0, and not infinite."""
    if not 0 < value < math.inf:
        raise LabError(f"`{option} {value}` should be more than 0")
    return value
