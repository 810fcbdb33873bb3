"""When a run with a budget ends: by time or by width, after whole blocks, and never because something became significant."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace

import numpy
import pytest

from builders.trials import trial
from fairground.model import CellSettings, Finding, Load, Plan, Severity, Trial, Until, Verdict
from fairground.model.pair import Round, WindowPair, WindowTally
from fairground.model.record import ComparisonAsked
from fairground.run import retry, stopping
from fairground.stats import differences
from fairground.stats.comparisons import Judge, Quantity, fields_of, heat_of
from fairground.stats.fit import Estimate
from fairground.stats.intervals import Interval

PLAN = Plan("t", 1, 40, (), {}, "c", "a:plain", 600.0)


def blocks(count: int, sd: float, ratio: float = 1.0, seed: int = 1) -> list[Trial]:
    """So many blocks of an anchor and a stack at `ratio` of it; a trial takes 9 s."""
    draw = numpy.random.default_rng(seed)
    return [
        trial(stack, block, 10_000 * level * math.exp(draw.normal(0, sd)))
        for block in range(1, count + 1)
        for stack, level in (("a:plain", 1.0), ("b:plain", ratio))
    ]


def compared(trials: list[Trial]) -> list[differences.Difference]:
    """What is said of each stack's goodput over the anchor's."""
    judge = Judge.of(PLAN, trials, ())
    found = [judge.field(field, Quantity.GOODPUT) for field in fields_of(trials)]
    return [row.difference for one in found if one for row in one.rows]


def ratios(trials: list[Trial]) -> list[Interval]:
    """The interval of each of them."""
    return [one.ratio for one in compared(trials) if one.ratio]


def of_workload(trials: list[Trial], workload: str) -> list[Trial]:
    """The same trials on another workload."""
    return [replace(one, cell=replace(one.cell, workload=workload)) for one in trials]


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
    assert retry.paused_s(tried) == 40
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
    (interval,) = ratios(sure)
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


@pytest.mark.parametrize("runs", [30, pytest.param(200, marks=pytest.mark.nightly)])
def test_identical_stacks_are_not_called_more_often_for_the_stopping(runs: int) -> None:
    """Over simulated runs of equals that end by width, the last interval excludes 1 in about one of twenty."""
    wrong = 0
    for seed in range(runs):
        whole = blocks(40, 0.02, seed=seed)
        for count in range(6, 41):
            seen = [one for one in whole if one.block <= count]
            if stopping.ending(PLAN, seen, math.inf) is not None or count == 40:
                (interval,) = ratios(seen)
                wrong += interval.low > 1 or interval.high < 1
                break
    assert wrong <= 0.10 * runs


# ---------------------------------------------------------------- which heats go on


def test_time_goes_to_what_is_still_wide() -> None:
    """A workload whose intervals are narrow gets no further block; the one beside it, which is wide, does."""
    both = of_workload(blocks(6, 0.001), "ping") + of_workload(blocks(6, 0.2), "transfer")
    assert {heat.workload for heat in stopping.open_heats(PLAN, both)} == {"transfer"}
    few = of_workload(blocks(5, 0.001), "ping") + of_workload(blocks(5, 0.2), "transfer")
    assert {heat.workload for heat in stopping.open_heats(PLAN, few)} == {"ping", "transfer"}


def test_a_block_costs_what_its_open_heats_cost() -> None:
    """Six blocks of two workloads took 216 s; another one, of one workload, takes 18 s and fits into 240."""
    both = of_workload(blocks(6, 0.001), "ping") + of_workload(blocks(6, 0.2), "transfer")
    assert stopping.ending(PLAN, both, 235.0) is None
    found = stopping.ending(PLAN, both, 233.0)
    assert found is not None and "after the budget" in found.reason
    open_both = of_workload(blocks(6, 0.2), "ping") + of_workload(blocks(6, 0.2), "transfer")
    assert stopping.ending(PLAN, open_both, 235.0) is not None


def test_a_heat_of_one_stack_waits_for_nobody() -> None:
    """Beside workloads that compare, one with a single stack is done after six blocks; where nothing is compared all goes on."""
    alone = [one for one in of_workload(blocks(6, 0.0), "ping") if one.cell.stack == "a:plain"]
    beside = alone + of_workload(blocks(6, 0.2), "transfer")
    assert {heat.workload for heat in stopping.open_heats(PLAN, beside)} == {"transfer"}
    assert stopping.open_heats(PLAN, alone) == {heat_of(alone[0].cell)}


def test_spreads_of_other_comparisons_count() -> None:
    """With eight workloads that vary alike three blocks are enough, where a comparison alone needs six; two never are."""

    def several(count: int) -> list[Trial]:
        return [one for place in range(8) for one in of_workload(blocks(count, 0.001, seed=place), f"w{place}")]

    assert stopping.open_heats(PLAN, several(3)) == frozenset()
    assert len(stopping.open_heats(PLAN, several(2))) == 8


DECIDED = replace(PLAN, until=Until.DECIDED)


def estimate(logs: list[float]) -> Estimate:
    """The mean of these log-ratios, by themselves."""
    return Estimate(statistics.fmean(logs), statistics.stdev(logs) / math.sqrt(len(logs)), len(logs) - 1, len(logs))


@pytest.mark.parametrize(
    ("middle", "sd", "rows", "enough"),
    [(1.0, 0.012, 1, True), (1.0, 0.012, 8, False), (1.0, 0.02, 1, False), (1.4, 0.06, 1, True), (1.02, 0.02, 1, False)],
)
def test_a_width_that_decides(middle: float, sd: float, rows: int, enough: bool) -> None:
    """Of several comparisons at once each must be narrower; a large difference may be wider, a small one may not."""
    logs = [math.log(middle) + sd * step for step in (-1.3, -0.8, -0.2, 0.2, 0.8, 1.3)]
    assert stopping.is_decided(estimate(logs), rows) is enough


def test_what_is_settled_has_a_word() -> None:
    """Over simulated stacks from 0 to 10 % apart, none that is narrow enough by this rule is left inconclusive."""
    draw, words = numpy.random.default_rng(3), list[str]()
    for ratio in (1.0, 1.01, 1.02, 1.03, 1.05, 1.1):
        for count in (6, 12, 24):
            for _ in range(12):
                seen = [ratio * math.exp(draw.normal(0, 0.02)) for _ in range(count)]
                if stopping.is_decided(estimate([math.log(one) for one in seen]), 1):
                    words.append(differences.of_pairs(seen).word)
    assert len(words) > 60 and differences.DifferenceWord.INCONCLUSIVE not in words


def test_a_run_that_is_to_decide_says_so_at_its_end() -> None:
    """Its intervals are held to the width at which no third word is left, and the ending names it."""
    found = stopping.ending(DECIDED, blocks(8, 0.001), 600.0)
    assert found is not None and found.reason.startswith("every comparison is decided: its interval fits into ± 3%")
    assert stopping.ending(DECIDED, blocks(8, 0.02), 600.0) is None


def test_each_pair_is_decided_and_not_only_those_with_the_anchor() -> None:
    """Two stacks far below the anchor may be alike: their own interval is held to the width, too."""
    draw = numpy.random.default_rng(5)
    levels = (("a:plain", 1.0), ("b:plain", 0.5), ("c:plain", 0.49))
    whole = [
        trial(stack, block, 10_000 * level * math.exp(draw.normal(0, 0.05))) for block in range(1, 13) for stack, level in levels
    ]
    assert stopping.ending(PLAN, whole, math.inf) is not None, "of the anchor's ratios a quarter is narrow enough"
    assert stopping.ending(DECIDED, whole, math.inf) is None
    two = [one for one in whole if one.cell.stack != "c:plain"]
    assert stopping.ending(DECIDED, two, math.inf) is not None


@pytest.mark.nightly
@pytest.mark.parametrize("until", list(Until))
def test_equals_are_not_called_more_often_where_heats_end_apart(until: Until) -> None:
    """Four workloads of two equal stacks, each measured until it is narrow: about one in twenty is called different at most.

    Of 120 that is 6, and by chance up to 10.
    """
    asked, words, ended = replace(PLAN, until=until), list[differences.DifferenceWord](), 0
    for seed in range(30):
        whole = [of_workload(blocks(30, 0.02, seed=100 * seed + place), f"w{place}") for place in range(4)]
        kept: list[Trial] = []
        for count in range(1, 31):
            heats = {heat.workload for heat in stopping.open_heats(asked, kept)} if kept else {f"w{place}" for place in range(4)}
            kept += [one for some in whole for one in some if one.block == count and one.cell.workload in heats]
        found = compared(kept)
        ended += sum(one.ratio is not None and one.ratio.count < 30 for one in found)
        words += [one.word for one in found]
    assert len(words) == 120 and ended > 60
    assert sum(word in differences.CALLED for word in words) <= 10


# ---------------------------------------------------------------- rounds of a comparison


ASKED = ComparisonAsked("a", "b", "one:a", "one:b", None, "ping", Load(), CellSettings(), 1, 100.0, 0.005, 1, 0.01, 0.1)


def starts(count: int, sd: float, cost: float = 1.0, took_s: float = 10.0) -> list[Round]:
    """So many starts in which B's answers cost `cost` times A's, apart by chance."""
    draw = numpy.random.default_rng(1)
    one = WindowTally(1000, 0, 1.0, 1e5)
    return [
        Round(number, (WindowPair(number, 1, "a", one, replace(one, cpu_us=1e5 * cost * math.exp(draw.normal(0, sd)))),), took_s)
        for number in range(1, count + 1)
    ]


def test_a_budget_that_cannot_decide_is_said_before_the_start() -> None:
    """Five starts with their warm-ups and at least a pair in each must fit; the sentence names the seconds."""
    asked = replace(ASKED, pairs=5, load=Load(window_s=1.0, warmup_min_s=2.0))
    assert stopping.too_short(replace(asked, budget_s=28.0)) is None
    said = stopping.too_short(replace(asked, budget_s=1.0))
    assert said is not None and "take 28 s at least: within 1 s the comparison will stay inconclusive" in said


@pytest.mark.parametrize(
    ("budget_s", "window_s", "pairs"), [(60.0, 1.0, 2), (90.0, 1.0, 4), (180.0, 1.0, 5), (5.0, 1.0, 1), (60.0, 0.5, 4)]
)
def test_a_small_budget_makes_short_starts(budget_s: float, window_s: float, pairs: int) -> None:
    """One more start than is judged must fit into the budget, whatever that leaves for pairs; five are the most, one the least."""
    load = Load(window_s=window_s, warmup_min_s=2.0)
    assert stopping.pairs_within(budget_s, load) == pairs


@pytest.mark.parametrize(
    ("took_s", "pairs"),
    [((10.0,), 2), ((12.0,), 1), ((8.0,), 3), ((30.0,), 1), ((10.0, 10.0, 10.0, 10.0, 10.0, 10.0), 1), ((), 3)],
)
def test_slow_starts_get_fewer_pairs(took_s: tuple[float, ...], pairs: int) -> None:
    """Of 66 s, what the starts so far took beside their pairs of 2.3 s leaves room for so many in each of six; never more than asked."""
    asked = replace(ASKED, pairs=3, budget_s=66.0, load=Load(window_s=1.0, warmup_min_s=2.0))
    one = WindowTally(1000, 0, 1.0, 1e5)
    made = [Round(number, (WindowPair(number, 1, "a", one, one),) * 2, took) for number, took in enumerate(took_s, 1)]
    assert stopping.pairs_of_next(made, asked) == pairs


def test_a_comparison_begins() -> None:
    """Without a round there is nothing to end, however small the budget."""
    assert stopping.comparison_end([], replace(ASKED, budget_s=0.001)) is None


@pytest.mark.parametrize("count", [1, 2, 9, 10])
def test_a_wide_comparison_ends_with_its_budget(count: int) -> None:
    """Another round begins while it would end within the budget, by the mean of the rounds so far."""
    found = stopping.comparison_end(starts(count, 0.2), ASKED)
    ended = "the next round would have ended after the budget of 1.67 min"
    assert found == (ended if count == 10 else None)


def test_a_narrow_comparison_ends_after_six_starts() -> None:
    """What is known well enough needs no more; five starts are never enough, and a sure difference alone ends nothing."""
    assert stopping.comparison_end(starts(5, 0.0001), ASKED) is None
    assert stopping.comparison_end(starts(6, 0.0001), ASKED) == "the interval is within ± 0.50%"
    assert stopping.comparison_end(starts(6, 0.03, cost=2.0), ASKED) is None


def test_spoiled_pairs_narrow_nothing() -> None:
    """Starts whose pairs are all void do not count among those that are enough."""
    sound = starts(6, 0.0001)
    spoiled = [replace(one, pairs=(replace(one.pairs[0], void="steal"),)) for one in sound[:2]]
    assert stopping.comparison_end([*spoiled, *sound[2:]], ASKED) is None


def test_an_arm_that_is_rejected_ends_a_comparison() -> None:
    """There is nothing to compare any more, and its finding is the reason."""
    rejected = Finding("server", Severity.REJECT, "it ended")
    noted = replace(rejected, severity=Severity.WARN)
    first = starts(1, 0.1)[0]
    assert stopping.comparison_end([replace(first, findings={"b": (noted,)})], ASKED) is None
    assert stopping.comparison_end([replace(first, findings={"b": (noted, rejected)})], ASKED) == "`b` is rejected: it ended"
