"""A PostgreSQL on a host, for a lab elsewhere: started there, for that lab's address alone."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from distributed import Client, Future

from fairground.fleet.lending import Lent
from fairground.host import RoleMeter, disk
from fairground.model import Durability
from fairground.postgres import Database, DatabaseAddress, start
from fairground.postgres.errorlog import ErrorLog


class Clusters(Lent):
    """The database server that a lab has on this host, one at a time. `address` is where it listens, `client` the lab's."""

    def __init__(self, address: str, client: str) -> None:
        super().__init__(address)
        self._client = client
        self._database: Database | None = None
        self._errors: ErrorLog | None = None

    def _end(self) -> None:
        self._stop()
        super()._end()

    async def start(self, durability: Durability, overrides: Mapping[str, str], version: int) -> DatabaseAddress:
        """Start it, and let the lab connect to it: where, and as whom. LabError where it cannot be had."""
        await asyncio.to_thread(self._start, durability, overrides, version)
        self._sample()
        assert self._database is not None
        return self._database.admin

    def _start(self, durability: Durability, overrides: Mapping[str, str], version: int) -> None:
        clients = (self._client,)
        found = start(self._keeper, self._host.cache, durability, overrides, version, clients)
        self._database = found
        assert found.owner is not None and found.owner.log is not None and found.child is not None
        self._errors = ErrorLog(found.owner.log)
        self._meters = [RoleMeter(found.child, threads=False)]

    async def restart(self, durability: Durability, pause_s: float, crash: bool) -> None:
        """Stop it, or kill it, and start it again on its port, as `Cluster.restart`."""
        await asyncio.to_thread(self._restart, durability, pause_s, crash)

    def _restart(self, durability: Durability, pause_s: float, crash: bool) -> None:
        assert self._database is not None and self._database.owner is not None
        owner, meter = self._database.owner, self._meters[0]
        assert isinstance(meter, RoleMeter)
        spent_ns = meter.cpu_ns()
        owner.restart(self._keeper, durability, pause_s, crash)
        assert owner.child is not None
        meter.succeed(owner.child, spent_ns)

    async def stop(self) -> None:
        """Stop it."""
        await asyncio.to_thread(self._stop)

    def _stop(self) -> None:
        if self._database is not None:
            self._meters = []
            self._database.stop()
            self._database = None

    async def free_bytes(self) -> int:
        """The bytes that may still be written on the disk of the host's cache, where the data are."""
        return disk.free_bytes(self._host.cache)

    async def take(self, database: str) -> str:
        """Take the beginning of what was logged of one database, as `ErrorLog.take`."""
        assert self._errors is not None
        return self._errors.take(database)

    async def refusals(self, role: str) -> tuple[int, int]:
        """Count the connections of one role that were refused, as `ErrorLog.refusals`."""
        assert self._errors is not None
        found = self._errors.refusals(role)
        return found.at_limit, found.no_room


def lend_clusters(client: Client, worker_address: str, address: str, lab: str) -> Future[Any]:
    """The actor on the worker at an address, as a future that ends it when it is cancelled."""
    return client.submit(Clusters, address, lab, workers=[worker_address], resources={"database": 1}, actor=True, pure=False)
