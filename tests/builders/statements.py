"""A database that knows one answer to each statement."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from fairground.model import DatabaseWork
from fairground.postgres import Counters


class Answers:
    """What the audit asks, without a server: rows of each statement, or the error that it raises."""

    def __init__(self, **rows: list[tuple[Any, ...]] | Exception) -> None:
        self.rows = rows

    def keep_asking(self) -> AbstractContextManager[None]:
        """Nothing that is asked here needs a connection."""
        return nullcontext()

    def work(self) -> DatabaseWork:
        """Nothing was counted."""
        return DatabaseWork({})

    def counters(self) -> Counters:
        """Nothing was counted."""
        return Counters(0, 0, 0, 0, 0)

    def query(self, statement: str, keyed: bool = False) -> list[tuple[Any, ...]]:
        """The rows of a statement. `keyed`: the first value of each is a text."""
        found = self.rows[statement]
        if isinstance(found, Exception):
            raise found
        return [(str(key), *row) for key, *row in found] if keyed else found
