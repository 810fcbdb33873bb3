"""What changed between two runs: what all cells did is no change, and chance is seldom called one."""

from __future__ import annotations

import math
import random

import pytest

from fairground.stats import changes


def _runs(cells: int, seed: int, noise: float, common: float = 1.0) -> tuple[dict[int, float], dict[int, float]]:
    chance = random.Random(seed)
    before = {key: 1000.0 * (key + 1) for key in range(cells)}
    after = {key: rate * common * math.exp(chance.gauss(0.0, noise)) for key, rate in before.items()}
    return before, after


@pytest.mark.parametrize("cells", [6, 12, 45])
def test_chance_is_seldom_called_a_change(cells: int) -> None:
    """In 400 pairs of runs in which nothing changed, at most 5 % have a cell that is called; the machine's own shift is not one."""
    wrong = 0
    for seed in range(400):
        found = changes.shift(*_runs(cells, seed, 0.05, common=0.8))
        assert found is not None
        wrong += any(one.called for one in found.changes.values())
    assert wrong <= 20


def test_a_change_is_found_among_cells_that_scatter() -> None:
    """One of twelve cells is halved where the others scatter by 5 % and the whole machine became slower."""
    found = 0
    for seed in range(50):
        before, after = _runs(12, seed, 0.05, common=0.8)
        shift = changes.shift(before, after | {3: after[3] * 0.5})
        assert shift is not None
        assert 0.7 < shift.common < 0.9
        called = {key for key, one in shift.changes.items() if one.called}
        found += called == {3}
    assert found >= 45


def test_a_small_change_is_none_even_where_it_is_sure() -> None:
    before = {key: 100.0 for key in range(10)}
    shift = changes.shift(before, before | {0: 102.5})
    assert shift is not None
    assert shift.changes[0].ratio == pytest.approx(1.025)
    assert not any(one.called for one in shift.changes.values())


def test_the_interval_holds_the_ratio_and_swapping_the_runs_inverts_it() -> None:
    before, after = _runs(9, 1, 0.1)
    there, back = changes.shift(before, after), changes.shift(after, before)
    assert there is not None and back is not None
    for key, one in there.changes.items():
        assert one.low < one.ratio < one.high
        assert one.ratio == pytest.approx(1 / back.changes[key].ratio)


def test_few_shared_cells_say_nothing() -> None:
    assert changes.shift({key: 1.0 for key in range(5)}, {key: 1.0 for key in range(9)}) is None
