"""Stacks against their anchor: what the controls allow to be said, and what they withdraw."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.trials import CELL, trial
from fairground.model import Control, Load, Plan, PlanSlot, Trial, Verdict
from fairground.model.window import WindowTally
from fairground.stats import comparisons
from fairground.stats.comparisons import Judge, Quantity
from fairground.stats.differences import CALLED, DifferenceWord


def run(
    rates: Mapping[str, float], again: float = 1.0, slowed: float = 0.9, sd: float = 0.01, blocks: int = 6
) -> tuple[Plan, list[Trial], list[Trial]]:
    """A simulated run: stacks of these rates, an A/A pair apart by `again`, a slowdown to `slowed`; blocks drift by far more."""
    draw = numpy.random.default_rng(1)
    results, controls, slots = list[Trial](), list[Trial](), list[PlanSlot]()
    for block in range(1, blocks + 1):
        phase = math.exp(draw.normal(0, 0.3))
        for stack, rate in rates.items():
            noise = math.exp(draw.normal(0, sd))
            results.append(trial(stack, block, rate * phase * noise, 1e5 / rate / noise))
        for control, share in ((Control.AGAIN, again), (Control.SLOWED, slowed)):
            noise, rate = math.exp(draw.normal(0, sd)), rates["a:plain"] * share
            controls.append(trial("a:plain", block, rate * phase * noise, 1e5 / rate / noise, control))
            slots.append(PlanSlot(len(slots) + 1, block, CELL, 1, control, 0.1 if control is Control.SLOWED else 0.0))
    return Plan("t", 1, blocks, tuple(slots), {}, "c", "a:plain"), results, controls


RATES = {"a:plain": 10_000.0, "b:plain": 7_000.0, "c:plain": 10_030.0}


def test_stacks_are_told_apart_through_a_drifting_machine() -> None:
    """30 % less is called slower in rate and in cost, 0.3 % more is not; who cannot be told apart shares a group and ranks."""
    judge = Judge.of(*run(RATES))
    for quantity in Quantity:
        found = judge.field(run(RATES)[1], quantity)
        assert found is not None and found.anchor == "a:plain" and not found.withdrawn
        slower, equal = found.of("b:plain"), found.of("c:plain")
        assert slower is not None and equal is not None and found.of("a:plain") is None
        assert slower.difference.word is DifferenceWord.SLOWER
        assert equal.difference.word in (DifferenceWord.EQUIVALENT, DifferenceWord.INCONCLUSIVE)
        assert [set(group) for group in found.groups] == [{"a:plain", "c:plain"}, {"b:plain"}]
        assert found.ranks["b:plain"] == (3, 3) and found.ranks["a:plain"][1] <= 2
        assert found.floor is not None and 0 < found.floor < 0.05
        assert found.detectable is not None and found.detectable < 0.1


def test_a_block_takes_as_long_as_one_that_holds_all_stacks() -> None:
    """Further blocks of one stack by itself make no block shorter."""
    plan, results, _ = run(RATES, blocks=3)
    more = [trial("a:plain", block, 10_000.0) for block in (4, 5, 6)]
    for trials in (results, [*results, *more]):
        found = Judge.of(replace(plan, slots=()), trials, ()).field(trials, Quantity.GOODPUT)
        assert found is not None and found.block_s == pytest.approx(len(RATES) * results[0].duration_s)


@given(st.lists(st.sampled_from([7_000.0, 9_500.0, 9_700.0, 10_000.0, 10_300.0]), min_size=1, max_size=5), st.floats(0.001, 0.2))
@settings(max_examples=40, deadline=None)
def test_a_row_and_its_letters_never_contradict_each_other(rates: list[float], sd: float) -> None:
    """Of any layout: a stack shares a letter with the anchor if, and only if, its row does not call it different."""
    stacks = {f"s{number}:plain": rate for number, rate in enumerate(rates)} | {"a:plain": 10_000.0}
    judge = Judge.of(*run(stacks, sd=sd, blocks=3))
    for quantity in Quantity:
        found = judge.field(run(stacks, sd=sd, blocks=3)[1], quantity)
        assert found is not None
        if found.withdrawn:
            continue
        beside = {stack for group in found.groups if found.anchor in group for stack in group}
        for row in found.rows:
            assert (row.stack in beside) != (row.difference.word in CALLED)
        assert set(found.leading) == {stack for group in found.groups if found.leading[0] in group for stack in group}


def test_a_sound_run_passes_its_controls() -> None:
    """Identical stacks are not told apart, and the planted slowdown is found in both quantities."""
    read = Judge.of(*run(RATES)).readings
    assert [(one.control, one.quantity) for one in read] == [(control, quantity) for control in Control for quantity in Quantity]
    assert not any(one.failed for one in read)
    assert [one.found for one in read] == [False, False, True, True]
    assert {one.planted for one in read if one.control is Control.SLOWED} == {0.1}


def test_an_a_a_pair_that_is_told_apart_withdraws_the_comparisons() -> None:
    """When the anchor differs from itself by 20 %, every word is inconclusive and there are no groups and no ranks."""
    plan, results, controls = run(RATES, again=1.2)
    judge = Judge.of(plan, results, controls)
    assert all(one.failed for one in judge.readings if one.control is Control.AGAIN)
    found = judge.field(results, Quantity.GOODPUT)
    assert found is not None and found.withdrawn
    assert {row.difference.word for row in found.rows} == {DifferenceWord.INCONCLUSIVE}
    assert (found.groups, dict(found.ranks)) == ((), {})


def test_an_a_a_pair_that_differs_a_little_raises_the_floor_instead() -> None:
    """Two per cent between identical stacks withdraws nothing, and nothing of that size is called."""
    plan, results, controls = run(RATES | {"d:plain": 10_250.0}, again=1.02, sd=0.001)
    judge = Judge.of(plan, results, controls)
    assert not any(one.failed for one in judge.readings)
    found = judge.field(results, Quantity.GOODPUT)
    assert found is not None and found.floor is not None and found.floor > 0.019
    near = judge.field(results, Quantity.GOODPUT)
    assert near is not None
    assert {row.stack: row.difference.word for row in near.rows}["b:plain"] is DifferenceWord.SLOWER


def test_noise_hides_the_planted_slowdown_and_everything_near_it() -> None:
    """On a machine that differs by 40 % from trial to trial nothing fails, and nothing is found."""
    plan, results, controls = run(RATES, sd=0.4)
    judge = Judge.of(plan, results, controls)
    assert not any(one.failed or one.found for one in judge.readings)
    found = judge.field(results, Quantity.GOODPUT)
    assert found is not None
    assert {row.difference.word for row in found.rows} == {DifferenceWord.INCONCLUSIVE}


def test_without_controls_the_floor_is_unknown_and_intervals_alone_decide() -> None:
    """A run without controls has no floor, which is not a floor of nothing."""
    plan, results, _ = run(RATES)
    found = Judge.of(replace(plan, slots=()), results, ()).field(results, Quantity.GOODPUT)
    assert found is not None and found.floor is None
    assert [row.stack for row in found.rows if row.difference.word is DifferenceWord.SLOWER] == ["b:plain"]


def test_cpu_that_nobody_measured_is_not_compared() -> None:
    """Without CPU there is no comparison of cost; the rate's stands."""
    plan, results, _ = run(RATES)
    blind = [replace(one, roles={}) for one in results]
    judge = Judge.of(plan, blind, ())
    assert judge.field(blind, Quantity.CPU) is None
    assert judge.field(blind, Quantity.GOODPUT) is not None


def test_one_block_compares_nothing() -> None:
    """A single block has no spread: no comparison, no group, no rank."""
    plan, results, _ = run(RATES, blocks=1)
    assert Judge.of(plan, results, ()).field(results, Quantity.GOODPUT) is None


def test_an_anchor_without_a_number_gives_way() -> None:
    """When the anchor was rejected, the next by name is held against, whatever its speed."""
    plan, results, controls = run(RATES)
    rejected = [replace(one, verdict=Verdict.REJECTED) if one.cell.stack == "a:plain" else one for one in results]
    found = Judge.of(plan, rejected, controls).field(rejected, Quantity.GOODPUT)
    assert found is not None and found.anchor == "b:plain"
    assert [row.stack for row in found.rows] == ["c:plain"]


def test_fields_hold_what_differs_in_the_stack_alone() -> None:
    """Trials of another load or path are another field."""
    other = replace(trial("b:plain", 1, 5.0), cell=replace(CELL, stack="b:plain", load=Load(connections=7)))
    assert [[one.cell.stack for one in field] for field in comparisons.fields_of([trial("a:plain", 1, 5.0), other])] == [
        ["a:plain"], ["b:plain"]
    ]  # fmt: skip


@pytest.mark.parametrize(("rate", "value"), [(10.0, 10.0), (0.0, None)])
def test_a_rate_of_nothing_has_no_ratio(rate: float, value: float | None) -> None:
    """A stack that gave no good answer is not compared by ratio."""
    assert comparisons.value_of(trial("a:plain", 1, rate), Quantity.GOODPUT) == value


def test_a_stack_is_held_against_the_anchor_of_its_own_round() -> None:
    """Two rounds of a block, the second on a machine half as fast: b stands in the first, c in the second; both are a fifth better."""
    results = []
    for block in range(1, 5):
        for number, pace, other in ((2 * block, 1.0, "b:plain"), (2 * block + 1, 0.5, "c:plain")):
            results += [
                replace(trial(stack, block, rate * pace, 1e6 / (rate * pace)), round=number)
                for stack, rate in (("a:plain", 1000.0), (other, 1200.0))
            ]
    judge = Judge.of(Plan("t", 1, 4, (), {}, "c", "a:plain"), results, ())
    for quantity in Quantity:
        found = judge.field(results, quantity)
        assert found is not None
        for row in found.rows:
            assert row.ratios == pytest.approx([1.2] * 4, rel=1e-3)
            assert row.difference.word is DifferenceWord.FASTER and row.estimate.middle == pytest.approx(math.log(1.2), rel=1e-3)


def test_a_control_is_held_against_the_anchor_of_its_own_round() -> None:
    """The anchor stands in two rounds of each block; the control's ratio is to the one that it was measured with."""
    results, controls, slots = list[Trial](), list[Trial](), list[PlanSlot]()
    for block in range(1, 5):
        results += [replace(trial("a:plain", block, rate), round=2 * block + place) for place, rate in enumerate((1000.0, 500.0))]
        controls.append(replace(trial("a:plain", block, 500.0, control=Control.AGAIN), round=2 * block + 1))
        slots.append(PlanSlot(block, block, CELL, 1, Control.AGAIN))
    read = Judge.of(Plan("t", 1, 4, tuple(slots), {}, "c", "a:plain"), results, controls).readings
    assert [one.ratios for one in read if one.quantity is Quantity.GOODPUT] == [pytest.approx((1.0,) * 4)]


def test_ratios_rest_on_turns_where_there_are_some() -> None:
    """In turns a trial's value is theirs, in rate and in cost; its own goodput stays that of the whole window."""
    one = replace(
        trial("a:plain", 1, 1000.0, 100.0), turns=(WindowTally(400, 0, 0.5, 20_000.0), WindowTally(500, 5, 0.5, 25_000.0))
    )
    assert comparisons.value_of(one, Quantity.GOODPUT, in_turns=True) == pytest.approx(900.0)
    assert comparisons.value_of(one, Quantity.CPU, in_turns=True) == pytest.approx(1 / 50.0)
    assert comparisons.value_of(one, Quantity.GOODPUT) == pytest.approx(1000.0)
    assert (one.goodput_per_s, one.cpu_us_per_answer("server")) == pytest.approx((1000.0, 100.0))
    settled = replace(
        one, turns=(WindowTally(400, 0, 0.5, 20_000.0, None, 360, 0.4), WindowTally(500, 5, 0.5, 25_000.0, None, 440, 0.4))
    )
    assert settled.in_turns is not None and settled.in_turns.rate_per_s == 1000.0
    unread = replace(one, turns=(WindowTally(400, 0, 0.5, 20_000.0), WindowTally(500, 5, 0.5, None)))
    assert comparisons.value_of(unread, Quantity.CPU, in_turns=True) is None


def test_an_attempt_of_a_round_is_a_round_of_its_own() -> None:
    """Void in block 2, `b` was measured again beside `a` while the machine gave half: its ratio is that of both blocks."""

    def measured(stack: str, block: int, rate: float, attempt: int = 1) -> Trial:
        turns = (WindowTally(round(rate / 10), 0, 0.1, rate / 2),)
        return replace(trial(stack, block, rate), round=block, attempt=attempt, turns=turns)

    results = [
        measured("a:plain", 1, 1000.0),
        measured("b:plain", 1, 2000.0),
        measured("a:plain", 2, 1000.0),
        replace(measured("b:plain", 2, 100.0), verdict=Verdict.VOID),
        measured("a:plain", 2, 500.0, 2),
        measured("b:plain", 2, 1000.0, 2),
    ]
    found = Judge.of(Plan("t", 1, 2, (), {}, "c", "a:plain"), results, ()).field(results, Quantity.GOODPUT)
    assert found is not None and [row.ratios for row in found.rows] == [pytest.approx((2.0, 2.0))]


def test_turns_are_never_held_against_a_whole_window() -> None:
    """In block 2 `b` took no turns: it is held against others in whole windows, they in turns, and so is a control."""
    turns = (WindowTally(90, 0, 0.1, 4_500.0),)
    results = [
        replace(trial(stack, block, 1000.0), round=block, turns=() if (stack, block) == ("b:plain", 2) else turns)
        for block in (1, 2)
        for stack in ("a:plain", "b:plain")
    ]
    results += [
        replace(one, cell=replace(one.cell, stack="c:plain"), turns=turns) for one in results if one.cell.stack == "a:plain"
    ]
    found = Judge.of(Plan("t", 1, 2, (), {}, "c", "a:plain"), results, ()).field(results, Quantity.GOODPUT)
    assert found is not None and {row.stack: row.ratios for row in found.rows} == {
        "b:plain": pytest.approx((1.0, 1.0)), "c:plain": pytest.approx((1.0, 1.0)),
    }  # fmt: skip
    fit = comparisons.layout(results, Quantity.GOODPUT, in_turns=True)
    assert {name: list(levels) for (name, _), levels in fit.levels.items()} == {
        "a:plain": [1, 2],
        "b:plain": [1],
        "c:plain": [1, 2],
    }
    assert math.exp(fit.levels["a:plain", None][1]) == pytest.approx(900.0)
    alone = [replace(trial("a:plain", block, 1000.0, control=Control.AGAIN), round=block) for block in (1, 2)]
    slots = tuple(PlanSlot(block, block, CELL, 1, Control.AGAIN) for block in (1, 2))
    read = Judge.of(Plan("t", 1, 2, slots, {}, "c", "a:plain"), results, alone).readings
    assert [one.ratios for one in read if one.quantity is Quantity.GOODPUT] == [pytest.approx((1.0, 1.0))]


def test_two_blocks_are_enough_for_what_is_plain() -> None:
    """Twice as fast in both blocks is called where other workloads tell how noisy the run is, and is not by itself."""
    draw = numpy.random.default_rng(2)

    def field(workload: str) -> list[Trial]:
        return [
            replace(one := trial(stack, block, rate * math.exp(draw.normal(0, 0.02))), cell=replace(one.cell, workload=workload))
            for block in (1, 2)
            for stack, rate in (("a:x", 1000.0), ("b:x", 1100.0))
        ]

    fields = [field(f"w{number}") for number in range(8)]
    plan = Plan("t", 1, 2, (), {}, "c", "a:x")
    alone = Judge.of(plan, fields[0], ()).field(fields[0], Quantity.GOODPUT)
    together = Judge.of(plan, [one for some in fields for one in some], ()).field(fields[0], Quantity.GOODPUT)
    assert alone is not None and together is not None
    assert alone.rows[0].difference.word is DifferenceWord.INCONCLUSIVE and alone.rows[0].more_blocks
    assert together.rows[0].difference.word is DifferenceWord.FASTER and together.groups == (("b:x",), ("a:x",))
    assert together.ranks == {"b:x": (1, 1), "a:x": (2, 2)} and (together.decided, together.pairs) == (1, 1)
    wide, narrow = alone.rows[0].difference.ratio, together.rows[0].difference.ratio
    assert wide is not None and narrow is not None and narrow.high / narrow.low < wide.high / wide.low


def test_a_cells_interval_leaves_the_machine_out() -> None:
    """A machine that drifts by 30 % is in no interval of stacks that were measured side by side, and in that of one by itself."""
    _, results, _ = run(RATES, sd=0.01)
    beside = comparisons.cells(results)
    alone = comparisons.cells([one for one in results if one.cell.stack == "a:plain"])
    errors = [found.error for found in beside.values() if found is not None]
    (single,) = alone.values()
    assert len(errors) == 3 and max(errors) < 0.01 and single is not None and single.error > 0.05
    assert list(comparisons.cells(results[:1]).values()) == [None]


def test_rates_and_ratios_are_of_one_fit() -> None:
    """Of two stacks each rate is half of their ratio away from both, and so is its error: controls tell both how values scatter."""
    plan, results, controls = run({"a:plain": 10_000.0, "b:plain": 7_000.0}, blocks=3)
    measured = Judge.of(plan, results, controls).measured[comparisons.field_of(CELL), Quantity.GOODPUT]
    ratio = measured.against(("a:plain", None), ("b:plain", None))
    rates = [one for one in comparisons.cells([*results, *controls]).values() if one is not None]
    assert ratio is not None and len(rates) == 2
    for rate in rates:
        assert (abs(rate.middle), rate.error) == pytest.approx((ratio.middle / 2, ratio.error / 2))
    (single,) = comparisons.cells([*(one for one in results if one.cell.stack == "a:plain"), *controls]).values()
    assert single is not None and single.error > 0.03
