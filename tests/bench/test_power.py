"""The simulation of a run's power: its pairs are those of the demo's layout, and plain differences are told."""

from __future__ import annotations

import math

import pytest

from builders.bench import bench

POWER = bench("power")


def test_every_pair_of_the_layout_is_judged() -> None:
    """Ten pairs on each of six workloads. Most differences of 2.25 × are told."""
    world = POWER.SimulatedWorld()
    fits, known = POWER.simulate(1, world)
    pairs = list(POWER.judge(fits, known, world))
    assert len(fits) == 6 and len(pairs) == 60 and not known
    assert sum(math.isclose(one.apart, POWER.STEP) for one in pairs) == 36
    assert sum(not one.apart for one in pairs) == 12
    told = [one.called for one in pairs if math.isclose(one.apart, 2 * POWER.STEP)]
    assert len(told) == 12 and sum(told) >= 10


def test_the_table_has_a_row_for_each_world() -> None:
    """Of a first look no two stacks are equal."""
    worlds = [POWER.SimulatedWorld(spoilt=2.0), POWER.SimulatedWorld("first look", runs=1)]
    rows = list(POWER.table(worlds, 1))
    assert len(rows) == 2 and all(row.count("|") == 9 for row in rows)
    assert rows[0].count("%") == 3 and rows[1].count("%") == 2 and rows[1].endswith("| – |")


def share_held(world: object, runs: int) -> float:
    """How many of a world's intervals hold the truth."""
    pairs = [pair for seed in range(runs) for pair in POWER.judge(*POWER.simulate(seed, world), world)]
    return sum(pair.held for pair in pairs) / len(pairs)


@pytest.mark.parametrize(
    ("layout", "runs", "spoilt", "today", "seeds", "least"),
    [
        pytest.param("demo", None, 1, 1, 20, 0.94, marks=pytest.mark.nightly),
        pytest.param("demo", None, 3, 1, 20, 0.94, marks=pytest.mark.nightly),
        pytest.param("demo", 2, 1, 1, 20, 0.93, marks=pytest.mark.nightly),
        pytest.param("demo", 2, 2, 1, 20, 0.93, marks=pytest.mark.nightly),
        pytest.param("first look", 2, 1, 1, 80, 0.92, marks=pytest.mark.nightly),
        ("first look", 2, 1, 2, 80, 0.87),
    ],
)
def test_intervals_hold_the_truth(layout: str, runs: int | None, spoilt: float, today: float, seeds: int, least: float) -> None:
    """With memory and without it, with a spoilt block, and on a day that is twice as noisy as any before: by day that one alone."""
    world = POWER.SimulatedWorld(layout, 4, spoilt, today, runs)
    assert least <= share_held(world, seeds) <= 0.985


def test_a_spoilt_block_costs_few_decisions() -> None:
    """One block of four scatters three times as much, and most differences of 1.5 × are told all the same."""
    world = POWER.SimulatedWorld(spoilt=3.0)
    pairs = [pair for seed in range(8) for pair in POWER.judge(*POWER.simulate(seed, world), world)]
    told = [pair.called for pair in pairs if math.isclose(pair.apart, POWER.STEP)]
    assert sum(told) / len(told) >= 0.88
