"""How a plan is shared out: what stays together, and what goes on where it was begun."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders.trials import trial
from fairground.fleet.shares import shares
from fairground.model import PlanSlot, Trial
from fairground.stats.comparisons import heat_of
from fleet.made import plan


def of(slot: PlanSlot, machine: str | None) -> Trial:
    """A finished trial of a slot."""
    return replace(trial(slot.cell.stack, slot.block, 100.0), number=slot.number, cell=slot.cell, machine=machine)


@pytest.mark.parametrize(
    ("blocks", "hosts", "size", "count"), [(6, 3, 4, 6), (3, 3, 4, 3), (2, 3, 2, 4), (1, 2, 2, 2), (4, 1, 4, 4)]
)
def test_a_share_is_a_block_or_a_heat_of_one(blocks: int, hosts: int, size: int, count: int) -> None:
    """Whole blocks where every host can have one; else their heats. Each slot is in one share, in the plan's order."""
    planned = plan(blocks)
    found = shares(planned.slots, [], hosts, "own")
    assert [len(share.slots) for share in found] == [size] * count
    assert [slot for share in found for slot in share.slots] == list(planned.slots)
    assert all(len({slot.block for slot in share.slots}) == 1 for share in found)
    assert all(share.begun_on is None for share in found)


def test_blocks_of_single_cells_keep_no_host_busy() -> None:
    """Two blocks of all and three of one cell are not five for three hosts: heats are shared out."""
    planned = plan(2)
    more = [replace(planned.slots[0], number=8 + block, block=block) for block in (3, 4, 5)]
    found = shares([*planned.slots, *more], [], 3, "own")
    assert [len(share.slots) for share in found] == [2, 2, 2, 2, 1, 1, 1]


def test_stacks_that_are_compared_are_on_one_host() -> None:
    """No heat of a block is divided, however many hosts there are."""
    planned = plan(2, stacks=5)
    where = {slot.number: place for place, share in enumerate(shares(planned.slots, [], 50, "own")) for slot in share.slots}
    for slot in planned.slots:
        assert {
            where[one.number] for one in planned.slots if (one.block, heat_of(one.cell)) == (slot.block, heat_of(slot.cell))
        } == {where[slot.number]}


@pytest.mark.parametrize(("machine", "begun_on"), [("hash of a", "hash of a"), (None, "own")])
def test_what_is_begun_stays_where_it_was_begun(machine: str | None, begun_on: str) -> None:
    """A heat that is measured in part goes on with its machine; the rest of its block is anybody's."""
    planned = plan(3)
    done = of(planned.slots[0], machine)
    found = shares(planned.slots[1:], [done], 2, "own")
    assert [(share.begun_on, [slot.number for slot in share.slots]) for share in found] == [
        (begun_on, [2]),
        (None, [3, 4]),
        (None, [5, 6, 7, 8]),
        (None, [9, 10, 11, 12]),
    ]


def test_a_large_plan_for_many_hosts() -> None:
    """10,000 blocks for 200 hosts: each block is a share."""
    planned = plan(10_000, stacks=1, workloads=("tx",))
    assert len(shares(planned.slots, [], 200, "own")) == 10_000
