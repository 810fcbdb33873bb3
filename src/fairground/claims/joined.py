"""Several runs of one suite as one, and what a further one should measure. Pure.

Blocks are what joins trials. What the machine did from run to run is one more thing that they differ by: it cancels in ratios.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from fairground.claims.verdict import ClaimJudgement, ClaimVerdict
from fairground.model import LabError, Run, Suite, SuiteGroup, Trial
from fairground.stats.comparisons import field_of

MOST_RUNS = 4
"""A replication that goes on until it is decided measures so often at most, and is held to as many looks."""


def join(runs: Sequence[Run]) -> Run:
    """The trials of all runs as those of the last one, in blocks of their own. LabError where they were made on two machines."""
    last = runs[-1]
    for one in runs:
        if (one.machine.cpu_model, one.machine.cores) != (last.machine.cpu_model, last.machine.cores):
            problem = f"runs `{one.id}` and `{last.id}` were measured on different machines"
            raise LabError(problem, "judge those of one machine together")
    if len({one.id for one in runs}) < len(runs):
        raise LabError("one run is named twice", "a run says nothing more by being counted again")
    trials, blocks, rounds, slots = list[Trial](), 0, 0, 0
    for one in runs:
        trials += [
            replace(trial, block=trial.block + blocks, round=trial.round and trial.round + rounds, number=trial.number + slots)
            for trial in one.trials
        ]
        blocks += max((trial.block for trial in one.everything), default=0)
        rounds += max((trial.round for trial in one.everything), default=0)
        slots += len(one.plan.slots)
    return replace(last, trials=tuple(trials), plan=replace(last.plan, blocks=blocks))


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
    return replace(suite, groups=tuple(groups.values()), seed=suite.seed + again, controls=False)
