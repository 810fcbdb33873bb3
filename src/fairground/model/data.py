"""Rows that requests of a load draw values from, as the load engine takes them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

COLUMN = re.compile(r"[A-Za-z0-9_-]+")
"""The name of a column, as a slot can have it."""


@dataclass(frozen=True)
class Rows:
    """The rows of one table: each has a text or a number for each column."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | int, ...], ...]


def column_mistake(columns: Sequence[str]) -> str | None:
    """Return why no request could draw from a table of these columns, or None."""
    for number, name in enumerate(columns):
        if not COLUMN.fullmatch(name):
            return f"has a column `{name}`, which no slot can name: write letters, digits, _ and -"
        if name in columns[:number]:
            return f"has two columns `{name}`"
    return None
