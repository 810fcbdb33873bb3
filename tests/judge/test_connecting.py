"""What opening connections cost: named where it is a large share of the database's CPU, whatever their number."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders.trials import CELL, trial
from fairground.judge import bottleneck, connecting, thresholds
from fairground.model import DatabaseUse, HostUse, RoleUse, Severity

REASONS = thresholds.standard().reasons
RESULT = trial("a:plain", 1, 1400.0).result
assert RESULT is not None
GOOD = RESULT.completed_ok
USE = DatabaseUse(GOOD, 0, 0, 0, 0, 25, {}, 0, sessions=GOOD // 7, connect_cpu_us=3000.0)
"""One connection for seven answers, at 3 ms each."""


def roles(each_us: float | None) -> dict[str, RoleUse]:
    """A database that used so much CPU for each good answer."""
    return {"database": RoleUse(None if each_us is None else each_us * GOOD, None, None, "cgroup2")}


def test_a_connection_for_one_answer_in_seven_is_named() -> None:
    """3 ms for a seventh of the answers are 429 µs of the 600 µs that each answer costs the database."""
    (found,) = connecting.findings(CELL, RESULT, roles(600.0), USE, REASONS)
    assert (found.id, found.severity) == ("connects", Severity.NOTE)
    assert found.evidence["share"] == pytest.approx(0.714, abs=0.001)
    assert found.sentence == (
        "opening 0.14 connections for each good answer took about 71% of the database's CPU (3.0 ms each): keep them in a pool"
    )


@pytest.mark.parametrize(
    ("use", "each_us"),
    [
        (USE, 5000.0),
        (USE, None),
        (USE, 0.0),
        (replace(USE, connect_cpu_us=None), 600.0),
        (replace(USE, sessions=None), 600.0),
        (replace(USE, sessions=50), 1.0),
        (None, 600.0),
    ],
    ids=["small-share", "no-cpu", "no-work", "cost-unknown", "count-unknown", "a-pool-or-two", "no-database"],
)  # fmt: skip
def test_what_is_not_named(use: DatabaseUse | None, each_us: float | None) -> None:
    """A small share, a pool's own connections, and whatever is not known are not named."""
    assert connecting.findings(CELL, RESULT, roles(each_us), use, REASONS) == ()


def test_a_full_database_says_what_connections_took() -> None:
    """`db-cpu` says which share of its CPU went into opening connections, where that is a lot."""
    used = {"database": RoleUse(1.95e6 * RESULT.window_s, None, None, "cgroup2")}
    dear = replace(USE, connect_cpu_us=5000.0)
    host = HostUse(0.0, 0.99, 0.0, 0.0, {})
    (found,) = bottleneck.limits(CELL, RESULT, used, host, dear, 2, REASONS)
    assert found.id == "db-cpu" and "opening 0.14 connections for each good answer took about 51% of" in found.sentence
    (found,) = bottleneck.limits(CELL, RESULT, used, host, replace(dear, sessions=20), 2, REASONS)
    assert found.id == "db-cpu" and "opening" not in found.sentence
