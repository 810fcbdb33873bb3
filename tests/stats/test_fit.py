"""The two-way layout: what a stack gave apart from what the machine did to all of its round."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy
import pytest

from fairground.stats import intervals
from fairground.stats.fit import Estimate, Fit, FitPoint, together

TRUE = {"a": 0.0, "b": 0.3, "c": -0.2, "d": 0.1, "e": 0.5}


def complete(blocks: int, sd: float = 0.0, seed: int = 1) -> list[FitPoint[str]]:
    """All stacks in one round of each block, on a machine that drifts by 30 %."""
    draw = numpy.random.default_rng(seed)
    return [
        FitPoint(name, block, block, phase + level + draw.normal(0, sd))
        for block, phase in enumerate(draw.normal(0, 0.3, blocks).tolist(), start=1)
        for name, level in TRUE.items()
    ]


def split(blocks: int) -> list[FitPoint[str]]:
    """Two rounds in each block that have the anchor `a` in common; who shares a round changes from block to block."""
    rounds = [(1, 1, "abc"), (1, 2, "ade"), (2, 3, "abd"), (2, 4, "ace"), (3, 5, "abe"), (3, 6, "acd")]
    paces = numpy.random.default_rng(5).normal(0, 0.3, len(rounds)).tolist()
    return [
        FitPoint(name, block, number, pace + TRUE[name])
        for (block, number, names), pace in zip(rounds, paces, strict=True)
        if block <= blocks
        for name in names
    ]


def test_two_stacks_are_the_paired_t() -> None:
    """Estimate, interval and degrees of freedom are those of the blocks' log-ratios."""
    some = [point for point in complete(6, 0.05) if point.name in "ab"]
    ratios = [b.log - a.log for a, b in zip(some[::2], some[1::2], strict=True)]
    found, paired = Fit(some).against("b", "a"), intervals.t_interval(ratios)
    assert found is not None and paired is not None and found.freedom == pytest.approx(5) and found.blocks == 6
    interval = found.interval()
    assert (interval.middle, interval.low, interval.high) == pytest.approx((paired.middle, paired.low, paired.high))


def test_rounds_of_two_count_once() -> None:
    """Two of nine stacks go on by themselves: both errors of such a round are one, and the variance has its degrees of freedom."""
    draw, found = numpy.random.default_rng(3), list[Estimate]()
    for _ in range(400):
        points = [
            FitPoint(name, block, block, draw.normal(0, 0.01)) for block in range(5) for name in range(9 if block < 2 else 2)
        ]
        one = Fit(points).against(0, 1)
        assert one is not None and one.freedom < 5.5
        found.append(one)
    squares = numpy.array([one.error**2 for one in found])
    assert numpy.mean([one.freedom for one in found]) == pytest.approx(2 * squares.mean() ** 2 / squares.var(), rel=0.2)


def test_a_stack_by_itself_has_the_interval_of_its_blocks() -> None:
    """Nothing tells its spread from the machine's, so both are in its interval."""
    logs = [1.0, 1.2, 1.1]
    found, plain = (
        Fit([FitPoint("a", block, block, log) for block, log in enumerate(logs)]).beside("a"),
        intervals.t_interval(logs),
    )
    assert found is not None and plain is not None
    assert found.interval().low == pytest.approx(plain.low) and found.interval().high == pytest.approx(plain.high)


def test_rounds_of_another_pace_change_nothing() -> None:
    """Without an error every ratio is the true one, of stacks that never shared a round as well, in whole and in split blocks."""
    for points in (complete(2), split(2), split(3)):
        fit = Fit(points)
        for one, other in itertools.permutations(TRUE, 2):
            found = fit.against(one, other)
            assert found is not None and found.middle == pytest.approx(TRUE[one] - TRUE[other])
            assert found.error == pytest.approx(0.0, abs=1e-6)
        assert all(len({round(log, 9) for log in blocks.values()}) == 1 for blocks in fit.levels.values())


def test_levels_keep_the_mean_of_what_was_measured() -> None:
    """What the machine did to a round is taken out, and the values stay as large as they were."""
    points = complete(4, 0.02)
    levels = [log for blocks in Fit(points).levels.values() for log in blocks.values()]
    assert math.fsum(levels) / len(levels) == pytest.approx(math.fsum(point.log for point in points) / len(points))
    assert max(levels) - min(levels) < max(point.log for point in points) - min(point.log for point in points)


def test_an_interval_beside_others_leaves_the_machine_out() -> None:
    """A machine that drifts by 30 % widens the interval of a stack by itself, and of none that stands beside others."""
    points = complete(6, 0.01)
    alone, beside = Fit([point for point in points if point.name == "a"]).beside("a"), Fit(points).beside("a")
    assert alone is not None and beside is not None
    assert alone.error > 0.05 and beside.error < 0.01
    mean = math.fsum(TRUE.values()) / len(TRUE)
    assert beside.middle == pytest.approx(-mean, abs=0.02)


def test_what_no_round_joins_is_not_compared() -> None:
    """Two parts of a layout, a stack of one block, one that shares no round, and one that is not there."""
    points = [
        FitPoint(name, block, block, 0.1 * block)
        for block, names in ((1, "ab"), (2, "ab"), (3, "cd"), (4, "cd"))
        for name in names
    ]
    fit = Fit([*points, FitPoint("e", 1, 1, 0.0), FitPoint("f", 8, 8, 0.0), FitPoint("f", 9, 9, 0.0), FitPoint("a", 7, 7, 5.0)])
    assert fit.against("a", "b") is not None and fit.against("c", "d") is not None
    assert [fit.against("a", other) for other in ("c", "e", "f", "g")] == [None] * 4
    assert Fit(points).against("a", "c") is None and Fit(points).against("a", "b") is not None
    assert 7 not in fit.levels["a"] and fit.beside("f") is not None and fit.beside("e") is None and fit.beside("g") is None


def test_nothing_and_one_value() -> None:
    """No value has no stack; one alone has no interval."""
    assert Fit[str]([]).names == () and Fit[str]([]).spreads.stacks == {}
    assert Fit([FitPoint("a", 1, 1, 0.0)]).beside("a") is None


def test_residuals_give_back_the_spread() -> None:
    """The variance that stacks share is that of the errors, though rounds and stacks were fitted to them."""
    found = [Fit(complete(2, 0.05, seed)).spreads for seed in range(200)]
    assert {round(one.shared.freedom, 6) for one in found} == {4.0}
    assert numpy.mean([one.shared.value for one in found]) == pytest.approx(0.05**2, rel=0.15)
    own = [stack for one in found for stack in one.stacks.values()]
    assert numpy.mean([stack.value for stack in own]) == pytest.approx(0.05**2, rel=0.15)
    assert {round(stack.freedom, 6) for stack in own} == {1.0}


def layouts(
    seed: int, stacks: int, blocks: int, room: int, unlike: float, noisy: float = 1.0, stacks_unlike: float = 0.0
) -> list[Fit[int]]:
    """Six workloads of equal stacks in rounds of `room` with their anchor 0, whose spreads differ by e^±`unlike`.

    The first workload is `noisy`. By `stacks_unlike` stacks differ on all workloads alike.
    """
    draw, made = numpy.random.default_rng(seed), []
    shares = numpy.exp(stacks_unlike * draw.normal(size=stacks))
    for place in range(6):
        common = 0.03 * math.exp(draw.normal(0, 0.3)) * (noisy if place == 0 else 1.0)
        own = [common * share * math.exp(unlike * draw.normal()) for share in shares]
        points, number = list[FitPoint[int]](), 0
        for block in range(blocks):
            others = draw.permutation(range(1, stacks)).tolist()
            for first in range(0, len(others), room - 1):
                number, pace = number + 1, draw.normal(0, 0.3)
                here = [0, *others[first : first + room - 1]]
                points += [FitPoint(one, block, number, pace + draw.normal(0, own[one])) for one in here]
        made.append(Fit(points))
    return made


def held(fits: list[Fit[int]]) -> Iterator[tuple[int, bool]]:
    """For each pair of each field: the field's place, and whether the interval holds the truth, which is 0."""
    for place, fit in enumerate(together(fits)):
        for one, other in itertools.combinations(fit.names, 2):
            found = fit.against(one, other)
            assert found is not None
            interval = found.interval()
            yield place, interval.low <= 0 <= interval.high


SHAPES = [(5, 2, 5), (6, 3, 6), (12, 2, 5), (3, 4, 3)]
UNLIKE = [(0.0, 0.0), (0.3, 0.0), (0.7, 0.0), (0.0, 0.8), (0.3, 0.8)]
EACH_ONCE = [((5, 2, 5), (0.0, 0.0)), ((3, 4, 3), (0.7, 0.0)), ((5, 2, 5), (0.3, 0.8))]
"""The fewest worlds in which spreads are alike, differ by stack and workload, and differ by both."""


@pytest.mark.parametrize(
    ("stacks", "blocks", "room", "unlike", "stacks_unlike"),
    [
        pytest.param(*shape, *unlike, marks=[] if (shape, unlike) in EACH_ONCE else pytest.mark.nightly)
        for shape in SHAPES
        for unlike in UNLIKE
    ],
)
def test_intervals_hold_the_truth_as_often_as_they_say(
    stacks: int, blocks: int, room: int, unlike: float, stacks_unlike: float
) -> None:
    """Nominal 95 %: 91 at the least over all pairs, with spreads that are alike and with ones that are not."""
    made = (layouts(seed, stacks, blocks, room, unlike, stacks_unlike=stacks_unlike) for seed in range(16))
    found = [true for fits in made for _, true in held(fits)]
    assert 0.91 <= sum(found) / len(found) <= 0.98


def test_a_noisy_workload_is_covered() -> None:
    """One workload 17 times as noisy as the rest: its intervals hold the truth, and so do those of the rest."""
    found = [pair for seed in range(20) for pair in held(layouts(seed, 5, 2, 5, 0.0, noisy=17))]
    for first in (True, False):
        some = [true for place, true in found if (place == 0) is first]
        assert 0.90 <= sum(some) / len(some) <= 0.985


@pytest.mark.parametrize("runs", [30, pytest.param(250, marks=pytest.mark.nightly)])
def test_a_stack_of_two_modes_keeps_its_own_spread(runs: int) -> None:
    """One stack is six times as noisy as its workload: with two blocks its intervals hold the truth less often, and mostly."""
    true = []
    for seed in range(runs):
        draw, fits = numpy.random.default_rng(seed), list[Fit[int]]()
        for place in range(7):
            sd = 0.03 * math.exp(0.3 * draw.normal())
            own = [sd * (6 if (place, stack) == (1, 1) else 1) for stack in range(5)]
            phases = draw.normal(0, 0.3, 2).tolist()
            fits.append(
                Fit(
                    FitPoint(stack, block, block, phase + draw.normal(0, own[stack]))
                    for block, phase in enumerate(phases)
                    for stack in range(5)
                )
            )
        found = together(fits)[1].against(1, 0)
        assert found is not None
        true.append(found.interval().low <= 0 <= found.interval().high)
    assert sum(true) / len(true) > 0.7


def test_a_stack_that_is_noisy_everywhere_widens_others_by_little() -> None:
    """One of eight stacks is twenty times as noisy on all six workloads: the others' intervals are nearly what they are without it."""
    with_it, without, its_own = list[float](), list[float](), list[float]()
    for seed in range(10):
        draw, points = numpy.random.default_rng(seed), list[list[FitPoint[int]]]()
        for _ in range(6):
            paces = draw.normal(0, 0.3, 4).tolist()
            rounds = [(block, 2 * block + half, pick) for block in (0, 1) for half, pick in enumerate(halves(draw))]
            points.append(
                [
                    FitPoint(name, block, number, paces[number] + draw.normal(0, 0.6 if name == 7 else 0.03))
                    for block, number, names in rounds
                    for name in names
                ]
            )
        for fit in together([Fit(some) for some in points]):
            with_it += [half_width(fit, name) for name in range(1, 7)]
            its_own.append(half_width(fit, 7))
        calm = [Fit(point for point in some if point.name != 7) for some in points]
        without += [half_width(fit, name) for fit in together(calm) for name in range(1, 7)]
    assert numpy.median(with_it) < 1.6 * numpy.median(without) < 0.15
    assert numpy.median(its_own) > 0.5


def halves(draw: numpy.random.Generator) -> list[list[int]]:
    """Seven stacks in two rounds that have the anchor 0 in common."""
    others = draw.permutation(range(1, 8)).tolist()
    return [[0, *others[:4]], [0, *others[4:]]]


def half_width(fit: Fit[int], name: int) -> float:
    """Half of the interval of a stack over the anchor."""
    found = fit.against(name, 0)
    assert found is not None
    return (found.interval().high - found.interval().low) / 2


def test_a_value_counts_by_its_noise() -> None:
    """A noisy stack that is far off in one round moves what others gave there; it does not where it is known to be noisy."""
    rounds = [(1, 1, "abn", 0.1), (1, 2, "ac", -0.2), (2, 3, "ab", 0.3), (2, 4, "acn", 0.0)]
    points = [
        FitPoint(name, block, number, pace + TRUE.get(name, 1.0 if number == 1 else 0.0))
        for block, number, names, pace in rounds
        for name in names
    ]
    plain, off = Fit(points), TRUE["c"] - TRUE["b"]
    moved, kept = plain.against("c", "b"), plain.weigh({**dict.fromkeys("abc", 1e-4), "n": 1.0}).against("c", "b")
    assert moved is not None and kept is not None
    assert abs(moved.middle - off) > 0.1 and abs(kept.middle - off) < 0.001


def test_equal_stacks_are_seldom_called() -> None:
    """Held to their number (Bonferroni), the pairs of one workload of equal stacks are called in about one run of twenty."""
    called, fields = 0, 0
    for seed in range(40):
        for fit in together(layouts(seed, 6, 2, 6, 0.3)):
            found = [fit.against(one, other) for one, other in itertools.combinations(fit.names, 2)]
            values = [one.p for one in found if one is not None]
            fields, called = fields + 1, called + (min(values) * len(values) < 0.05)
    assert called / fields < 0.08


def test_p_of_nothing_and_of_much() -> None:
    """An estimate of 0 without an error is no difference, any other without one is sure; p falls with the distance."""
    exact = Fit(complete(3)).against("b", "a")
    assert exact is not None and exact.p < 1e-6
    wide = Fit(complete(3, 0.2)).against("b", "a")
    assert wide is not None and 0.001 < wide.p < 1 and wide.spread == pytest.approx(wide.error * math.sqrt(3))
