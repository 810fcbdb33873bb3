"""A bench with the real engine and all cases of all contracts."""

from __future__ import annotations

from typing import Any

from builders.contracts import EVERY_CASE
from builders.paths import ENGINE
from fairground.host import Keeper
from fairground.measure import Bench
from fairground.postgres import Database


def bench_on(keeper: Keeper, database: Database, **fields: Any) -> Bench:
    """Make a bench of two cores; `fields` are those of Bench."""
    return Bench(keeper, database, ENGINE, EVERY_CASE, cores=2, **fields)
