"""Carrying out a plan: what is measured in which order, what a budget ends, and how a run goes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from builders import trials
from fairground import measure, records
from fairground.host import machine
from fairground.model import (
    Cell,
    CellSettings,
    Control,
    Finding,
    Load,
    Plan,
    PlanSlot,
    Progress,
    Severity,
    Topology,
    Trial,
    Verdict,
)
from fairground.run import runner
from fairground.stats.comparisons import heat_of

CELL = Cell("a:plain", "tx", Topology(), Load(), CellSettings())


class Lab:
    """A run of two stacks and a control, whose trials take 9 s and no time; `verdicts` are told to trials in their order."""

    def __init__(self, results: Path, blocks: int, budget_s: float | None = None, verdicts: tuple[Verdict, ...] = ()) -> None:
        kinds = (("a:plain", None), ("b:plain", None), ("a:plain", Control.AGAIN))
        slots = [
            PlanSlot(number, (number - 1) // 3 + 1, replace(CELL, stack=stack), 1, control)
            for number, (stack, control) in enumerate(kinds * blocks, start=1)
        ]
        self.plan = Plan("t", 1, blocks, tuple(slots), {}, "c", "a:plain", budget_s)
        self.folder = records.create_run(
            results, self.plan, started_unix_s=0.0, machine=machine.fingerprint(), versions={}, database_settings={}, stacks={},
            workloads={},
        )  # fmt: skip
        self._verdicts: Iterator[Verdict] = iter(verdicts)
        self._seen = 0
        self.asked = list[list[int]]()
        """The slots of each call that measured."""

    def together(self, bench: Any, attempts: Sequence[measure.Attempt], workload: Any) -> tuple[Trial, ...]:
        """In place of `measure.together`."""
        self.asked.append([one.slot.number for one in attempts])
        return tuple(self.measure(one.slot, one.number, one.folder_name) for one in attempts)

    def measure(self, slot: PlanSlot, attempt: int, name: str) -> Trial:
        """A trial that took no time."""
        self._seen += 1
        one = trials.trial(slot.cell.stack, slot.block, 10_000.0 * (1 + 0.2 * (self._seen % 3)), control=slot.control)
        verdict = next(self._verdicts, Verdict.VALID)
        return replace(one, number=slot.number, attempt=attempt, folder=name, verdict=verdict)

    def run(self, plan: Plan | None = None, before: runner.Before = lambda _: None) -> list[tuple[int, int, int]]:
        """Carry it out; block, number and attempt of what was measured."""
        nothing = measure.Bench(cast(Any, SimpleNamespace(awake=False)), *[cast(Any, None)] * 3, cores=2)
        named = cast(Any, {"a:plain": SimpleNamespace(), "b:plain": SimpleNamespace()})
        done = runner.run(plan or self.plan, self.folder, named, cast(Any, {"tx": None, "ping": None}), nothing, before)
        return [(one.block, one.number, one.attempt) for one in done]


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes labs whose trials are made up."""

    def make(*args: Any, **more: Any) -> Lab:
        found = Lab(tmp_path, *args, **more)
        monkeypatch.setattr(measure, "together", found.together)
        return found

    return make


def test_every_slot_is_measured_once_in_order(lab: Any) -> None:
    """Without a budget the whole plan is measured, controls in their places, and the run is finished without a reason."""
    here = lab(2)
    assert here.run() == [(1, 1, 1), (1, 2, 1), (1, 3, 1), (2, 4, 1), (2, 5, 1), (2, 6, 1)]
    run = records.load_run(here.folder)
    assert run.finished and run.ending is None
    assert [one.number for one in run.controls] == [3, 6]
    assert here.run() == []


def test_void_trials_are_repeated_in_their_slot(lab: Any) -> None:
    """A void trial is followed by another attempt, at most twice; then the next slot has its turn."""
    here = lab(1, verdicts=(Verdict.VOID, Verdict.VALID, Verdict.VOID, Verdict.VOID, Verdict.VOID))
    assert here.run() == [(1, 1, 1), (1, 1, 2), (1, 2, 1), (1, 2, 2), (1, 2, 3), (1, 3, 1)]


def in_a_round(here: Lab) -> Plan:
    """The plan with all of its slots in one round."""
    return replace(here.plan, slots=tuple(replace(slot, round=1) for slot in here.plan.slots))


def test_a_void_trial_is_repeated_with_its_round(lab: Any) -> None:
    """All of the round take turns again, until each slot had a sound trial once: later voids of those that had take nothing away."""
    valid, void = Verdict.VALID, Verdict.VOID
    here = lab(1, verdicts=(valid, void, void, valid, valid, void, void, void, valid))
    assert here.run(in_a_round(here)) == [(1, number, attempt) for attempt in (1, 2, 3) for number in (1, 2, 3)]
    assert here.asked == [[1, 2, 3]] * 3
    assert records.load_run(here.folder).finished and here.run(in_a_round(here)) == []


def test_what_is_void_too_often_is_given_up(lab: Any) -> None:
    """The round is measured three times at most, and what was sound then counts."""
    here = lab(1, verdicts=(Verdict.VALID, Verdict.VOID, Verdict.VALID) * 3)
    assert len(here.run(in_a_round(here))) == 9
    run = records.load_run(here.folder)
    assert run.finished and [one.goodput_per_s is None for one in run.trials] == [False, True] * 3


def test_what_was_rejected_is_no_partner_again(lab: Any) -> None:
    """Wrong answers have no number to be held against: the others are measured again without it."""
    here = lab(1, verdicts=(Verdict.REJECTED, Verdict.VOID, Verdict.VALID))
    here.run(in_a_round(here))
    assert here.asked == [[1, 2, 3], [2, 3]]


def test_what_is_done_before_a_round_is_done_once(lab: Any) -> None:
    """It is told the slots that will be measured, while none of them is; what is tried again has had it."""
    here, told = lab(2, verdicts=(Verdict.VALID, Verdict.VOID)), list[tuple[list[int], int]]()
    here.run(in_a_round(here), before=lambda slots: told.append(([slot.number for slot in slots], len(here.asked))))
    assert told == [([1, 2, 3], 0), ([4, 5, 6], 2)]
    assert here.asked == [[1, 2, 3], [1, 2, 3], [4, 5, 6]]


def test_what_is_done_before_a_round_counts_against_the_budget(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 27 s a block, and 5 s before each of its three trials, 100 s hold two blocks in place of three."""
    here, clock = lab(9, 100.0), [0.0]
    monkeypatch.setattr(runner.time, "monotonic", lambda: clock[0])
    here.run(before=lambda _: clock.append(clock.pop() + 5))
    ending = records.load_run(here.folder).ending
    assert ending is not None and ending.blocks == 2


def test_a_round_that_was_cut_short_goes_on_with_the_rest(lab: Any) -> None:
    """Its finished trials stay, and those that are missing are measured in turns with them."""
    here = lab(1)
    plan = in_a_round(here)
    records.append_trial(here.folder, here.measure(plan.slots[1], 1, "kept"))
    assert here.run(plan) == [(1, 1, 2), (1, 2, 2), (1, 3, 2)]
    assert here.run(plan) == []


@pytest.mark.parametrize(("cause", "paused"), [("steal", [10, 30]), ("foreign-cpu", [10, 30]), ("port", []), ("generator", [])])
def test_a_disturbed_trial_is_repeated_after_a_while(
    lab: Any, monkeypatch: pytest.MonkeyPatch, cause: str, paused: list[int]
) -> None:
    """What other work made void waits longer before each attempt, and is not waited for after the last; other voids do not wait."""
    here = lab(1, verdicts=(Verdict.VOID, Verdict.VOID, Verdict.VOID))
    measured, slept, said = here.together, list[float](), list[Progress]()
    cause_of = {Verdict.VOID: (Finding(cause, Severity.VOID, "so it is"),)}

    def disturbed(*args: Any) -> tuple[Trial, ...]:
        return tuple(replace(found, findings=cause_of.get(found.verdict, ())) for found in measured(*args))

    monkeypatch.setattr(measure, "together", disturbed)
    monkeypatch.setattr(runner.time, "sleep", slept.append)
    nothing = measure.Bench(cast(Any, SimpleNamespace(awake=False)), *[cast(Any, None)] * 3, cores=2, say=said.append)
    named = cast(Any, {"a:plain": SimpleNamespace(), "b:plain": SimpleNamespace()})
    done = list(runner.run(here.plan, here.folder, named, cast(Any, {"tx": None}), nothing))
    assert [(one.number, one.attempt) for one in done] == [(1, 1), (1, 2), (1, 3), (2, 1), (3, 1)]
    assert sum(slept) == sum(paused)
    assert [(one.attempt, one.total_s) for one in said if one.elapsed_s == 0] == list(enumerate(paused, start=2))
    assert {one.phase for one in said} <= {"pause"}


def test_a_budget_ends_the_run_after_a_whole_block(lab: Any) -> None:
    """With 27 s a block, 100 s hold three blocks; the reason is kept, and the rest of the plan is not missing."""
    here = lab(9, 100.0)
    assert [block for block, _, _ in here.run()] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    run = records.load_run(here.folder)
    assert run.finished and run.ending is not None and run.ending.blocks == 3
    assert "after the budget of" in run.ending.reason


def test_what_is_narrow_gets_no_further_block(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A workload that is known is left out of later blocks; what was left out is kept, and the run is finished without it."""
    here = lab(4, 1000.0)
    narrow = replace(CELL, workload="ping")
    slots = tuple(
        replace(slot, cell=replace(narrow, stack=slot.cell.stack)) if slot.number % 3 == 0 else slot for slot in here.plan.slots
    )
    plan = replace(here.plan, slots=slots)

    def known_from_two_blocks(_: Plan, trials: Sequence[Trial]) -> frozenset[Cell]:
        two = max(one.block for one in trials) >= 2
        return frozenset({heat_of(CELL)} if two else {heat_of(CELL), heat_of(narrow)})

    monkeypatch.setattr(runner.stopping, "open_heats", known_from_two_blocks)
    assert [number for _, number, _ in here.run(plan)] == [1, 2, 3, 4, 5, 6, 7, 8, 10, 11]
    run = records.load_run(here.folder)
    assert run.finished and run.ending is not None and run.ending.unneeded == (9, 12)
    assert run.ending.reason == "no block is left in its plan"


def test_a_block_that_was_interrupted_is_finished_before_the_time_is_asked(lab: Any) -> None:
    """Going on inside a block measures the rest of it, although the budget is spent, and then ends."""
    here = lab(9, 40.0)
    for slot in here.plan.slots[:4]:
        place = records.trial_folder(here.folder, slot, 1)
        records.append_trial(here.folder, here.measure(slot, 1, place.name))
    assert here.run() == [(2, 5, 1), (2, 6, 1)]
    assert records.load_run(here.folder).ending is not None


def test_a_larger_budget_goes_on_where_the_run_ended(lab: Any) -> None:
    """With the note of its end removed and more time, further blocks follow the measured ones."""
    here = lab(9, 60.0)
    here.run()
    records.reopen_run(here.folder, 100.0)
    assert [block for block, _, _ in here.run(replace(here.plan, budget_s=100.0))] == [3, 3, 3]
    run = records.load_run(here.folder)
    assert run.ending is not None and run.ending.blocks == 3
