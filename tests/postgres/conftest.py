"""Two arms of the embedded database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from builders.cluster import SCALE, Arms
from builders.contracts import SEEDS
from fairground.postgres import Database


@pytest.fixture
def arms(database: Database) -> Iterator[Arms]:
    """Two arms on the session's server, with fresh data."""
    one, two = database.arm(1), database.arm(2)
    for arm in (one, two):
        arm.reset(SEEDS.data(SCALE))
    yield one, two
    database.drop_arms()
