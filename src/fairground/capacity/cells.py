"""The parts of a record by its cells, and the capacities that they give. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from fairground.capacity import objective, parts, search
from fairground.capacity.parts import CapacityPart, Phase
from fairground.capacity.search import Capacity
from fairground.model.record import CapacityAsked, Record


def capacities_of(record: Record[CapacityAsked, CapacityPart]) -> list[Capacity]:
    """The capacities of a record, as far as they are known."""
    asked = record.head.asked
    kept, goal = objective.parse(asked.objective), pace(asked).goal
    return [parts.capacity(*asked.cells[number - 1], kept, goal, here)
            for number in available(record) if (here := of_cell(record, number))]  # fmt: skip


def available(record: Record[CapacityAsked, CapacityPart]) -> list[int]:
    """The numbers of the cells whose stack could be had when the record began."""
    asked = enumerate(record.head.asked.cells, 1)
    return [number for number, (stack, _) in asked if record.head.stacks[stack].unavailable is None]


def of_cell(record: Record[CapacityAsked, CapacityPart], number: int) -> list[CapacityPart]:
    """The parts of one cell."""
    return [part for part in record.entries if part.cell == number]


def is_whole(made: Sequence[CapacityPart]) -> bool:
    """True if a cell needs no further part."""
    return any(part.rejected is not None for part in made) or all(parts.is_over(made, phase) for phase in Phase)


def pace(asked: CapacityAsked) -> search.Pace:
    """Plan how the budget of one cell is spent."""
    return search.pace(asked.budget_s, objective.parse(asked.objective).least_requests, asked.width)
