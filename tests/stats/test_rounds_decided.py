"""What rounds of pairs say of two arms: differences are called, equals are not, and starts are the unit of evidence."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy
import pytest

from fairground.model.pair import WindowPair, WindowTally
from fairground.stats.differences import DifferenceWord
from fairground.stats.rounds import decide


def pairs(
    rate: float, cost: float, rounds: int = 8, each: int = 5, start_sd: float = 0.01, pair_sd: float = 0.04, seed: int = 1
) -> list[WindowPair]:
    """Simulated pairs: B gives `rate` times A's answers at `cost` times its CPU; starts and windows differ by chance."""
    draw = numpy.random.default_rng(seed)
    found = []
    for number in range(1, rounds + 1):
        start = draw.normal(0, start_sd)
        for place in range(1, each + 1):
            phase, noise = math.exp(draw.normal(0, 0.3)), math.exp(start + draw.normal(0, pair_sd))
            a, b = 10_000 * phase, 10_000 * phase * rate * noise
            cpu_a, cpu_b = 1e6 / phase / 10, 1e6 / phase / 10 * cost / noise
            one = WindowTally(round(a), 0, 1.0, cpu_a * a / 1e5)
            other = WindowTally(round(b), 0, 1.0, cpu_b * b / 1e5)
            found.append(WindowPair(number, place, "a", one, other))
    return found


def test_a_slower_arm_is_called_on_both_quantities() -> None:
    """5 % more CPU and 5 % fewer answers are seen through phases of 30 %."""
    decision = decide(pairs(0.95, 1.05), 0.01)
    assert (decision.rate.word, decision.cost.word) == (DifferenceWord.SLOWER, DifferenceWord.SLOWER)
    assert decision.rate.ratio is not None and decision.rate.ratio.middle == pytest.approx(0.95, abs=0.03)
    assert (decision.rounds, decision.pairs, decision.void_pairs) == (8, 40, 0)


def test_instructions_are_compared_where_both_sides_count_them() -> None:
    """3 % more instructions for an answer; one window without them leaves the quantity out."""
    counted = [
        replace(one, a=replace(one.a, instructions=one.a.ok * 1000), b=replace(one.b, instructions=one.b.ok * 1030))
        for one in pairs(1.0, 1.0)
    ]
    effort = decide(counted, 0.01).effort
    assert effort is not None and effort.ratio is not None and effort.word is DifferenceWord.SLOWER
    assert effort.ratio.middle == pytest.approx(1 / 1.03)
    counted[3] = replace(counted[3], b=replace(counted[3].b, instructions=None))
    assert decide(counted, 0.01).effort is None and decide([], 0.01).effort is None


def test_equal_arms_are_seldom_called() -> None:
    """Over 200 simulated comparisons of equals, starts that differ included, faster and slower are rare."""
    words = [decide(pairs(1.0, 1.0, seed=seed), 0.01).cost.word for seed in range(200)]
    assert sum(word in (DifferenceWord.FASTER, DifferenceWord.SLOWER) for word in words) <= 0.08 * 200


def test_starts_are_the_unit_of_evidence() -> None:
    """When starts differ much, many windows inside few starts make no narrow interval."""
    few = decide(pairs(1.0, 1.0, rounds=6, each=40, start_sd=0.10, pair_sd=0.001), 0.01)
    assert few.half_width is not None and few.half_width > 0.04


def test_a_window_that_fails_in_its_settled_part_is_not_left_out() -> None:
    """A server that answers the burst of each turn and then errors is slower, and not equal by the window in which it worked."""
    works = WindowTally(1000, 0, 1.0, None, settled_ok=600, settled_s=0.6)
    fails = WindowTally(100, 900, 1.0, None, settled_ok=0, settled_s=0.6)
    some = [
        WindowPair(number, place, "a", works, fails if place > 1 else works) for number in range(1, 7) for place in range(1, 5)
    ]
    decision = decide(some, 0.01)
    assert decision.rate.word is DifferenceWord.SLOWER and decision.rate.ratio is not None
    assert decision.rate.ratio.middle == pytest.approx(0.1 ** (3 / 4))


def test_few_starts_call_nothing() -> None:
    """Below five starts every word is inconclusive, whatever the numbers."""
    decision = decide(pairs(0.5, 2.0, rounds=4), 0.01)
    assert (decision.rate.word, decision.cost.word) == (DifferenceWord.INCONCLUSIVE, DifferenceWord.INCONCLUSIVE)


def test_void_pairs_count_for_nothing() -> None:
    """Pairs that the machine spoiled are kept, counted, and not used."""
    spoiled = [replace(pair, void="somebody else computed", b=replace(pair.b, ok=1)) for pair in pairs(1.0, 1.0)]
    decision = decide([*pairs(0.9, 1.1), *spoiled], 0.01)
    assert decision.void_pairs == 40
    assert decision.rate.ratio is not None and decision.rate.ratio.middle == pytest.approx(0.9, abs=0.03)


def test_without_cpu_only_the_rate_is_decided() -> None:
    """A machine that shows no CPU leaves the cost unknown, not zero."""
    blind = [replace(pair, a=replace(pair.a, cpu_us=None)) for pair in pairs(0.9, 1.0)]
    decision = decide(blind, 0.01)
    assert decision.cost.ratio is None and decision.rate.word is DifferenceWord.SLOWER
    assert decision.half_width is not None


def test_requests_without_a_good_answer_are_told() -> None:
    """The share is each arm's own, over its sound pairs; a spoiled pair's errors are the machine's."""
    seen = [replace(pair, b=replace(pair.b, ok=900, not_ok=100)) for pair in pairs(1.0, 1.0)]
    spoiled = replace(seen[0], void="somebody else computed", a=replace(seen[0].a, not_ok=7))
    assert decide([*seen, spoiled], 0.01).failed == (0.0, 0.1)
    assert decide([], 0.01).failed == (None, None)


def test_the_generator_works_for_every_answer() -> None:
    """Its CPU is shared out among all answers, bad ones as well; without answers there is nothing to share."""
    assert WindowTally(60, 40, 1.0, None, 500.0).generator_us_per_answer == 5.0
    assert WindowTally(0, 0, 1.0, None, 500.0).generator_us_per_answer is None


def start(number: int, a: float, b: float, cpu: bool = True) -> WindowPair:
    """A round of one pair whose arms' answers cost `a` and `b` µs; with cost goes the rate."""
    one, other = (WindowTally(round(1e6 / cost), 0, 1.0, 1e6 if cpu else None) for cost in (a, b))
    return WindowPair(number, 1, "a", one, other)


WOBBLES = (1.0, 1.006, 0.994, 1.003, 0.997, 1.001, 0.999, 1.004)


@pytest.mark.parametrize("arm", [0, 1])
@pytest.mark.parametrize("cpu", [True, False])
def test_a_server_with_two_modes_is_found(arm: int, cpu: bool) -> None:
    """In rounds 2, 3 and 7 one arm needs 20 % more; while the machine is half as fast in every other round, for both."""
    found = []
    for number, wobble in enumerate(WOBBLES, 1):
        phase, more = 1.0 + number % 2, 1.2 if number in (2, 3, 7) else 1.0
        costs = [50.0 * phase, 50.0 * phase * wobble]
        costs[arm] *= more
        found.append(start(number, *costs, cpu=cpu))
    modes = decide(found, 0.01).modes
    assert modes is not None and modes.arm == arm and modes.apart == pytest.approx(0.2, abs=0.01)
    assert modes.quantity == ("CPU per answer" if cpu else "goodput")
    assert (modes.high if cpu else modes.low) == (2, 3, 7) and len(modes.low) + len(modes.high) == 8


def test_phases_of_the_machine_are_no_modes() -> None:
    """What makes both arms slow in some rounds is not theirs; void pairs make no mode either."""
    even = [start(number, 50.0 * (1 + number % 2), 50.0 * (1 + number % 2) * wobble) for number, wobble in enumerate(WOBBLES, 1)]
    spoiled = [replace(start(number, 50.0, 80.0), void="steal") for number in (2, 3, 7)]
    assert decide([*even, *spoiled], 0.01).modes is None


def test_modes_that_are_close_are_of_no_interest() -> None:
    """Two clear groups half a percent apart are not told."""
    assert decide([start(number, 50.0, 50.0 * (1 + 0.005 * (number % 2))) for number in range(1, 9)], 0.01).modes is None
    assert decide([start(number, 50.0, 50.0 * (1 + 0.020 * (number % 2))) for number in range(1, 9)], 0.01).modes is not None
