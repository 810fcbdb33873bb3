"""Scales and ticks: order, ends, and round values, for any numbers."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fairground.report.charts.scale import (
    RATIO_NAMES,
    Scale,
    linear_ticks,
    log_ticks,
    ratio_scale,
    ratio_ticks,
    spread,
    whole_decades,
)

AMOUNTS = st.floats(1e-6, 1e9)


@given(AMOUNTS, AMOUNTS, st.booleans(), st.lists(AMOUNTS, min_size=2))
def test_a_scale_keeps_order_and_its_ends(one: float, other: float, log: bool, values: list[float]) -> None:
    """Its ends stand at its ends, larger values never left of smaller ones, and nothing beyond the plot."""
    low, high = sorted((one, other))
    assume(high > low * 1.001)
    scale = Scale(low, high, 40, 840, log)
    assert scale.px(low) == pytest.approx(40) and scale.px(high) == pytest.approx(840)
    places = [scale.px(value) for value in sorted(values)]
    assert all(after >= before - 1e-6 for before, after in pairwise(places))
    assert all(40 - 1e-6 <= place <= 840 + 1e-6 for place in places)


@given(AMOUNTS, st.integers(2, 12))
def test_linear_ticks_are_few_even_and_round(high: float, at_most: int) -> None:
    """From 0 in even steps of 1, 2 or 5 times a power of ten, none beyond the end, and the next would be."""
    ticks = linear_ticks(high, at_most)
    assert ticks[0] == 0 and 1 <= len(ticks) <= at_most and ticks[-1] <= high * (1 + 1e-6)
    if len(ticks) > 1:
        step = ticks[1]
        assert float(f"{step:e}".split("e")[0]) in (1, 2, 5)
        assert all(after - before == pytest.approx(step, rel=1e-6) for before, after in pairwise(ticks))
        assert ticks[-1] + step > high * (1 - 1e-6)


@pytest.mark.parametrize(("high", "at_most"), [(0.0, 5), (-1.0, 5), (math.inf, 5), (1.0, 1)])
def test_no_ticks_without_a_scale(high: float, at_most: int) -> None:
    """A scale without length is refused."""
    with pytest.raises(ValueError, match="no ticks"):
        linear_ticks(high, at_most)


@given(st.lists(AMOUNTS, min_size=1))
def test_whole_decades_hold_their_values_and_have_ticks(values: list[float]) -> None:
    """Powers of ten around all values, at least one decade, with both ends named."""
    low, high = whole_decades(values)
    assert low <= min(values) * (1 + 1e-6) and high >= max(values) * (1 - 1e-6) and high >= 9.99 * low
    ticks = log_ticks(low, high)
    assert ticks[0] == pytest.approx(low) and ticks[-1] == pytest.approx(high)
    assert all(before < after for before, after in pairwise(ticks)) and len(ticks) <= 16


@given(st.floats(0.06, math.log(3)), st.floats(10, 60))
def test_ratio_ticks_have_one_in_their_middle_and_room(reach: float, room_px: float) -> None:
    """1 is always named, in the middle; names keep their distance."""
    ticks = ratio_ticks(ratio_scale(reach, 240, 8), room_px)
    assert [name for place, name in ticks if place == pytest.approx(120)] == ["1"]
    assert all(after - before >= room_px for (before, _), (after, _) in pairwise(ticks))


def test_ratios_below_one_have_short_names() -> None:
    """Thirds and halves are signs of one letter."""
    assert set(RATIO_NAMES.values()) <= {name for _, name in ratio_ticks(ratio_scale(math.log(3.01), 2400, 8), 10)}


@given(st.lists(st.floats(0, 200), max_size=10))
def test_labels_are_pushed_apart_in_order(tops: list[float]) -> None:
    """Names at the right edge keep their order and 14 px, and none falls below the plot."""
    placed = spread(sorted(tops), 14.0, 200.0)
    assert all(after - before >= 14 - 1e-9 for before, after in pairwise(placed)) and all(place <= 200 for place in placed)


def test_labels_move_no_further_than_they_must() -> None:
    """Down where one is above them, up where the plot ends."""
    assert spread([10.0, 12.0, 195.0, 199.0], 14.0, 200.0) == [10.0, 24.0, 186.0, 200.0]
