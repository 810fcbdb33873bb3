"""A bench with the real engine and all cases of all contracts, the example's among them."""

from __future__ import annotations

from typing import Any

from builders.contracts import EVERY_CASE, EXAMPLES
from builders.paths import ENGINE
from fairground import contract
from fairground.host import Keeper
from fairground.measure import Bench
from fairground.postgres import Database

CASES = (*EVERY_CASE, *(case for one in EXAMPLES.values() for case in contract.load(one)))


def bench_on(keeper: Keeper, database: Database, **fields: Any) -> Bench:
    """Make a bench of two cores; `fields` are those of Bench."""
    return Bench(keeper, database, ENGINE, CASES, cores=2, **fields)
