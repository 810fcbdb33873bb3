"""One server's log of errors, which the databases of all arms share: each gets its own part of it."""

from __future__ import annotations

import re
import threading
from collections import Counter
from pathlib import Path

LINE_PREFIX = "%m [%p] %u@%d %e: "
"""PostgreSQL's `log_line_prefix`: time, process, the role and the database that the line is of, and its SQLSTATE.

What a line is about is told by its SQLSTATE: its words are in the language of the server.
"""
LINE = re.compile(rb"\S+ \S+ \S+ \[\d+\] (\S*)@(\S*?) ([0-9A-Z]{5}): (.*)")
TOO_MANY = b"53300"
"""The SQLSTATE of a refused connection, for want of a slot or at a limit. The role's own limit is the one that names the role."""
MOST_KEPT_BYTES = 64 << 10
MOST_READ_BYTES = 8 << 20
"""A server that fails each request writes more than anybody reads."""


class ErrorLog:
    """A log file that the server appends to, and that is emptied by reading it. Safe to be used from several threads."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        self._kept: dict[str, bytes] = {}
        self._refused: Counter[str] = Counter()

    def take(self, database: str) -> str:
        """The beginning of what was logged of one database since the last call for it; lines of no database are dropped."""
        with self._lock:
            self._read()
            return self._kept.pop(database, b"").decode(errors="replace")

    def refused_connections(self, role: str) -> int:
        """Count the connections of one role that were refused since the last call for it: it had as many as it may."""
        with self._lock:
            self._read()
            return self._refused.pop(role, 0)

    def _read(self) -> None:
        """Move what the file holds to the databases that it is of, and empty it."""
        with open(self._path, "r+b") as file:
            text = file.read(MOST_READ_BYTES)
            file.truncate(0)
        name = ""
        for line in text.splitlines(keepends=True):
            if prefix := LINE.match(line):  # a line without one goes on with the message of the line before
                name = prefix[2].decode(errors="replace")
                if prefix[3] == TOO_MANY and re.search(rb"\b" + re.escape(prefix[1]) + rb"\b", prefix[4]):
                    self._refused[prefix[1].decode(errors="replace")] += 1
            room = MOST_KEPT_BYTES - len(self._kept.get(name, b""))
            if name and room > 0:
                self._kept[name] = self._kept.get(name, b"") + line[:room]
