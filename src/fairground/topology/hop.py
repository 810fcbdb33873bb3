"""A proxy or pooler that runs: its process, where it listens, and what it says of itself."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg

from fairground.host import Child, Stopped, netloc

STOP_GRACE_S = 3.0


@dataclass(frozen=True)
class Hop:
    """One running hop. `scratch` is its folder for files that are no result; it goes when the hop stops."""

    role: str
    child: Child
    host: str
    port: int
    log: Path
    scratch: tempfile.TemporaryDirectory[str] | None = None

    def log_end(self, characters: int = 2000) -> str:
        """The end of its log."""
        return self.log.read_bytes()[-characters:].decode(errors="replace") if self.log.exists() else ""

    def stop(self) -> Stopped:
        """End it, whatever it is doing."""
        stopped = self.child.stop(STOP_GRACE_S)
        if self.scratch is not None:
            self.scratch.cleanup()
        return stopped


@dataclass(frozen=True)
class Census:
    """A pooler's connections at one moment: the server's to it, those of them that wait, and its own to the database."""

    clients: int
    waiting: int
    servers: int


@dataclass(frozen=True)
class Admin:
    """The user who may ask a pooler about itself; made for one trial."""

    user: str
    password: str = field(repr=False)


@dataclass(frozen=True)
class Pooler(Hop):
    """A running pooler, which also answers questions on its console."""

    version: str = ""
    database: str = ""
    admin: Admin = Admin("", "")

    def connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        """A connection to its console. Consoles understand plain statements without parameters only."""
        return psycopg.connect(
            host=self.host,
            port=self.port,
            user=self.admin.user,
            password=self.admin.password,
            dbname="pgbouncer",  # both poolers call their console so
            autocommit=True,
            connect_timeout=5,
            prepare_threshold=None,
        )

    def census(self, console: psycopg.Connection[tuple[Any, ...]]) -> Census:
        """Count the connections that concern the trial's database."""
        found = console.execute("SHOW POOLS")
        return census_of([column.name for column in found.description or ()], found.fetchall(), self.database)


@dataclass(frozen=True)
class RunningWires(Hop):
    """Running wires, one process for all of a path: where the one before the server listens, and the one before the database."""

    ports: Mapping[str, int] = field(default_factory=dict)


def census_of(columns: list[str], rows: list[tuple[Any, ...]], database: str) -> Census:
    """The census of one database in the rows of `SHOW POOLS`; poolers and versions have different columns."""

    def total(*names: str) -> int:
        places = [columns.index(name) for name in names if name in columns]
        return sum(int(row[place]) for row in rows if row[columns.index("database")] == database for place in places)

    waiting = total("cl_waiting")
    return Census(
        total("cl_active", "cl_idle") + waiting,
        waiting,
        total("sv_active", "sv_active_cancel", "sv_being_canceled", "sv_idle", "sv_used", "sv_tested", "sv_login"),
    )


def at(database_url: str, host: str, port: int) -> str:
    """The same database URL at another place."""
    parts = urlsplit(database_url)
    user, at_sign, _ = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user}{at_sign}{netloc(host, port)}"))
