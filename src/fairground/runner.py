"""Carrying out a plan: every slot that is not done yet, in order; each trial is stored before the next begins."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fairground import stopping, store, trial
from fairground.model import LabError, Plan, Run, Slot, Stack, Trial, Verdict, Workload


def run(
    plan: Plan, folder: Path, stacks: Mapping[str, Stack], workloads: Mapping[str, Workload], bench: trial.Bench
) -> Iterator[Trial]:
    """Measure what is left of `plan` into the run folder and yield each trial once it is on disk.

    `stacks` and `workloads` are by id, workloads rendered for the plan's scale. A void trial is repeated in its slot as often
    as `store` says; all attempts are kept. Interrupt it wherever you like: what was yielded is done, and calling it again on the
    same folder goes on with the rest. A plan with a budget ends after the whole block that `stopping` says, and the run's folder
    then holds why.
    """
    known = store.load(folder)
    measured = list(known.everything)
    for block, slots in itertools.groupby(plan.slots, key=lambda slot: slot.block):
        for one in _measure(tuple(slots), known, folder, stacks, workloads, bench):
            measured.append(one)
            yield one
        newest = block >= max((one.block for one in measured), default=0)
        if plan.budget_s is not None and newest and (ending := stopping.ending(plan, measured, plan.budget_s)):
            store.end(folder, ending)
            return


def _measure(
    slots: Sequence[Slot],
    known: Run,
    folder: Path,
    stacks: Mapping[str, Stack],
    workloads: Mapping[str, Workload],
    bench: trial.Bench,
) -> Iterator[Trial]:
    """What is left of one block."""
    done, tried = store.done_slots(known), _attempts(known.everything)
    for slot in slots:
        if slot.number in done:
            continue
        for attempt in range(tried.get(slot.number, 0) + 1, store.ATTEMPTS + 1):
            place = store.trial_folder(folder, slot, attempt)
            found = trial.run(
                bench,
                slot,
                attempt,
                stacks[slot.cell.stack],
                workloads[slot.cell.workload],
                place,
                str(place.relative_to(folder)),
            )
            store.append(folder, found)
            yield found
            if found.verdict is not Verdict.VOID:
                break


def one_value(plan: Plan, name: str) -> object:
    """The one value that setting `name` has in the whole plan; LabError when it has several, since a run has one database."""
    values = {getattr(slot.cell.settings, name) for slot in plan.slots}
    if len(values) != 1:
        raise LabError(
            f"the plan has several values of `{name}`: {', '.join(sorted(map(str, values)))}", "make a run for each of them"
        )
    return values.pop()


def _attempts(trials: tuple[Trial, ...]) -> dict[int, int]:
    """Slot number → attempts that are stored."""
    counts: dict[int, int] = {}
    for one in trials:
        counts[one.number] = max(counts.get(one.number, 0), one.attempt)
    return counts
