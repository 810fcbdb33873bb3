"""What live tests share."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import planted
from builders import networks, quiet
from builders.benches import bench_on
from builders.contracts import SEEDS
from builders.fleet import Fleet
from builders.networks import Network
from builders.paths import ROOT
from fairground import postgres
from fairground.host import Keeper
from fairground.measure import Bench
from fairground.model import Durability
from fairground.postgres import Database


@pytest.fixture(scope="session")
def bench(keeper: Keeper, database: Database) -> Bench:
    """A bench with the session's database."""
    return bench_on(keeper, database, ready_timeout_s=10.0)


@pytest.fixture(scope="session")
def durable(keeper: Keeper, cache: Path) -> Iterator[Database]:
    """A database whose commits wait for the disk."""
    found = postgres.start(keeper, cache, Durability.DURABLE)
    try:
        found.prepare(SEEDS.data(planted.SCALE))
        yield found
    finally:
        found.stop()


@pytest.fixture
def fleet(cache: Path, tmp_path: Path) -> Iterator[Fleet]:
    """No process yet."""
    found = Fleet({**os.environ, "FAIRGROUND_CACHE": str(cache), "CI": "1", "PYTHONPATH": quiet.PATH}, tmp_path)
    yield found
    found.end()


@pytest.fixture
def network() -> Iterator[Network]:
    """A lab and two hosts; skipped where no namespace can be made."""
    with networks.made() as found:
        yield found


@pytest.fixture
def servers(tmp_path: Path) -> Path:
    """A folder with one healthy server in it, whole: what is sent to a host is one folder."""
    found = tmp_path / "servers"
    shutil.copytree(ROOT / "tests" / "zoo" / "healthy", found / "healthy")
    shutil.copytree(ROOT / "tests" / "zoo" / "animal", found / "healthy" / "animal")
    return found
