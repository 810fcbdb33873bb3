"""The rule by which a plan is shared out among hosts. Pure.

A share is measured by one host from its first slot to its last. It is a whole block where there are blocks enough for all hosts,
and else one heat of a block: its stacks are compared with each other, so that they must not be apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fairground.model import Cell, PlanSlot, Trial
from fairground.stats.comparisons import heat_of


@dataclass(frozen=True)
class PlanShare:
    """Slots of one block that one host measures. `begun_on`: the only machine that may, since it has begun; None: any."""

    slots: tuple[PlanSlot, ...]
    begun_on: str | None = None


def shares(left: Sequence[PlanSlot], measured: Iterable[Trial], hosts: int, own: str) -> tuple[PlanShare, ...]:
    """The slots that are left, as shares for this many hosts, in the plan's order.

    A heat of a block that is measured in part stays with its machine, by the hash of its name; `own`: of trials that name none.
    """
    done = list(measured)
    begun = {(trial.block, heat_of(trial.cell)): trial.machine or own for trial in done}
    planned = {(slot.block, slot.number) for slot in left} | {(trial.block, trial.number) for trial in done}
    sizes = Counter(block for block, _ in planned)
    largest = max(sizes.values(), default=0)  # what some groups have alone keeps no host busy
    whole = sum(sizes[block] == largest for block in {slot.block for slot in left}) >= hosts
    found: dict[tuple[int, Cell | None], list[PlanSlot]] = {}
    for slot in left:
        heat = heat_of(slot.cell)
        apart = not whole or (slot.block, heat) in begun
        found.setdefault((slot.block, heat if apart else None), []).append(slot)
    return tuple(
        PlanShare(tuple(slots), None if heat is None else begun.get((block, heat))) for (block, heat), slots in found.items()
    )
