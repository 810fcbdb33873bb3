"""A host on which the database server runs in place of the lab's machine: the lab's side of `Clusters`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from distributed.utils import get_ip

from fairground.fleet import clusters
from fairground.fleet.borrowed import Borrowed, RemoteMeter
from fairground.fleet.cluster import Member
from fairground.host import Child, Keeper, Meter
from fairground.model import OWN_MAJOR, Durability
from fairground.postgres import Database, DatabaseAddress, Refusals

STARTS_S = 300.0
"""A host may have to bring the programs of a version first, and to recover what an interruption left."""
STOPS_S = 40.0


class RemoteDatabaseHost(Borrowed):
    """The host on which the database server runs (`postgres.Elsewhere`)."""

    role = "database"

    @property
    def reaching(self) -> str:
        """A clause that says who may connect to it."""
        return f"and lets {self.front} connect to it"

    def free_bytes(self) -> int:
        """The bytes that may still be written on the disk of its data there."""
        return int(self.ask("free_bytes"))

    def start(self, durability: Durability, overrides: Mapping[str, str], version: int | None) -> Database:
        """Start it there, one at a time. LabError where it cannot be had."""
        address: DatabaseAddress = self.ask("start", durability, dict(overrides), version or OWN_MAJOR, within_s=STARTS_S)
        return Database(address, RemoteCluster(self), errors=RemoteErrors(self))


class RemoteCluster:
    """The database server of a host (`postgres.Owner`)."""

    child: Child | None = None
    log: Path | None = None
    ended: str | None = None
    """Nobody asks: where its host is gone, the lab is told so by the host, and else connections are refused."""

    def __init__(self, host: RemoteDatabaseHost) -> None:
        self._host = host

    def restart(self, keeper: Keeper, durability: Durability, pause_s: float = 0.0, crash: bool = False) -> None:
        """Stop it, or kill it, and start it again on its port."""
        self._host.ask("restart", durability, pause_s, crash, within_s=STARTS_S)

    def stop(self) -> None:
        """Stop it."""
        self._host.ask("stop", within_s=STOPS_S)

    def meter(self) -> Meter:
        """A meter that asks the host."""
        return RemoteMeter(self._host, 0)


class RemoteErrors:
    """The log of that server (`postgres.Errors`)."""

    def __init__(self, host: RemoteDatabaseHost) -> None:
        self._host = host

    def take(self, database: str) -> str:
        """The beginning of what was logged of one database since the last call for it."""
        return str(self._host.ask("take", database))

    def refusals(self, role: str) -> Refusals:
        """Count the connections of one role that were refused since the last call for it."""
        return Refusals(*self._host.ask("refusals", role))


@contextmanager
def database_on(client: Any, member: Member) -> Iterator[RemoteDatabaseHost]:
    """A host that has joined, as the one on which the database server runs."""
    place = urlsplit(member.address)
    assert place.hostname is not None
    front = get_ip(place.hostname, place.port)
    found = RemoteDatabaseHost(member.about, front, clusters.lend_clusters(client, member.address, place.hostname, front))
    try:
        yield found
    finally:
        found.let_go()
