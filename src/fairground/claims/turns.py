"""Ratios of two cells that were loaded in turns, which say more than whole windows do. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from fairground.claims.statement import Statement, Term
from fairground.model import Cell
from fairground.stats.comparisons import Measured, Quantity, field_of
from fairground.stats.fit import Estimate

KINDS = {"rps": (Quantity.GOODPUT, 1), "interval": (Quantity.GOODPUT, -1), "cpu": (Quantity.CPU, -1)}
"""What turns tell: metric → the quantity, and whether more of one is more of the other. A quantity is more where it is better."""

Fields = Mapping[tuple[Cell, Quantity], Measured]
"""What was measured, by field and quantity."""


def ratio(statement: Statement, cells: Mapping[Term, Cell], fields: Fields) -> Estimate | None:
    """The logarithm of the left side over the right side, from turns of the two cells that the statement names.

    None where it names others than two of one field (one workload, load, path and settings), or another metric; or where turns do
    not join the two.
    """
    above = statement.left.above + statement.right.below
    below = statement.left.below + statement.right.above
    if len(above) != 1 or len(below) != 1 or above[0].metric != below[0].metric or above[0].metric not in KINDS:
        return None
    one, other = cells[above[0]], cells[below[0]]
    quantity, sign = KINDS[above[0].metric]
    measured = fields.get((field_of(one), quantity))
    if measured is None or field_of(other) != field_of(one) or one == other:
        return None
    pair = ((one.stack, None), (other.stack, None))
    found = measured.turns.against(*(pair if sign > 0 else pair[::-1]))
    if found is None:
        return None
    factor = statement.left.factor / statement.right.factor
    return replace(found, middle=found.middle + math.log(factor))
