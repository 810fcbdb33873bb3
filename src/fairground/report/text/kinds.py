"""The kinds of the stacks that a claim holds against each other: published, documented, tuned or an engine. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from fairground.claims import statement
from fairground.model import Approach, Claim, Run
from fairground.report.text import words


def mixture(claim: Claim, run: Run) -> str:
    """Say which of a claim's stacks are of which kind, where they are of several. Empty where they are of one."""
    approaches = {id: stack.approach for id, stack in run.stacks.items() if stack.approach is not None}
    kinds = kinds_of(claim, approaches)
    if len(kinds) < 2:
        return ""
    parts = [f"{words.join_names(stacks)} {'is' if len(stacks) == 1 else 'are'} {approach}" for approach, stacks in kinds.items()]
    return f"Of different kinds: {'; '.join(parts)}."


def kinds_of(claim: Claim, approaches: Mapping[str, Approach]) -> dict[Approach, list[str]]:
    """The stacks that a claim's test names, by the way in which they are written. A pattern names whom it fits."""
    named = [] if claim.test is None else [term.words[0] for term in statement.parse(claim.test).terms]
    found = [id for id in approaches if any(fnmatchcase(id, name) for name in named)]
    return {approach: stacks for approach in Approach if (stacks := _of(approach, found, approaches))}


def _of(approach: Approach, stacks: Iterable[str], approaches: Mapping[str, Approach]) -> list[str]:
    return [id for id in stacks if approaches[id] is approach]
