"""Carry out a plan: every slot that is not done yet, in order; each trial is stored before the next begins."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fairground import measure, records
from fairground.host import machine
from fairground.model import Ending, Plan, PlanSlot, Progress, Run, Stack, Trial, Verdict, Workload
from fairground.run import retry, stopping

Before = Callable[[Sequence[PlanSlot]], None]
"""What is to be done before the slots of a round are measured, while nothing of theirs is up."""


def run(
    plan: Plan,
    folder: Path,
    stacks: Mapping[str, Stack],
    workloads: Mapping[str, Workload],
    bench: measure.Bench,
    before: Before = lambda _: None,
) -> Iterator[Trial]:
    """Measure what is left of `plan` into the run folder and yield each trial once it is on disk.

    `stacks` and `workloads` are by id, workloads rendered for the plan's scale. Slots of one round are measured together. Where
    one is void all are measured again, as often as `records` says; all attempts are kept. Interrupt it wherever you like:
    what was yielded is done, and calling it again on the same folder goes on with the rest. `before` is called for each round,
    and its time counts against a budget. A plan with a budget measures in each block the heats that `stopping` still finds open,
    and ends after the whole block that it says; the folder then holds why.
    """
    record = records.load(folder)
    here, judged = machine.fingerprint(bench.keeper.awake), bench.thresholds.values()
    records.require_same(record.head, replace(record.head, machine=here, thresholds=judged))
    known = records.run_of(record)
    bench = replace(bench, machine=known.machine)
    measured, unneeded, timed = list(known.everything), list[int](), _Timed(before)
    for block, slots in itertools.groupby(plan.slots, key=lambda slot: slot.block):
        wanted, left_out = stopping.choose_slots(plan, tuple(slots), [one for one in measured if one.block < block])
        unneeded += left_out
        for one in _measure(wanted, known, folder, stacks, workloads, bench, timed):
            measured.append(one)
            yield one
        newest = block >= max((one.block for one in measured), default=0)
        budget_s = plan.budget_s if newest else None
        if budget_s is not None and (ending := stopping.ending(plan, measured, budget_s, beside_s=timed.spent_s)):
            records.end_run(folder, replace(ending, unneeded=tuple(unneeded)))
            return
    if unneeded:
        records.end_run(folder, Ending(plan.blocks, stopping.NO_MORE, tuple(unneeded)))


@dataclass
class _Timed:
    """The work that is done before rounds, and the seconds that it took so far."""

    before: Before
    spent_s: float = 0.0

    def __call__(self, slots: Sequence[PlanSlot]) -> None:
        began = time.monotonic()
        self.before(slots)
        self.spent_s += time.monotonic() - began


def _measure(
    slots: Sequence[PlanSlot],
    known: Run,
    folder: Path,
    stacks: Mapping[str, Stack],
    workloads: Mapping[str, Workload],
    bench: measure.Bench,
    before: Before,
) -> Iterator[Trial]:
    """Measure what is left of one block.

    A slot that has no sound trial is tried again within its round: all others that can have one take turns with it, so that its
    ratios rest on the same seconds as theirs.
    """
    done, tried = records.done_of(known.everything), _attempts(known.everything)
    lost = {one.number for one in known.everything if one.verdict is Verdict.REJECTED}
    for together in _rounds(slots):
        left = [slot for slot in together if slot.number not in done]
        if not left:
            continue
        here = bench.on(together[0].cell.settings.postgres_version)
        before(left)
        number = max(tried.get(slot.number, 0) for slot in together)
        while left:
            number += 1
            attempts = [_attempt(slot, number, stacks[slot.cell.stack], folder) for slot in together if slot.number not in lost]
            found = measure.together(here, attempts, workloads[together[0].cell.workload])
            for one in found:
                records.append_trial(folder, one)
            yield from found
            lost |= {one.number for one in found if one.verdict is Verdict.REJECTED}
            void = {one.number: one for one in found if one.verdict is Verdict.VOID}
            left = [slot for slot in left if slot.number in void and number < records.ATTEMPTS]
            if left:
                _pause(bench, left[0], number + 1, seconds=max(retry.pause_s(void[slot.number]) for slot in left))


def _rounds(slots: Sequence[PlanSlot]) -> Iterator[list[PlanSlot]]:
    """The slots that are measured together: those of one round, or a single one that is in none."""
    for _, some in itertools.groupby(slots, key=lambda slot: (slot.round, 0 if slot.round else slot.number)):
        yield list(some)


def _attempt(slot: PlanSlot, number: int, stack: Stack, folder: Path) -> measure.Attempt:
    """The attempt of a slot, with an empty folder for its raw data."""
    place = records.trial_folder(folder, slot, number)
    return measure.Attempt(slot, number, stack, place, str(place.relative_to(folder)))


def _pause(bench: measure.Bench, slot: PlanSlot, attempt: int, seconds: int) -> None:
    """Wait before an attempt, and say so."""
    for passed in range(seconds):
        bench.say(Progress("pause", passed, seconds, slot=slot, attempt=attempt))
        time.sleep(1.0)


def _attempts(trials: tuple[Trial, ...]) -> dict[int, int]:
    """Slot number → attempts that are stored."""
    counts: dict[int, int] = {}
    for one in trials:
        counts[one.number] = max(counts.get(one.number, 0), one.attempt)
    return counts
