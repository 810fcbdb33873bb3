"""What changed between two runs: what all cells did is no change, and chance is seldom called one."""

from __future__ import annotations

import math
import random

import pytest

from fairground.stats import changes
from fairground.stats.intervals import Interval


def _of(rate: float, noise: float) -> Interval:
    """A rate with the interval that a run of many blocks would give it."""
    return Interval(rate, rate * math.exp(-2 * noise), rate * math.exp(2 * noise), 6, 0.95)


def _runs(cells: int, seed: int, noise: float, common: float = 1.0) -> tuple[dict[int, Interval], dict[int, Interval]]:
    """Cells that scatter by `noise` from run to run; the last one ten times as much, and its intervals know it."""
    chance = random.Random(seed)
    before, after = {}, {}
    for key in range(cells):
        own = noise * (10 if key == cells - 1 else 1)
        rates = [1000.0 * (key + 1) * scale * math.exp(chance.gauss(0.0, own)) for scale in (1.0, common)]
        before[key], after[key] = (_of(rate, own) for rate in rates)
    return before, after


@pytest.mark.parametrize("cells", [6, 12, 45])
def test_chance_is_seldom_called_a_change(cells: int) -> None:
    """In 400 pairs of runs in which nothing changed, at most 5 % have a cell that is called; the machine's own shift is not one."""
    wrong = 0
    for seed in range(400):
        found = changes.changes_of(*_runs(cells, seed, 0.05, common=0.8))
        wrong += any(one.called for one in found.values())
    assert wrong <= 20


def test_a_change_is_found_among_cells_that_scatter() -> None:
    """One of twelve cells is halved where the others scatter by 5 % and the whole machine became slower."""
    found = 0
    for seed in range(50):
        before, after = _runs(12, seed, 0.05, common=0.8)
        moved = changes.changes_of(before, after | {3: _of(after[3].middle * 0.5, 0.05)})
        assert 0.35 < moved[3].ratio < 0.7
        found += {key for key, one in moved.items() if one.called} == {3}
    assert found >= 40


def test_a_small_change_is_none_even_where_it_is_sure() -> None:
    """Two and a half percent among cells that do not scatter is nothing to tell."""
    before = {key: _of(100.0, 0.0001) for key in range(10)}
    found = changes.changes_of(before, before | {0: _of(102.5, 0.0001)})
    assert found[0].ratio == pytest.approx(1.025)
    assert not any(one.called for one in found.values())


def test_the_interval_holds_the_ratio_and_swapping_the_runs_inverts_it() -> None:
    """The interval is around the ratio, and back is the inverse of there."""
    before, after = _runs(9, 1, 0.1)
    there, back = changes.changes_of(before, after), changes.changes_of(after, before)
    for key, one in there.items():
        assert one.low < one.ratio < one.high
        assert one.ratio == pytest.approx(1 / back[key].ratio)


def test_a_cell_whose_own_noise_is_not_known_has_no_change() -> None:
    """One block has no interval: the cell is not judged, the others are."""
    before = {key: _of(100.0, 0.01) for key in range(8)}
    found = changes.changes_of(before, before | {0: Interval(400.0, 400.0, 400.0, 1, 0.0)})
    assert 0 not in found and 1 in found


def test_few_shared_cells_say_nothing() -> None:
    """With five cells their scatter is not known."""
    assert changes.changes_of(*_runs(5, 1, 0.1)) == {}
