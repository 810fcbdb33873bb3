"""The control variate: what it narrows it narrows rightly, and where its condition does not hold it is not shown."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy
import pytest

from fairground.stats.control import Paced, Point, paced
from fairground.stats.intervals import t_interval


@dataclass(frozen=True)
class World:
    """Two arms on a machine whose pace changes. `effect`: B over A, in logs; `batching`: the same of the generator's own work."""

    effect: float = 0.0
    batching: float = 0.0
    slope: float = 0.8
    rounds: int = 8
    each: int = 4
    noise: float = 0.02
    start: float = 0.005

    def drawn(self, draw: numpy.random.Generator) -> list[list[Point]]:
        """One comparison: the pace differs by 4.5 % from window to window, the rest by `noise`, starts by `start`."""
        found = []
        for _ in range(self.rounds):
            start = draw.normal(0, self.start)
            pace = draw.normal(0, 0.045, self.each)
            rest = draw.normal(0, self.noise, self.each)
            found.append([(self.effect + start + self.slope * one + other, self.batching + one)
                          for one, other in zip(pace, rest, strict=True)])  # fmt: skip
        return found


@dataclass(frozen=True)
class Seen:
    """Of many comparisons: those with a control variate, how many of these hold the truth, and both mean half-widths."""

    shown: int
    holding: int
    half: float
    half_plain: float
    bias: float


def many(world: World, count: int = 1000) -> Seen:
    """`count` comparisons of a world, from one seed."""
    draw = numpy.random.default_rng(7)
    plain, found = list[float](), list[Paced]()
    for _ in range(count):
        rounds = world.drawn(draw)
        one = paced(rounds)
        if one is not None:
            interval = t_interval([sum(value for value, _ in some) / len(some) for some in rounds])
            assert interval is not None
            plain.append(interval.high - interval.middle)
            found.append(one)
    holding = sum(one.ratio.low <= math.exp(world.effect) <= one.ratio.high for one in found)
    halves = [math.log(one.ratio.high / one.ratio.low) / 2 for one in found]
    bias = float(numpy.mean([math.log(one.ratio.middle) for one in found])) - world.effect if found else 0.0
    return Seen(len(found), holding, float(numpy.mean(halves or [0])), float(numpy.mean(plain or [0])), bias)


@pytest.mark.parametrize("world", [World(), World(math.log(1.05)), World(rounds=5), World(rounds=12, each=5), World(each=2)])
def test_it_narrows_and_still_holds_the_truth(world: World) -> None:
    """Equal arms, a planted 5 %, few and many rounds: the interval is clearly narrower and holds the truth in 19 of 20."""
    seen = many(world)
    assert seen.shown > 500
    assert seen.holding >= 0.935 * seen.shown
    assert seen.half < 0.75 * seen.half_plain
    assert abs(seen.bias) < 0.001


@pytest.mark.parametrize(("rounds", "each"), [(5, 2), (8, 4)])
def test_a_pace_that_says_nothing_is_seldom_used_and_does_no_harm(rounds: int, each: int) -> None:
    """Where the control is mere noise it is rarely taken up; intervals that were chosen so hold the truth all the same."""
    seen = many(World(slope=0.0, rounds=rounds, each=each), 3000)
    assert seen.shown < 0.12 * 3000
    assert seen.holding >= 0.88 * seen.shown


def test_arms_that_use_the_generator_differently_get_none() -> None:
    """Half a percent of other work is hidden by noise and moves the result by its part; five percent are seen and refused."""
    assert many(World(batching=0.05)).shown < 30
    little = many(World(batching=0.005))
    assert little.bias == pytest.approx(-0.8 * 0.005, abs=0.001)


def test_what_is_too_little_is_not_used() -> None:
    """Four rounds, or nine pairs, give no slope that can be trusted; nor does a control that never varies."""
    draw = numpy.random.default_rng(1)
    assert paced(World(rounds=4, each=10, noise=0.001).drawn(draw)) is None
    assert paced(World(rounds=9, each=1, noise=0.001).drawn(draw)) is None
    assert paced([[(0.01 * number, 0.0)] * 2 for number in range(8)]) is None
    assert paced([]) is None


def test_all_is_exact_where_there_is_no_noise() -> None:
    """A ratio of 1.05 that follows the pace with a slope of 0.5 is found as it is; a round without a sound pair is left out."""
    paces = [(0.03, -0.02), (-0.04, 0.01), (0.02, 0.0), (-0.01, 0.03), (0.01, -0.03)]
    rounds = [[(math.log(1.05) + 0.5 * one, one) for one in some] for some in paces]
    found = paced([*rounds, []])
    assert found is not None
    assert found.slope == pytest.approx(0.5)
    assert (found.ratio.low, found.ratio.high) == (pytest.approx(1.05), pytest.approx(1.05))
    assert found.kept == pytest.approx(0.0, abs=1e-9) and found.ratio.count == 5
    assert found.generator.low < 1 < found.generator.high


def test_deviations_from_each_arms_own_mean_would_be_no_evidence() -> None:
    """Why the mean of the control must be known: centred on the run itself it moves no mean, and its interval is far too narrow."""
    world, draw, holding = World(), numpy.random.default_rng(7), 0
    for _ in range(1000):
        rounds = world.drawn(draw)
        middle = sum(one for some in rounds for _, one in some) / (world.rounds * world.each)
        centred = [sum(value - world.slope * (one - middle) for value, one in some) / len(some) for some in rounds]
        plain = [sum(value for value, _ in some) / len(some) for some in rounds]
        interval, usual = t_interval(centred), t_interval(plain)
        assert interval is not None and usual is not None and interval.middle == pytest.approx(usual.middle)
        holding += interval.low <= 0 <= interval.high
    assert holding < 0.85 * 1000
