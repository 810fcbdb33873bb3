"""`check`: whether stacks fulfil the contract, one after the other."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairground.inputs import manifest
from fairground.lab.events import Checking, Event, Sink, unheard
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs, Testbed, prepare
from fairground.lab.recording import NewEntry, Units, open_record, record_units
from fairground.measure.check import try_cases
from fairground.model import Cell, CellSettings, LabError, Load, Stack, Topology
from fairground.model.record import CheckAsked, Record, RecordEnd, RecordKind, StackChecked
from fairground.model.source import nearest
from fairground.stats import forecast


def question(places: Places, names: Sequence[str], cases: Sequence[str]) -> CheckAsked:
    """The stacks that are checked (`names`: stacks or servers; none: all), on which cases (none: all).

    LabError for a name that is none.
    """
    for name in cases:
        if name not in (known := [case.id for case in places.cases()]):
            raise LabError(f"the contract has no case `{name}`", nearest(name, known, "cases"))
    return CheckAsked(tuple(stack.id for stack in _stacks(places, names)), tuple(cases) or None)


def check(inputs: Inputs, asked: CheckAsked, sink: Sink = unheard) -> Iterator[Event]:
    """Build each stack, start it and try the cases on it, in the order of the names; `Checking` before each.

    Each report is on the disk before the next stack is started. What a record has already is not tried again.
    """
    stacks = _stacks(inputs.places, asked.stacks)
    cells = [Cell(stack.id, "contract", Topology(), Load(), CellSettings()) for stack in stacks]
    with prepare(inputs, cells, stacks, sink, awake=False, least=0) as testbed:
        record: Record[CheckAsked, StackChecked] = open_record(inputs, RecordKind.CHECK, asked, testbed)
        yield from record_units(record, _reports(record, stacks, testbed))


def _reports(record: Record[CheckAsked, StackChecked], stacks: Sequence[Stack], testbed: Testbed) -> Units:
    """The reports that are missing, each after what is said before it."""
    took_s = list[float]()
    for place in range(len(record.entries), len(stacks)):
        stack = stacks[place]
        if (lacking := testbed.lacking.get(stack.id)) is not None:
            yield NewEntry(StackChecked(stack.id, (), lacking))
            continue
        here = sum(one.id not in testbed.lacking for one in stacks[place:])
        yield Checking(stack.id, place + 1, len(stacks), forecast.left_s(took_s, here))
        began_s = time.monotonic()
        found = try_cases(testbed.bench, stack, _folder(record, stack.id), record.head.asked.cases)
        took_s.append(time.monotonic() - began_s)
        yield NewEntry(StackChecked(stack.id, found.findings))
    yield RecordEnd(time.time(), "every stack was checked")


def log_of(record: Record[CheckAsked, StackChecked], stack: str) -> Path:
    """The output of a stack that was checked."""
    return _folder(record, stack) / "server.log"


def _folder(record: Record[CheckAsked, StackChecked], stack: str) -> Path:
    return record.folder / stack.replace(":", "-")


def _stacks(places: Places, names: Sequence[str]) -> list[Stack]:
    """The stacks of these names, all where there are none. LabError where there is no stack at all."""
    known = places.load_servers()
    named = [stack for name in names for stack in manifest.find_stack(known, name)]
    chosen = named or [stack for server in known for stack in server.stacks]
    if not chosen:
        raise LabError(f"there is no stack in `{places.servers}`", "./fairground list")
    return list({stack.id: stack for stack in chosen}.values())
