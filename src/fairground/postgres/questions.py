"""The connections by which the lab asks a database server: a new one for each question, or one for many."""

from __future__ import annotations

import select
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

Connection = psycopg.Connection[tuple[Any, ...]]


class Questions:
    """The lab's questions to one server. To log in costs both ends more than most questions do, some milliseconds of CPU.

    A connection that stays open keeps what its own statements counted for up to 10 s: counters are read after a block of `keep`.
    """

    def __init__(self, connect: Callable[[str], Connection]) -> None:
        self._connect = connect
        self._kept: dict[str, Connection] | None = None

    @contextmanager
    def keep(self) -> Iterator[None]:
        """Ask all that one thread asks in this block by one connection for each database."""
        if self._kept is not None:
            yield
            return
        self._kept = {}
        try:
            yield
        finally:
            kept, self._kept = self._kept, None
            for connection in kept.values():
                connection.close()

    @contextmanager
    def to(self, database: str) -> Iterator[Connection]:
        """A connection to a database, which is closed after its question unless it is kept."""
        if self._kept is None:
            with self._connect(database) as connection:
                yield connection
            return
        known = self._kept.get(database)
        if known is None or is_cut(known):
            if known is not None:
                known.close()
            known = self._kept[database] = self._connect(database)
        yield known


def is_cut(connection: Connection) -> bool:
    """The server has closed it, as one does that is started anew: an open one that waits has nothing to say."""
    if connection.closed:
        return True
    looked = select.poll()
    looked.register(connection.fileno(), select.POLLIN)
    return bool(looked.poll(0))
