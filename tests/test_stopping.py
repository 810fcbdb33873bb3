"""When a run with a budget ends: by time or by width, after whole blocks, and never because something became significant."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy
import pytest

from fairground import repeats, stopping
from fairground.model import Finding, Plan, Severity, Trial, Verdict
from fairground.stats import Interval
from test_comparisons import trial

PLAN = Plan("t", 1, 40, (), {}, "c", "a:plain", 600.0)


def blocks(count: int, sd: float, ratio: float = 1.0, seed: int = 1) -> list[Trial]:
    """So many blocks of an anchor and a stack at `ratio` of it; a trial takes 9 s."""
    draw = numpy.random.default_rng(seed)
    return [
        trial(stack, block, 10_000 * level * math.exp(draw.normal(0, sd)))
        for block in range(1, count + 1)
        for stack, level in (("a:plain", 1.0), ("b:plain", ratio))
    ]


def test_wide_intervals_go_on_while_there_is_time() -> None:
    """Two stacks that differ by noise of 20 % are measured until the next block would end too late."""
    assert stopping.ending(PLAN, blocks(20, 0.2), 600.0) is None
    found = stopping.ending(PLAN, blocks(33, 0.2), 600.0)
    assert found is not None and found.blocks == 33
    assert found.reason == "the next block would have ended after the budget of 10 min"


def test_pauses_before_repetitions_count() -> None:
    """A trial that the machine disturbed twice waited 40 s in all; that time is spent."""
    done = blocks(20, 0.2)
    disturbed = replace(done[-1], verdict=Verdict.VOID, findings=(Finding("steal", Severity.VOID, "so it is"),), number=40)
    tried = [*done[:-1], disturbed, replace(disturbed, attempt=2), replace(done[-1], number=40, attempt=3)]
    assert repeats.paused_s(tried) == 40
    spent_s = 9 * len(tried)
    left_s = spent_s / 20 + 2.1
    assert stopping.ending(PLAN, tried, spent_s + left_s) is not None
    assert stopping.ending(PLAN, tried, spent_s + 40 + left_s + 2.1) is None


def test_narrow_intervals_end_the_run_from_six_blocks_on() -> None:
    """What is known to 2 % needs no further block; five blocks are never enough to say so."""
    assert stopping.ending(PLAN, blocks(5, 0.001), 600.0) is None
    found = stopping.ending(PLAN, blocks(6, 0.001), 600.0)
    assert found is not None and "within ± 2%" in found.reason


def test_significance_ends_nothing() -> None:
    """A difference that is sure, but neither narrow nor small beside its interval, goes on; the same width without one as well."""
    spread = [0.90, 0.78, 0.88, 0.80, 0.86, 0.82]
    sure = [trial(stack, block, 10_000 * level) for block, ratio in enumerate(spread, 1)
            for stack, level in (("a:plain", 1.0), ("b:plain", ratio))]  # fmt: skip
    (interval,) = stopping.ratios(PLAN, sure)
    assert interval.high < 0.95
    assert stopping.ending(PLAN, sure, 600.0) is None
    centred = [trial(stack, block, 10_000 * level) for block, ratio in enumerate(spread, 1)
               for stack, level in (("a:plain", 1.0), ("b:plain", ratio / 0.84))]  # fmt: skip
    assert stopping.ending(PLAN, centred, 600.0) is None


@pytest.mark.parametrize(
    ("middle", "half", "enough"),
    [(1.0, 0.019, True), (1.0, 0.021, False), (0.5, 0.16, True), (0.5, 0.18, False), (2.0, 0.16, True)],
)
def test_a_width_is_enough_by_itself_or_beside_its_difference(middle: float, half: float, enough: bool) -> None:
    """± 2 % is enough for any difference, a quarter of it for a large one, both ways alike."""
    interval = Interval(middle, middle * math.exp(-half), middle * math.exp(half), 6, 0.95)
    assert stopping.narrow(interval) is enough


def test_the_plans_last_block_needs_no_reason() -> None:
    """A run that measured all of its plan ended as planned."""
    assert stopping.ending(replace(PLAN, blocks=6), blocks(6, 0.001), 1.0) is None
    assert stopping.ending(PLAN, [], 600.0) is None


def test_a_run_that_compares_nothing_ends_by_time_alone() -> None:
    """One stack has no interval that matters: blocks are added up to the time."""
    alone = [one for one in blocks(10, 0.0) if one.cell.stack == "a:plain"]
    assert stopping.ending(PLAN, alone, 600.0) is None
    assert stopping.ending(PLAN, alone, 95.0) is not None


def test_identical_stacks_are_not_called_more_often_for_the_stopping() -> None:
    """Over 200 simulated runs of equals that end by width, the last interval excludes 1 in about one of twenty."""
    wrong = 0
    for seed in range(200):
        whole = blocks(40, 0.02, seed=seed)
        for count in range(6, 41):
            seen = [one for one in whole if one.block <= count]
            if stopping.ending(PLAN, seen, math.inf) is not None or count == 40:
                (interval,) = stopping.ratios(PLAN, seen)
                wrong += interval.low > 1 or interval.high < 1
                break
    assert wrong <= 0.10 * 200
