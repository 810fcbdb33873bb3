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

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a statement."""
        found = self.rows[statement]
        if isinstance(found, Exception):
            raise found
        return found
