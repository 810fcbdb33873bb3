"""Several runs of one suite as one, and what a further one should measure. Pure.

Blocks are what joins trials. What the machine did from run to run is one more thing that they differ by: it cancels in ratios.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from fairground.claims.verdict import ClaimJudgement, ClaimVerdict
from fairground.model import LabError, PlanSlot, Run, Suite, SuiteGroup, Trial
from fairground.stats.comparisons import field_of

MOST_RUNS = 4
"""A replication that goes on until it is decided measures so often at most, and is held to as many looks."""


def join(runs: Sequence[Run]) -> Run:
    """Join all that runs measured, in blocks of their own, with what they planned. LabError where they are of two machines."""
    last = runs[-1]
    for one in runs:
        if (one.machine.cpu_model, one.machine.cores) != (last.machine.cpu_model, last.machine.cores):
            problem = f"runs `{one.id}` and `{last.id}` were measured on different machines"
            raise LabError(problem, "judge those of one machine together")
    if len({one.id for one in runs}) < len(runs):
        raise LabError("one run is named twice", "a run says nothing more by being counted again")
    trials, planned, blocks, rounds, slots = list[Trial](), list[PlanSlot](), 0, 0, 0
    for one in runs:
        measured = max((trial.block for trial in one.everything), default=0)
        trials += [
            replace(trial, block=trial.block + blocks, round=trial.round and trial.round + rounds, number=trial.number + slots)
            for trial in one.trials
        ]
        planned += [
            replace(slot, block=slot.block + blocks, round=slot.round and slot.round + rounds, number=slot.number + slots)
            for slot in one.plan.slots
            if slot.block <= measured
        ]
        blocks += measured
        rounds += max((trial.round for trial in one.everything), default=0)
        slots += len(one.plan.slots)
    there = {name for trial in trials for name in (trial.cell.stack, f"{trial.cell.stack} {trial.cell.workload}")}
    skipped = {name: why for one in runs for name, why in one.plan.skipped.items() if name not in there}
    stacks = {id: info for one in runs for id, info in one.stacks.items()}
    plan = replace(last.plan, blocks=blocks, slots=tuple(planned), skipped=skipped)
    return replace(last, trials=tuple(trials), plan=plan, stacks=stacks, finished=all(one.finished for one in runs))


def open_claims_of(judgements: Iterable[ClaimJudgement]) -> list[ClaimJudgement]:
    """The claims that further blocks would decide: not those that are too close to call."""
    return [
        one
        for one in judgements
        if one.verdict is ClaimVerdict.INCONCLUSIVE and (one.needs is not None or one.measured is None) and one.trials
    ]


def narrow(suite: Suite, found: Run, judgements: Iterable[ClaimJudgement], again: int) -> Suite:
    """The suite with those cells alone that undecided claims rest on, in the fields that they were measured in.

    `again`: how often it was measured, so that order and requests are new ones.
    """
    slots = {slot for one in judgements for slot in one.trials}
    groups = dict[object, SuiteGroup]()
    for trial in found.trials:
        if trial.number not in slots:
            continue
        cell, field = trial.cell, field_of(trial.cell)
        known = groups.get(field)
        stacks = (cell.stack,) if known is None else tuple(dict.fromkeys((*known.stacks, cell.stack)))
        groups[field] = SuiteGroup(stacks, (cell.workload,), (cell.load,), cell.settings, (cell.topology,))
    named = {stack for group in groups.values() for stack in group.stacks}
    anchor = suite.anchor if suite.anchor in named else None
    return replace(suite, groups=tuple(groups.values()), seed=suite.seed + again, controls=False, anchor=anchor)
