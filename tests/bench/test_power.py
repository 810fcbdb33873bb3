"""The simulation of a run's power: its pairs are those of the demo's layout, and plain differences are told."""

from __future__ import annotations

import math

from builders.bench import bench

POWER = bench("power")


def test_every_pair_of_the_layout_is_judged() -> None:
    """Ten pairs on each of six workloads. Most differences of 2.25 × are told."""
    fits = POWER.simulate(1, 4, 1.0)
    pairs = list(POWER.judge(fits))
    assert len(fits) == 6 and len(pairs) == 60
    assert sum(math.isclose(one.apart, POWER.STEP) for one in pairs) == 36
    assert sum(not one.apart for one in pairs) == 12
    told = [one.called for one in pairs if math.isclose(one.apart, 2 * POWER.STEP)]
    assert len(told) == 12 and sum(told) >= 10


def test_the_table_has_a_row_for_each_layout() -> None:
    """Four blocks and two, each as it is and with one spoilt in two ways."""
    rows = list(POWER.table(1))
    assert len(rows) == 6 and all(row.count("|") == 6 and row.count("%") == 3 for row in rows)
