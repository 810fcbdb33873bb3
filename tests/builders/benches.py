"""A bench with the real engine and all cases of the contract."""

from __future__ import annotations

from functools import cache
from typing import Any

from builders.contracts import CONTRACTS
from builders.paths import ENGINE
from fairground import contract
from fairground.contract.case import Case
from fairground.host import Keeper
from fairground.measure import Bench
from fairground.postgres import Database


@cache
def cases() -> tuple[Case, ...]:
    """Read the cases of every contract, once."""
    return tuple(case for known in CONTRACTS.values() for case in contract.load(known))


def bench_on(keeper: Keeper, database: Database, **fields: Any) -> Bench:
    """Make a bench of two cores; `fields` are those of Bench."""
    return Bench(keeper, database, ENGINE, cases(), cores=2, **fields)
