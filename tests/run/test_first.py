"""The first look at a suite: which two stacks on which workloads, and when there is none."""

from __future__ import annotations

from dataclasses import replace

from builders.plans import compared, planned
from fairground.model import Suite
from fairground.run import first

SUITE = compared(4, 4, workload_count=3)
CELLS = [slot.cell for slot in planned(SUITE).slots if (slot.cell.stack, slot.cell.workload) != ("s0:v1", "w0")]
STACKS = [f"s{number}:v1" for number in range(4)]


def chosen(*builds_s: float) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Stacks and workloads of a first look, when the stacks take so long to build."""
    found = first.look(SUITE, CELLS, dict(zip(STACKS, builds_s, strict=False)))
    return None if found is None else (found.groups[0].stacks, found.groups[0].workloads)


def test_the_two_that_are_built_soonest_are_looked_at() -> None:
    """On the first workloads that both answer."""
    assert chosen(100.0, 20.0, 60.0, 5.0) == (("s3:v1", "s1:v1"), ("w0", "w1"))
    assert chosen(0.0, 20.0, 60.0, 30.0) == (("s0:v1", "s1:v1"), ("w1", "w2"))


def test_stacks_that_share_too_little_are_no_pair() -> None:
    """Of the quickest two one answers a single workload: the next that goes with either is taken."""
    cells = [cell for cell in CELLS if cell.stack != "s0:v1" or cell.workload == "w1"]
    found = first.look(SUITE, cells, dict(zip(STACKS, (0.0, 5.0, 60.0, 20.0), strict=True)))
    assert found is not None and found.groups[0].stacks == ("s1:v1", "s3:v1")


def test_where_little_is_to_be_built_there_is_none() -> None:
    """All is built, the rest takes a moment, or a single server can be had here."""
    assert chosen(0.0, 0.0, 0.0, 0.0) is None
    assert chosen(5.0, 5.0, 9.0, 20.0) is None
    assert chosen(100.0) is None


def test_groups_keep_their_loads_and_blocks_stay() -> None:
    """Each group has those of the chosen workloads that it names, and one without any is left out."""
    group = SUITE.groups[0]
    groups = tuple(replace(group, workloads=names) for names in (("w0",), ("w1", "w2")))
    found = first.look(replace(SUITE, groups=groups), CELLS, dict(zip(STACKS, (90.0, 1.0, 2.0, 99.0), strict=True)))
    assert isinstance(found, Suite) and [one.workloads for one in found.groups] == [("w0",), ("w1",)]
    assert found.blocks == SUITE.blocks and found.title == "S, first look"
