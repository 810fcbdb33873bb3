"""Plans in which some cells have more blocks than others."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from builders.plans import stacks, workloads
from fairground.model import CellSettings, Load, Suite, Topology
from fairground.run import plan
from fairground.run.plan import PlanPart


@pytest.mark.parametrize("controls", [False, True])
def test_a_part_may_have_more_blocks_than_the_suite(controls: bool) -> None:
    """Its cells stand in the further blocks by themselves, the first blocks stay as they are, and controls are in those alone."""
    suite = Suite("", "t", "", 2, 7, (), controls=controls)
    whole = PlanPart(stacks(3), workloads(2), (Load(),), (Topology(),), CellSettings())
    one = replace(whole, stacks=stacks(1), workloads=workloads(1), blocks=4)
    built, plain = plan.build(suite, (one, whole), ""), plan.build(suite, (whole,), "")
    assert built.blocks == 4 and plain.blocks == 2
    assert built.whole_blocks == plain.whole_blocks == 2
    assert Counter((slot.block, slot.cell, slot.control) for slot in built.slots[: len(plain.slots)]) == Counter(
        (slot.block, slot.cell, slot.control) for slot in plain.slots
    )
    rest = built.slots[len(plain.slots) :]
    assert [(slot.block, slot.cell.stack, slot.cell.workload, slot.control, slot.round) for slot in rest] == [
        (3, "s0:v1", "w0", None, 0),
        (4, "s0:v1", "w0", None, 0),
    ]


def test_where_a_budget_says_how_many_blocks_there_are_no_part_has_more() -> None:
    """Each block is a whole one then."""
    part = PlanPart(stacks(2), workloads(1), (Load(),), (Topology(),), CellSettings(), blocks=50)
    for budget_s in (None, 60.0):
        suite = Suite("", "t", "", 0, 7, (), controls=False, budget_s=budget_s)
        built = plan.build(suite, (part,), "")
        assert built == plan.build(suite, (replace(part, blocks=1),), "")
