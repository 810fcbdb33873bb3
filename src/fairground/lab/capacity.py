"""The highest rate that keeps an objective, cell by cell; each finished part is on the disk before the next begins."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from fairground.capacity import objective
from fairground.capacity.cells import available, is_whole, of_cell, pace
from fairground.capacity.drive import Climb
from fairground.capacity.parts import CapacityPart
from fairground.inputs import manifest, workload_files
from fairground.lab.events import Event, Sink, unheard
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs, prepare
from fairground.lab.recording import NewEntry, Units, open_record, record_units
from fairground.model import Cell, LabError
from fairground.model.record import CapacityAsked, Record, RecordEnd, RecordKind
from fairground.run import naming

Measure = Callable[[int, Sequence[CapacityPart]], Iterator[CapacityPart]]
"""Makes what is missing of the cell of a number (from 1), of which there are these parts."""


def capacity_cells(
    places: Places, stacks: Sequence[str], workloads: Sequence[str], contract: str | None = None
) -> tuple[tuple[str, str], ...]:
    """Every named stack on every named workload that its server does not skip, by id. LabError for what is not there.

    Where no workload is named it is the default one of the stacks' contract, or of the `contract`.
    """
    if not stacks:
        raise LabError("name at least one `--stack`", "./fairground capacity --stack SERVER:VARIANT")
    servers = places.load_servers()
    chosen = {one.id: one for name in stacks for one in manifest.find_stack(servers, name)}
    meant = places.workloads_of(workloads, list(chosen.values()), contract)
    for one in meant:
        if one.pipeline > 1:
            raise LabError(
                f"`{one.id}` sends several requests at once, which no rate of arrivals does", "choose another workload"
            )
    found = [(stack.id, one.id) for stack in chosen.values() for one in meant if naming.is_asked(stack, one)]
    if not found:
        raise LabError("none of these stacks does any of these workloads", "`./fairground list workloads` shows them all")
    return tuple(found)


def capacity(inputs: Inputs, asked: CapacityAsked, sink: Sink = unheard) -> Iterator[Event]:
    """Measure what is missing of the capacities. A server that fails is a finding of a part, and has no capacity."""
    stacks = {one.id: one for server in inputs.places.load_servers() for one in server.stacks}
    wanted = {id: stacks[id] for id, _ in asked.cells}
    workloads = {one.id: workload_files.render(one, asked.settings.scale) for one in inputs.places.workloads()}
    cells = [Cell(id, name, asked.topology, asked.load, asked.settings) for id, name in asked.cells]
    with prepare(inputs, cells, list(wanted.values()), sink) as testbed:
        record: Record[CapacityAsked, CapacityPart] = open_record(inputs, RecordKind.CAPACITY, asked, testbed)

        def measure(number: int, made: Sequence[CapacityPart]) -> Iterator[CapacityPart]:
            cell = cells[number - 1]
            climb = Climb(
                testbed.bench, cell, wanted[cell.stack], workloads[cell.workload], objective.parse(asked.objective), pace(asked),
                budget_s=asked.budget_s, folder=record.folder / f"{number:02}", seed=asked.seed, number=number, parts=list(made),
            )  # fmt: skip
            return climb.run()

        yield from record_units(record, missing_parts(record, measure))


def missing_parts(record: Record[CapacityAsked, CapacityPart], measure: Measure) -> Units:
    """Measure the missing parts of all cells that can be measured here, one cell after the other.

    Each cell goes on from the first part that is missing.
    """
    for number in available(record):
        here = of_cell(record, number)
        for part in () if is_whole(here) else measure(number, here):
            yield NewEntry(part, max(0.0, record.head.asked.budget_s - part.spent_s))
    yield RecordEnd(time.time(), "every cell was measured")
