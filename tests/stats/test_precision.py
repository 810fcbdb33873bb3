"""What would decide: a width that leaves no third word, and the number of rounds that have it."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy
import pytest

from fairground.stats import differences, precision
from fairground.stats.differences import DifferenceWord
from fairground.stats.fit import Estimate
from fairground.stats.intervals import t_interval


@pytest.mark.parametrize("margin", [0.005, 0.01, 0.03, 0.1])
@pytest.mark.parametrize("middle", [-0.2, -0.011, -0.0055, -0.0049, 0.0, 0.0026, 0.0049, 0.0051, 0.02, 0.3])
def test_the_deciding_width_leaves_no_third_word(margin: float, middle: float) -> None:
    """Wherever its middle lies, an interval a little narrower than that is equivalent, faster or slower."""
    half = 0.999 * precision.deciding_width(margin)
    interval = t_interval([-1.0, 0.0, 1.0])
    assert interval is not None
    logs = [middle + one * half / interval.high for one in (-1.0, 0.0, 1.0)]
    assert differences.of_pairs([math.exp(one) for one in logs], practical=margin).word is not DifferenceWord.INCONCLUSIVE


def test_a_wider_interval_can_be_undecided() -> None:
    """A tenth more, in the worst place: neither inside the margin nor off 1."""
    half = 1.1 * precision.deciding_width(0.01)
    interval = t_interval([-1.0, 0.0, 1.0])
    assert interval is not None
    logs = [precision.deciding_width(0.01) + one * half / interval.high for one in (-1.0, 0.0, 1.0)]
    assert differences.of_pairs([math.exp(one) for one in logs], practical=0.01).word is DifferenceWord.INCONCLUSIVE


@pytest.mark.parametrize(("spread", "half", "count"), [(0.02, 0.005, 64), (0.02, 0.02, 7), (0.0, 0.01, 2), (10.0, 0.001, None)])
def test_values_needed(spread: float, half: float, count: int | None) -> None:
    """The first number whose t interval is narrow enough; by the table of Student's t."""
    from scipy.stats import t

    assert precision.values_needed(spread, half, 0.95) == count
    if count is not None and count > 2:
        halves = [t.ppf(0.975, some - 1) * spread / math.sqrt(some) for some in (count - 1, count)]
        assert halves[1] <= half < halves[0]


def test_a_width_of_nothing_is_no_question() -> None:
    """No number of values gives it."""
    with pytest.raises(ValueError, match="without a width"):
        precision.values_needed(0.1, 0.0, 0.95)


def test_what_is_needed_is_about_what_then_decides() -> None:
    """Of simulated rounds that lacked some, most have the deciding width when as many as were said are added."""
    draw, enough = numpy.random.default_rng(3), 0
    for _ in range(200):
        ratios = numpy.exp(draw.normal(0, 0.02, 2000))
        need = precision.need(ratios[:20], 0.03, 2, each_s=10.0, tested=1)
        assert need is not None and need.more is not None and need.more_s == 10.0 * need.more
        interval = t_interval(numpy.log(ratios[: 20 + need.more]).tolist())
        assert interval is not None
        enough += (interval.high - interval.middle) <= 1.2 * precision.deciding_width(0.03)
    assert enough >= 0.7 * 200


def test_what_is_settled_already() -> None:
    """An interval decides on any margin of at least the ratio of its ends."""
    need = precision.need([0.99, 1.01, 1.0], 0.001, 2, each_s=None, tested=1)
    found = differences.of_pairs([0.99, 1.01, 1.0]).ratio
    assert need is not None and found is not None
    assert need.settled == pytest.approx(found.high / found.low - 1) and need.more_s is None


def test_the_number_tested_counts_beyond_the_margin_alone() -> None:
    """What may become equivalent is judged by itself; what may be called is held to all that are tested."""
    ratios = [1.0, 1.02, 0.98, 1.01]
    near, one = (precision.need(ratios, 0.03, 2, None, tested) for tested in (10, 1))
    assert near is not None and one is not None and near.more == one.more
    assert near.settled is not None and one.settled is not None and near.settled > one.settled  # of a call, too
    far, alone = (precision.need([1.06 * one for one in ratios], 0.03, 2, None, tested) for tested in (10, 1))
    assert far is not None and alone is not None and far.more is not None and alone.more is not None and far.more > alone.more


def test_the_least_number_and_too_few() -> None:
    """Three that agree lack two of five; enough of them lack one at least; of one ratio nothing is known; some never end."""
    assert precision.need([1.0, 1.0, 1.0], 0.01, 5, None, 1) == precision.RoundsNeed(0.01, None, 2, None)
    assert precision.need([1.0] * 6, 0.01, 5, None, 1) == precision.RoundsNeed(0.01, 0.0, 1, None)
    assert precision.need([1.0], 0.01, 2, None, 1) is None
    endless = precision.need([0.5, 2.0], 1e-6, 2, each_s=5.0, tested=1)
    assert endless is not None and endless.more is None and endless.more_s is None


def estimate(ratios: Sequence[float], spread: float) -> Estimate:
    """The mean of log-ratios whose spread is known."""
    logs = [math.log(ratio) for ratio in ratios]
    return Estimate(math.fsum(logs) / len(logs), spread / math.sqrt(len(logs)), 60.0, len(logs))


def test_blocks_that_an_undecided_comparison_lacks() -> None:
    """A difference of 20 % with a spread of 10 % is told with few blocks; one inside the margin has to fit into it."""
    apart = precision.more_to_decide(estimate([math.exp(0.1), math.exp(0.3)], 0.1), 0.03)
    near = precision.more_to_decide(estimate([math.exp(-0.1), math.exp(0.1)], 0.1), 0.03)
    assert apart is not None and near is not None and 1 <= apart < 12 < near
    assert precision.more_to_decide(None, 0.03) is None
    assert precision.more_to_decide(estimate([1.0] * 9, 0.001), 0.03) == 1  # who asks was not decided


def test_what_the_noise_floor_hides_has_no_number_of_blocks() -> None:
    """Beyond the margin it is never called; inside, the interval can still fit into the margin, and nothing else decides."""
    far, near, edge = (Estimate(middle, 0.02, 9.0, 4) for middle in (0.049, 0.002, 0.028))
    assert precision.more_to_decide(far, 0.03) and precision.more_to_decide(far, 0.03, 1, 0.06) is None
    assert precision.more_to_decide(near, 0.03, 1, 0.06) == precision.more_to_decide(near, 0.03)
    plain, hidden = precision.more_to_decide(edge, 0.03), precision.more_to_decide(edge, 0.03, 1, 0.06)
    assert plain is not None and hidden is not None and hidden > 10 * plain
    assert [precision.is_hidden(one, 0.03) for one in (far, near, edge)] == [False, True, True]


def test_more_blocks_decide_as_many_as_foreseen() -> None:
    """Simulated with the spread known, four of five comparisons that get the blocks that they lacked are decided."""
    draw, decided = random.Random(5), 0
    for _ in range(300):
        ratios = [math.exp(draw.gauss(0.10, 0.05)) for _ in range(2)]
        more = precision.more_to_decide(estimate(ratios, 0.05), 0.03)
        assert more is not None
        ratios += [math.exp(draw.gauss(0.10, 0.05)) for _ in range(min(more, 50))]
        decided += differences.of_estimate(estimate(ratios, 0.05)).word is not DifferenceWord.INCONCLUSIVE
    assert decided > 220
