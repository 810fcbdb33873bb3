"""Two modes: seen where there are two, and in at most one of fifty samples of one normal distribution."""

from __future__ import annotations

import math

import numpy
import pytest

from fairground.stats import modes
from fairground.stats.modes import two_modes


@pytest.mark.parametrize("count", range(6, 21))
def test_one_normal_distribution_is_seldom_split(count: int) -> None:
    """Of 1000 normal samples of each size at most 2 % are called, whatever their middle and spread."""
    draw = numpy.random.default_rng(100 + count)
    assert sum(two_modes(draw.normal(3, 0.2, count).tolist()) is not None for _ in range(1000)) <= 20


@pytest.mark.parametrize(("count", "apart", "least"), [(8, 12, 0.9), (12, 8, 0.9), (20, 6, 0.9)])
def test_two_modes_are_seen(count: int, apart: float, least: float) -> None:
    """Halves that are some standard deviations apart are called, and told apart to the last value."""
    draw, right = numpy.random.default_rng(5), 0
    high = tuple(range(1, count, 2))
    for _ in range(200):
        values = [draw.normal(apart * (place % 2), 1) for place in range(count)]
        found = two_modes(values)
        right += found is not None and found.high == high
    assert right >= least * 200


def test_a_minority_is_a_mode_and_an_outlier_is_none() -> None:
    """Two starts of ten that agree with each other are a mode; one alone is not."""
    base = [1.00, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01, 0.99]
    found = two_modes([1.22, *base, 1.23])
    assert found is not None and found.high == (0, 9) and found.low == tuple(range(1, 9))
    assert (found.low_mean, found.high_mean) == (pytest.approx(1.0), pytest.approx(1.225))
    assert two_modes([1.3, *base, 1.0]) is None


def test_too_few_equal_and_too_many_values_have_no_modes() -> None:
    """Five values say nothing, however far apart; equal ones are one mode; two clear groups without spread are two."""
    assert two_modes([1.0, 1.0, 2.0, 2.0, 2.0]) is None
    assert two_modes([0.1] * 8) is None
    assert two_modes([1.0, 2.0] * 101) is None
    found = two_modes([1.0, 2.0] * 4)
    assert found is not None and found.low == (0, 2, 4, 6)


def test_a_uniform_spread_is_not_two_modes() -> None:
    """A flat distribution is called in few samples: a cut alone is no gap."""
    draw = numpy.random.default_rng(9)
    assert sum(two_modes(draw.uniform(0, 1, 12).tolist()) is not None for _ in range(500)) <= 0.1 * 500


def test_what_is_not_finite_is_refused() -> None:
    """A logarithm of zero is a fault of the caller."""
    with pytest.raises(ValueError, match="finite"):
        two_modes([1.0, 2.0, math.inf, 1.0, 1.0, 1.0])


def starts(seed: int, stacks: int, blocks: int, apart: float = 0.0) -> tuple[dict[str, dict[int, float]], set[int]]:
    """Stacks by block at the machine's pace of each block, ± 2 % each; every third start of the first is `apart` faster."""
    draw = numpy.random.default_rng(seed)
    pace = {block: draw.normal(0, 0.1) for block in range(1, blocks + 1)}
    fast = set(range(3, blocks + 1, 3))
    levels = {
        f"s{number}": {
            block: 1000 * math.exp(pace[block] + draw.normal(0, 0.02) + (apart if number == 0 and block in fast else 0.0))
            for block in pace
        }
        for number in range(stacks)
    }
    return levels, fast


@pytest.mark.parametrize("stacks", [3, 5])
def test_a_stack_with_two_modes_is_named_alone(stacks: int) -> None:
    """Its groups are the blocks of its starts, although the machine's pace varies more than its noise."""
    levels, fast = starts(1, stacks, 12, apart=0.25)
    (found,) = modes.of_starts(levels)
    assert found.stack == "s0" and set(found.high) == fast and set(found.low) == set(range(1, 13)) - fast
    assert math.log(found.high_value / found.low_value) == pytest.approx(0.25, abs=0.15)


def test_of_two_stacks_the_one_that_varies_has_the_modes() -> None:
    """Only their ratio shows groups; the stack whose own values differ between them is named."""
    levels = {"a": dict.fromkeys(range(8), 100.0), "b": {block: 100.0 if block < 5 else 130.0 for block in range(8)}}
    for place, values in levels.items():
        levels[place] = {block: value * (1 + 0.001 * (block % 3)) for block, value in values.items()}
    levels["a"] = {block: value * (1 + 0.0005 * (block % 2)) for block, value in levels["a"].items()}
    (found,) = modes.of_starts(levels)
    assert (found.stack, found.high) == ("b", (5, 6, 7))


def test_stacks_of_one_mode_are_seldom_split() -> None:
    """Over 200 fields of five stacks about one in a hundred is said to have modes where there are none."""
    assert sum(bool(modes.of_starts(starts(seed, 5, 10)[0])) for seed in range(200)) <= 8


def test_five_starts_have_no_modes() -> None:
    """With fewer than six blocks in common nothing is said, and a stack alone has nothing beside it."""
    assert modes.of_starts(starts(1, 3, 5, apart=1.0)[0]) == ()
    assert modes.of_starts({"a": starts(1, 1, 12, apart=1.0)[0]["s0"]}) == ()
