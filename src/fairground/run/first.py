"""Choose what a first look at a suite measures while most of its servers are still to be built. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from dataclasses import replace

from fairground.model import Cell, Suite

WORKLOADS = 2
"""This many workloads of two stacks: the least that shows who is ahead where."""
WORTH_S = 30.0
"""Where the rest is built in less, a first look costs more time than it saves."""


def look(suite: Suite, cells: Collection[Cell], builds_s: Mapping[str, float]) -> Suite | None:
    """The part of a suite that has numbers soonest: two stacks on the first workloads that both of them answer.

    `builds_s`: seconds until a stack is built, 0 where it is. None where no two stacks share enough, or the wait is short.
    """
    asked = {stack: {cell.workload for cell in cells if cell.stack == stack} for stack in builds_s}
    named = list(dict.fromkeys(name for group in suite.groups for name in group.workloads))
    soonest = sorted(asked, key=lambda stack: builds_s[stack])
    pairs = sorted(itertools.combinations(soonest, 2), key=lambda pair: sum(builds_s[stack] for stack in pair))
    for pair in pairs:
        shared = [one for one in named if all(one in asked[stack] for stack in pair)][:WORKLOADS]
        if len(shared) < WORKLOADS:
            continue
        if sum(builds_s.values()) - sum(builds_s[stack] for stack in pair) < WORTH_S:
            return None
        groups = [replace(group, stacks=pair, workloads=_those(group.workloads, shared)) for group in suite.groups]
        return replace(suite, title=f"{suite.title}, first look", groups=tuple(group for group in groups if group.workloads))
    return None


def _those(named: Collection[str], shared: Collection[str]) -> tuple[str, ...]:
    return tuple(one for one in named if one in shared)
