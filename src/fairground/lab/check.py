"""`check`: whether stacks fulfil the contract, one after the other."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairground import contract, records
from fairground.host import machine
from fairground.host.build import Unavailable
from fairground.inputs import manifest
from fairground.lab import building, measuring, setup
from fairground.lab.events import Checked, Checking, Event, Kept, Sink, unheard
from fairground.lab.places import Places
from fairground.measure import Bench
from fairground.measure.check import check as tried
from fairground.model import LabError, RunSettings, Stack
from fairground.model import record as model
from fairground.model.record import CheckAsked, End, Kind, Record
from fairground.model.source import nearest
from fairground.stats import forecast


@dataclass(frozen=True)
class Inputs:
    """Which stacks are checked (`names`: stacks or servers; none: all), and on which cases (none: all).

    `record` is one to go on with: then it says both.
    """

    places: Places
    names: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    database_url: str | None = None
    command: str = ""
    record: Record[CheckAsked, model.Checked] | None = None

    @property
    def asked(self) -> CheckAsked:
        """Stacks by id, and cases. LabError for a name that is none."""
        if self.record is not None:
            return self.record.head.asked
        for name in self.cases:
            if name not in (known := [case.id for case in contract.load(self.places.contract / "cases")]):
                raise LabError(f"the contract has no case `{name}`", nearest(name, known, "cases"))
        return CheckAsked(tuple(stack.id for stack in _named(self.places, self.names)), self.cases or None)


def check(inputs: Inputs, sink: Sink = unheard) -> Generator[Event]:
    """Build each stack, start it and try the cases on it, in the order of the names: `Checking` before, `Checked` after each, and
    `Kept` at the end.

    What a record has already is told, and not tried again. Each report is on the disk before the next stack is started.
    """
    places, asked = inputs.places, inputs.asked
    chosen = _named(places, asked.stacks)
    with (
        setup.keeping(places) as keeper,
        setup.database(keeper, places, inputs.database_url, RunSettings()) as database,
    ):
        servers = list({stack.server.id: stack.server for stack in chosen}.values())
        builds = yield from building.built(keeper, servers, places, sink)
        kept = measuring.Inputs(places, inputs.command, inputs.database_url, inputs.record)
        infos, versions = setup.stack_infos(chosen, builds), setup.versions(places, database)
        record: Record[CheckAsked, model.Checked] = measuring.opened(kept, keeper, Kind.CHECK, asked, versions, infos)
        cases, disks = contract.load(places.contract / "cases"), setup.disks(places, database)
        bench = Bench(keeper, database, places.engine, cases, machine.cores(), disks=disks)
        yield from (_event(record, one) for one in record.entries)
        took_s = list[float]()
        for at, stack in enumerate(chosen[len(record.entries) :], len(record.entries)):
            made = builds[stack.server.id]
            if isinstance(made, Unavailable):
                found = model.Checked(stack.id, (), made.reason)
            else:
                here = sum(not isinstance(builds[one.server.id], Unavailable) for one in chosen[at:])
                yield Checking(stack.id, at + 1, len(chosen), forecast.left_s(took_s, here))
                began_s = time.monotonic()
                found = model.Checked(stack.id, tried(bench, stack, _folder(record, stack.id), asked.cases).findings)
                took_s.append(time.monotonic() - began_s)
            record = records.append(record, found)
            yield _event(record, found)
    if record.end is None:
        record = records.end(record, End(time.time(), "every stack was checked"))
    yield Kept(record.id)


def checked(record: Record[CheckAsked, model.Checked]) -> list[Checked]:
    """What a record holds, as it was told when it was made."""
    return [_event(record, one) for one in record.entries]


def _event(record: Record[CheckAsked, model.Checked], one: model.Checked) -> Checked:
    return Checked(one.stack, one.findings, None if one.unavailable is not None else _log(record, one.stack), one.unavailable)


def _folder(record: Record[CheckAsked, model.Checked], stack: str) -> Path:
    return record.folder / stack.replace(":", "-")


def _log(record: Record[CheckAsked, model.Checked], stack: str) -> Path:
    return _folder(record, stack) / "server.log"


def _named(places: Places, names: Sequence[str]) -> Sequence[Stack]:
    """The stacks of these names, all where there are none. LabError where there is no stack at all."""
    known = places.load_servers()
    named = [stack for name in names for stack in manifest.find_stack(known, name)]
    chosen = named or [stack for server in known for stack in server.stacks]
    if not chosen:
        raise LabError(f"there is no stack in `{places.servers}`", "./fairground list")
    return list({stack.id: stack for stack in chosen}.values())
