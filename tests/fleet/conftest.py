"""A host that has joined: Dask's own worker in this process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from distributed import Client, LocalCluster

from builders.paths import ENGINE
from fairground.fleet import about, cluster, link, worker
from fairground.fleet.worker import OrderCommand
from fleet.made import host


@dataclass(frozen=True)
class There:
    """A host that has joined, the lab's client, and what the lab sees of the host."""

    made: LocalCluster
    client: Client
    member: cluster.Member

    def lose(self) -> None:
        """The host is gone."""
        (one,) = self.made.workers.values()
        self.made.sync(one.close, executor_wait=False)


@pytest.fixture
def there(tmp_path: Path) -> Iterator[There]:
    """Made anew for each test, and gone after it."""
    link.settle()
    said = host("rack-2")
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", host="127.0.0.1", dashboard_address=link.NOT_SERVED,
            worker_dashboard_address=link.NOT_SERVED, resources=dict.fromkeys(about.ROLES, 1.0),
            startup_information={worker.NAME: lambda _: said.to_json()},
        ) as made,
        Client(made, direct_to_workers=True) as client,
    ):  # fmt: skip
        (one,) = made.workers.values()
        one.plugins[worker.NAME] = worker.Host(said, OrderCommand((), os.environ), tmp_path, ENGINE, awake=False)
        (member,) = cluster.members(client)
        yield There(made, client, member)
