"""Records that are measured unit by unit: one is begun or gone on with, and each unit is on the disk before the next begins."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from fairground import records
from fairground.judge import thresholds
from fairground.lab.events import Event, Finished, RecordOpened, UnitDone
from fairground.lab.preparation import Inputs, Testbed
from fairground.model import SCHEMA_VERSION, LabError, MachineError, StackInfo, error
from fairground.model.record import Head, Record, RecordEnd, RecordKind
from fairground.model.resume import VERBS, command_again_of


@dataclass(frozen=True)
class NewEntry:
    """An entry that is measured and not on the disk yet. `left_s`: at most so long until the end; None: unknown."""

    entry: Any
    left_s: float | None = None


Units = Generator[NewEntry | Event | RecordEnd]
"""Makes what is missing of a record, and tells on the way; at last the end that says why nothing is missing any more."""


def open_record(
    inputs: Inputs, kind: RecordKind, asked: object, testbed: Testbed, stacks: Mapping[str, StackInfo] | None = None
) -> Record[Any, Any]:
    """Begin a record, its head on the disk; or take the one to go on with.

    LabError where machine, versions, thresholds or servers are not the same any more. `stacks`: those of the testbed under other
    names.
    """
    infos, rules = testbed.stacks if stacks is None else stacks, thresholds.standard().values()
    head = Head(SCHEMA_VERSION, kind, "", inputs.command, time.time(), testbed.machine, testbed.versions, rules, infos, asked)
    if inputs.record is None:
        record = records.create(inputs.places.results, VERBS[kind], head)
    else:
        records.require_same(inputs.record.head, head)
        record = inputs.record
    testbed.bench.keeper.guard(record.folder)
    return record


def record_units(record: Record[Any, Any], units: Units) -> Iterator[Event]:
    """Keep each unit that is missing as it comes, and the end. A record in which nothing could be measured is removed again."""
    yield RecordOpened(record)
    again = command_again_of(record.head.kind, record.folder, record.head.command)
    with error.resumable(record.folder, again), records.hold_record(record.folder), closing(units):
        records.require_unchanged(record)
        try:
            for one in units if record.end is None else ():
                match one:
                    case NewEntry(entry, left_s):
                        record = records.append(record, entry)
                        yield UnitDone(record, left_s)
                    case RecordEnd():
                        record = records.end(record, one)
                    case _:
                        yield one
        except MachineError:
            raise
        except LabError:
            if not record.entries:
                records.discard(record)
            raise
    yield Finished(record)


def until_over(
    record: Record[Any, Any], measure: Callable[[Sequence[Any]], Any], over: Callable[[Sequence[Any], Any], str | None]
) -> Units:
    """Units, from the first that is missing, until the stopping rule `over` says why it is over.

    `measure` makes the unit after those that are made. A unit says what it `took_s`, and what was asked has a budget.
    """
    made, asked = list(record.entries), record.head.asked
    while (reason := over(made, asked)) is None:
        made.append(measure(made))
        spent_s = math.fsum(one.took_s for one in made)
        yield NewEntry(made[-1], max(0.0, asked.budget_s - spent_s))
    yield RecordEnd(time.time(), reason)
