"""Blocks in which everything scattered: they are found, count for less, and no run without one is moved."""

from __future__ import annotations

import itertools

import numpy
import pytest

from fairground.stats import spoilt
from fairground.stats.fit import Fit, FitPoint, _lent, together
from fairground.stats.moderated import Variance


def run(seed: int, blocks: int, times: float, workloads: int = 6) -> list[Fit[str]]:
    """Five equal stacks; in the last block all scatter so many times as much."""
    draw = numpy.random.default_rng(seed)
    return [
        Fit(
            FitPoint(name, block, block, pace + draw.normal(0, 0.08 * (times if block == blocks - 1 else 1)))
            for block, pace in enumerate(draw.normal(0, 0.3, blocks).tolist())
            for name in "abcde"
        )
        for _ in range(workloads)
    ]


def halves(fits: list[Fit[str]]) -> list[float]:
    """Half of the interval of each pair."""
    found = [fit.against(*pair) for fit in fits for pair in itertools.combinations(fit.names, 2)]
    return [(one.interval().high - one.interval().low) / 2 for one in found if one is not None]


def test_a_spoilt_block_is_found_and_weighed_down() -> None:
    """Its variance is found as about sixteen times the others', and intervals are nearly those of the other blocks."""
    found = together(run(1, 4, 4.0))
    assert set(found[0].spoilt) == {3} and 6 < found[0].spoilt[3] < 40
    calm = together([Fit(point for point in fit._points if point.block != 3) for fit in run(1, 4, 4.0)])
    assert numpy.median(halves(found)) < 1.1 * numpy.median(halves(calm))


def test_a_calm_run_is_as_it_was() -> None:
    """Without a spoilt block nothing moves: the numbers are those of values that all count by their stack alone."""
    for seed in range(4):
        fits = run(seed, 4, 1.0)
        found = together(fits)
        assert not found[0].spoilt
        assert [one.against("a", "b") for one in found] == [one.against("a", "b") for one in _lent(fits, ())]


def test_few_runs_without_one_seem_to_have_one() -> None:
    """About LEVEL of them."""
    taken = [bool(together(run(seed, 5, 1.0, 3))[0].spoilt) for seed in range(60)]
    assert sum(taken) / len(taken) <= 0.12


@pytest.mark.parametrize("blocks", [2, 3])
def test_few_blocks_have_no_spoilt_one(blocks: int) -> None:
    """Of two nobody can say which, and of three the calm ones say too little."""
    assert not together(run(2, blocks, 6.0))[0].spoilt


def test_fewer_than_half_are_spoilt() -> None:
    """One of four is; a second one never, however it scatters."""
    errors = [{number: Variance(value, 20.0) for number, value in enumerate((1.0, 1.0, 8.0, 9.0))}]
    one = spoilt.spoilt_blocks(errors, {})
    assert set(one) == {3} and set(spoilt.spoilt_blocks(errors, one)) == {3}
    calm = [{number: Variance(1.0, 20.0) for number in range(4)}]
    assert spoilt.spoilt_blocks(calm, {}) == {} and spoilt.spoilt_blocks([], {}) == {}
    assert spoilt.spoilt_blocks(calm, {2: 3.0}) == {2: 3.0} and spoilt.is_settled({2: 3.0}, {2: 3.01})
    assert not spoilt.is_settled({2: 3.0}, {}) and spoilt.is_settled({}, {})


def test_exact_values_have_no_spoilt_block() -> None:
    """Where nothing scatters nothing is found, and nothing is divided by."""
    fits = [Fit(FitPoint(name, block, block, 0.1 * block) for block in range(5) for name in "abc")]
    assert not together(fits)[0].spoilt
