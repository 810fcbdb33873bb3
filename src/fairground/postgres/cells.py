"""Values as PostgreSQL writes them: what requests of a load have in their slots, and what is booked or looked up by it."""

from __future__ import annotations

from typing import Any

import psycopg

WHOLE, TRUTH = (20, 21, 23, 26), 16
"""PostgreSQL's numbers of types of whole numbers, and of true and false."""


def cell_of(value: bytes | None, kind: int) -> str | int | None:
    """A value as PostgreSQL writes it, whole numbers as numbers, and truth in words."""
    if value is None or kind in WHOLE:
        return None if value is None else int(value)
    return {b"t": "true", b"f": "false"}[value] if kind == TRUTH else value.decode()


def rows_of(cursor: psycopg.Cursor[tuple[Any, ...]], keyed: bool) -> list[tuple[Any, ...]]:
    """The rows that a statement gave, none of one that gives no rows. `keyed`: the first value of each is a cell, as a text."""
    if not cursor.description:
        return []
    rows, found = cursor.fetchall(), cursor.pgresult
    if not keyed or found is None:
        return rows
    kind = cursor.description[0].type_code
    return [(str(cell_of(found.get_value(i, 0), kind)), *row[1:]) for i, row in enumerate(rows)]
