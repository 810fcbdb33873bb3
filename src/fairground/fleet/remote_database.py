"""A host on which the database server runs in place of the lab's machine: the lab's side of `Clusters`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from distributed import Future
from distributed.utils import get_ip

from fairground.fleet import clusters
from fairground.fleet.about import About
from fairground.fleet.borrowed import Borrowed, RemoteMeter
from fairground.fleet.cluster import Member
from fairground.fleet.unpickling import HINT
from fairground.host import Child, Keeper, Meter
from fairground.model import OWN_MAJOR, Durability, MachineError
from fairground.postgres import Database, DatabaseAddress, Refusals

STARTS_S = 300.0
"""A host may have to bring the programs of a version first, and to recover what an interruption left."""
STOPS_S = 40.0


class RemoteDatabaseHost(Borrowed):
    """The host on which the database server runs (`DatabaseHost`). `address`: where that server has to listen."""

    role = "database"

    def __init__(self, about: About, front: str, lent: Future[Any] | None, address: str) -> None:
        super().__init__(about, front, lent)
        self._address = address

    @property
    def reaching(self) -> str:
        """A clause that says who may connect to it."""
        return f"and lets {self.front} connect to it"

    def free_bytes(self) -> int:
        """The bytes that may still be written on the disk of its data there."""
        return int(self.ask("free_bytes"))

    def start(self, durability: Durability, overrides: Mapping[str, str], version: int | None) -> Database:
        """Start it there, one at a time. LabError where it cannot be had."""
        told = self.ask("start", durability, dict(overrides), version or OWN_MAJOR, within_s=STARTS_S)
        return Database(self._own(told), RemoteCluster(self), errors=RemoteErrors(self))

    def _own(self, told: object) -> DatabaseAddress:
        """The address of a server on this very host, and nothing else that was told.

        Without a password libpq would look for one of this user's, and send it where it connects.
        """
        match told:
            case DatabaseAddress(host=self._address, port=int(port), user=str(user), password=str(password)) if user and password:
                return DatabaseAddress(self._address, port, user, password)
        raise MachineError(f"host `{self.name}` tells of a database server that is none of its own", HINT)


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
    lent = clusters.lend_clusters(client, member.address, place.hostname, front)
    found = RemoteDatabaseHost(member.about, front, lent, place.hostname)
    try:
        yield found
    finally:
        found.let_go()
