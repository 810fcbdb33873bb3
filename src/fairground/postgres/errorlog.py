"""One server's log of errors, which the databases of all arms share: each gets its own part of it."""

from __future__ import annotations

import re
import threading
from collections import Counter
from pathlib import Path
from typing import NamedTuple

LINE_PREFIX = "%m [%p] %u@%d %e: "
"""PostgreSQL's `log_line_prefix`: time, process, the role and the database that the line is of, and its SQLSTATE.

What a line is about is told by its SQLSTATE: its words are in the language of the server.
"""
LINE = re.compile(rb"\S+ \S+ \S+ \[\d+\] (\S*)@(\S*?) ([0-9A-Z]{5}): (.*)")
TOO_MANY = b"53300"
"""The SQLSTATE of a refused connection, at a limit or for want of a slot.

The role's own limit is the one that names the role; where nobody is named, the whole server has no room.
"""
MOST_KEPT_BYTES = 64 << 10
MOST_READ_BYTES = 8 << 20
"""A server that fails each request writes more than anybody reads."""


class Refusals(NamedTuple):
    """The connections of one role that were refused: at its own limit, and because the whole server had no room."""

    at_limit: int = 0
    no_room: int = 0


class ErrorLog:
    """A log file that the server appends to, and that is emptied by reading it. Safe to be used from several threads."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        self._kept: dict[str, bytes] = {}
        self._at_limit, self._no_room = Counter[str](), Counter[str]()

    def take(self, database: str) -> str:
        """The beginning of what was logged of one database since the last call for it; lines of no database are dropped."""
        with self._lock:
            self._read()
            return self._kept.pop(database, b"").decode(errors="replace")

    def refusals(self, role: str) -> Refusals:
        """Count the connections of one role that were refused since the last call for it."""
        with self._lock:
            self._read()
            return Refusals(self._at_limit.pop(role, 0), self._no_room.pop(role, 0))

    def _read(self) -> None:
        """Move what the file holds to the databases that it is of, and empty it."""
        with open(self._path, "r+b") as file:
            text = file.read(MOST_READ_BYTES)
            file.truncate(0)
        name = ""
        for line in text.splitlines(keepends=True):
            if prefix := LINE.match(line):  # a line without one goes on with the message of the line before
                name = prefix[2].decode(errors="replace")
                if prefix[3] == TOO_MANY:
                    is_named = re.search(rb"\b" + re.escape(prefix[1]) + rb"\b", prefix[4]) is not None
                    (self._at_limit if is_named else self._no_room)[prefix[1].decode(errors="replace")] += 1
            room = MOST_KEPT_BYTES - len(self._kept.get(name, b""))
            if name and room > 0:
                self._kept[name] = self._kept.get(name, b"") + line[:room]
