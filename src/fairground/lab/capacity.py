"""The highest rate that keeps an objective, cell by cell; each finished part is on the disk before the next begins."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from fairground import contract, records
from fairground.capacity import objective, parts, search
from fairground.capacity.drive import Climb
from fairground.capacity.parts import Part, Phase
from fairground.capacity.search import Capacity
from fairground.host import machine
from fairground.inputs import manifest
from fairground.lab import building, measuring, setup
from fairground.lab.measuring import Began, Event, Finished, Inputs, Said, UnitDone
from fairground.lab.places import Places
from fairground.measure import Bench
from fairground.model import Cell, LabError, Stack, Workload
from fairground.model.record import CapacityAsked, End, Kind, Record

Measure = Callable[[int, Sequence[Part]], Iterator[Part]]
"""Makes what is missing of the cell of a number (from 1), of which there are these parts."""


def cells(places: Places, stacks: Sequence[str], workloads: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Every named stack on every named workload that its server does not skip, by id. LabError for what is not there."""
    if not stacks:
        raise LabError("name at least one `--stack`", "./fairground capacity --stack SERVER:VARIANT")
    servers, known = places.load_servers(), {one.id: one for one in places.workloads()}
    for name in workloads:
        if name not in known:
            raise LabError(f"there is no workload `{name}`", f"workloads: {', '.join(sorted(known))}")
    chosen = {one.id: one for name in stacks for one in manifest.find_stack(servers, name)}
    found = [(one.id, name) for one in chosen.values() for name in dict.fromkeys(workloads) if name not in one.server.skip]
    if not found:
        raise LabError("none of these stacks does any of these workloads", "`./fairground list workloads` shows them all")
    return tuple(found)


def capacity(inputs: Inputs, asked: CapacityAsked) -> Iterator[Event]:
    """Measure what is missing of the capacities. A server that fails is a finding of a part, and has no capacity."""
    places, settings = inputs.places, asked.settings
    stacks = {one.id: one for server in places.load_servers() for one in server.stacks}
    wanted = {id: stacks[id] for id, _ in asked.cells}
    workloads = {one.id: manifest.render(one, settings.scale) for one in places.workloads()}
    hops = building.programs(places, asked.topology)
    with ExitStack() as held:
        yield from map(Said, inputs.elsewhere.remarks)
        keeper = held.enter_context(setup.keeping(places, inputs.elsewhere.front))
        servers = list({one.server.id: one.server for one in wanted.values()}.values())
        builds = yield from measuring.built(keeper, servers, places)
        made = dict(zip((server.id for server in servers), builds, strict=True))
        infos = setup.stack_infos(list(wanted.values()), made)
        if all(one.unavailable is not None for one in infos.values()):
            raise LabError("none of these stacks can run here", "./fairground doctor", exit_code=3)
        database = held.enter_context(
            setup.database(
                keeper, places, inputs.database_url, settings.run, settings.postgres_version, inputs.elsewhere.database
            )
        )
        yield from map(Said, database.remarks)
        yield Said("making the data …")
        database.prepare(settings.scale)
        yield from measuring.kept_awake(held, keeper, inputs)
        versions = {**setup.versions(places, database), **hops, **inputs.elsewhere.versions}
        record = measuring.opened(inputs, keeper, Kind.CAPACITY, asked, versions, infos)
        yield Began(record)
        bench = Bench(
            keeper,
            database,
            places.engine,
            contract.load(places.contract / "cases"),
            machine.cores(),
            disks=setup.disks(places, database),
            elsewhere=inputs.elsewhere.generator,
            its_host=inputs.elsewhere.database,
        )
        subjects = [(wanted[id], workloads[name]) for id, name in asked.cells]
        yield from each(record, Driver(bench, asked, record.folder, subjects))


@dataclass(frozen=True)
class Driver:
    """Measures cells on a bench."""

    bench: Bench
    asked: CapacityAsked
    folder: Path
    subjects: Sequence[tuple[Stack, Workload]]

    def __call__(self, number: int, made: Sequence[Part]) -> Iterator[Part]:
        """What is missing of the cell of a number."""
        stack, workload = self.subjects[number - 1]
        asked, kept = self.asked, objective.parse(self.asked.objective)
        cell = Cell(stack.id, workload.id, asked.topology, asked.load, asked.settings)
        climb = Climb(
            self.bench, cell, stack, workload, kept, pace(asked), asked.budget_s, self.folder / f"{number:02}", asked.seed,
            number, list(made),
        )  # fmt: skip
        return climb.run()


def each(record: Record[CapacityAsked, Part], measure: Measure) -> Iterator[Event]:
    """All cells that can be measured here, one after the other, from the first part that is missing."""
    if record.end is None:
        for number in available(record):
            if is_whole(here := of_cell(record, number)):
                continue
            for part in measure(number, here):
                record = records.append(record, part)
                yield UnitDone(record, max(0.0, record.head.asked.budget_s - part.spent_s))
        record = records.end(record, End(time.time(), "every cell was measured"))
    yield Finished(record)


def found(record: Record[CapacityAsked, Part]) -> list[Capacity]:
    """The capacities of a record, as far as they are known."""
    asked = record.head.asked
    kept, goal = objective.parse(asked.objective), pace(asked).goal
    return [parts.capacity(*asked.cells[number - 1], kept, goal, here)
            for number in available(record) if (here := of_cell(record, number))]  # fmt: skip


def available(record: Record[CapacityAsked, Part]) -> list[int]:
    """The numbers of the cells whose stack could be had when the record began."""
    asked = enumerate(record.head.asked.cells, 1)
    return [number for number, (stack, _) in asked if record.head.stacks[stack].unavailable is None]


def of_cell(record: Record[CapacityAsked, Part], number: int) -> list[Part]:
    """The parts of one cell."""
    return [part for part in record.entries if part.cell == number]


def is_whole(made: Sequence[Part]) -> bool:
    """Whether a cell needs no further part."""
    return any(part.rejected is not None for part in made) or all(parts.is_over(made, phase) for phase in Phase)


def pace(asked: CapacityAsked) -> search.Pace:
    """How the budget of one cell is spent."""
    return search.pace(asked.budget_s, objective.parse(asked.objective).least_requests, asked.width)
