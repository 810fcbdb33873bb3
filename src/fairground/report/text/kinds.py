"""The kinds of the stacks that a claim holds against each other: published, documented, tuned or an engine. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase

from fairground.claims import statement
from fairground.model import Approach, Claim, Run
from fairground.report.text import words


def mixture(claim: Claim, run: Run) -> str:
    """Say which of a claim's stacks are of which kind, where they are of several. Empty where they are of one."""
    approaches = {id: stack.approach for id, stack in run.stacks.items() if stack.approach is not None}
    kinds = kinds_of(claim, approaches, {(slot.cell.stack, slot.cell.workload) for slot in run.plan.slots})
    if len(kinds) < 2:
        return ""
    parts = [f"{words.join_names(stacks)} {'is' if len(stacks) == 1 else 'are'} {approach}" for approach, stacks in kinds.items()]
    return f"Of different kinds: {'; '.join(parts)}."


def kinds_of(claim: Claim, approaches: Mapping[str, Approach], cells: Collection[tuple[str, str]]) -> dict[Approach, list[str]]:
    """The stacks of a claim's test by the way in which they are written. A pattern means those with a cell of its workload."""
    found = set[str]()
    for term in () if claim.test is None else statement.parse(claim.test).terms:
        name, workload, *_ = term.words
        found |= {stack for stack, asked in cells if "*" in name and asked == workload and fnmatchcase(stack, name)} | {name}
    return {one: stacks for one in Approach if (stacks := sorted(id for id in found if approaches.get(id) is one))}
