"""What the use cases that keep records share: their events, building, and the record that is begun or gone on with."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from fairground import records
from fairground.host import Keeper, build, machine
from fairground.host.build import Built, Unavailable
from fairground.judge import thresholds
from fairground.lab import setup
from fairground.lab.elsewhere import HERE, Others
from fairground.lab.places import Places
from fairground.model import SCHEMA_VERSION, Server, StackInfo
from fairground.model.record import End, Head, Kind, Record


@dataclass(frozen=True)
class Said:
    """A sentence for the person who waits."""

    sentence: str


@dataclass(frozen=True)
class Began:
    """The record has its folder, and what it holds already is kept."""

    record: Record[Any, Any]


@dataclass(frozen=True)
class Going:
    """What goes on from here, in a few words. `left_s`: about so long until the end of all; None: unknown."""

    what: str
    left_s: float | None


@dataclass(frozen=True)
class UnitDone:
    """The last entry of the record is finished and on the disk. `left_s`: at most so long until the end; None: unknown."""

    record: Record[Any, Any]
    left_s: float | None


@dataclass(frozen=True)
class Finished:
    """Nothing is missing any more; the record says why."""

    record: Record[Any, Any]


Event = Said | Began | Going | UnitDone | Finished


@dataclass(frozen=True)
class Inputs:
    """What every use case is given. `record` is the one to go on with; None: a new one is begun.

    `elsewhere`: the hosts that roles are on.
    """

    places: Places
    command: str
    database_url: str | None = None
    record: Record[Any, Any] | None = None
    elsewhere: Others = HERE


def built(keeper: Keeper, servers: Iterable[Server], places: Places) -> Generator[Event, None, list[Built | Unavailable]]:
    """Build servers one after the other. What cannot be built is said, with what mends it."""
    found, wanted = [], list(servers)
    missing = [server.id for server in wanted if not build.is_built(server, places.cache)]
    for server in wanted:
        if server.id in missing:
            place = f" {missing.index(server.id) + 1}/{len(missing)}:" if len(missing) > 1 else ""
            yield Said(f"building{place} {server.id} …")
        made = build.build(keeper, server, places.cache)
        if isinstance(made, Unavailable):
            yield Said(f"not here: {server.id}, {made.reason}" + (f" → {made.hint}" if made.hint else ""))
        found.append(made)
    return found


def kept_awake(held: ExitStack, keeper: Keeper, inputs: Inputs) -> Generator[Event, None, None]:
    """Keep processors from idling where that is wanted, or where the record that goes on had it so."""
    said = list[str]()
    must = inputs.record is not None and inputs.record.head.machine.awake
    setup.keep_awake(held, keeper, inputs.places, said.append, must=must)
    yield from map(Said, said)


def units(
    record: Record[Any, Any], measure: Callable[[int], Any], over: Callable[[Sequence[Any], Any], str | None]
) -> Iterator[Event]:
    """Units, from the first that is missing, until the stopping rule `over` says why it is over; each is on the disk first.

    `measure` makes the unit of a number. A unit says what it `took_s`, and what was asked has a budget.
    """
    asked = record.head.asked
    while record.end is None and (reason := over(record.entries, asked)) is None:
        record = records.append(record, measure(len(record.entries) + 1))
        spent_s = math.fsum(one.took_s for one in record.entries)
        yield UnitDone(record, max(0.0, asked.budget_s - spent_s))
    yield Finished(record if record.end is not None else records.end(record, End(time.time(), str(reason))))


def opened(
    inputs: Inputs, keeper: Keeper, kind: Kind, asked: object, versions: Mapping[str, str], stacks: Mapping[str, StackInfo]
) -> Record[Any, Any]:
    """A new record, its head on the disk; or the one to go on with, if machine, versions, thresholds and servers are the same."""
    measured_on = machine.fingerprint(keeper.awake)
    head = Head(SCHEMA_VERSION, kind, "", inputs.command, time.time(), measured_on, versions, thresholds.standard().values(),
                stacks, asked)  # fmt: skip
    if inputs.record is None:
        return records.create(inputs.places.results, TITLES[kind], head)
    records.require_same(inputs.record.head, head)
    return inputs.record


TITLES: Mapping[Kind, str] = {Kind.COMPARISON: "compare", Kind.CAPACITY: "capacity", Kind.TRY: "try", Kind.CHECK: "check",
                                Kind.CROSS_CHECK: "cross-check", Kind.WHY: "why"}  # fmt: skip
"""What the folder of a kind is called, after its start."""
