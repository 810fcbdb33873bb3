"""The events of a use case that keeps a record, as lines; and the record that `--resume` names."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, cast

from fairground import records
from fairground.cli import say
from fairground.cli.clock import Clock
from fairground.cli.seats import tell as tell_seats
from fairground.lab.measuring import Began, Event, Finished, Going, Said, UnitDone
from fairground.lab.places import Places
from fairground.model import LabError, MachineError
from fairground.model.record import CapacityAsked, ComparisonAsked, Kind, Record


def follow(events: Iterator[Event], verb: str, tell: Callable[[UnitDone], None], quiet: bool = False) -> Record[Any, Any]:
    """Print what happens and hand back the finished record. An interruption keeps what is finished, and says how to go on."""
    record: Record[Any, Any] | None = None
    clock = Clock(say.talk, Clock.wanted(say.talk, quiet))
    with closing(cast(Any, events)), closing(clock):
        try:
            clock.shows("getting ready")
            for event in events:
                if not isinstance(event, Said | Going):
                    record = event.record
                if not quiet:
                    _show(event, verb, tell, clock)
        except KeyboardInterrupt:
            clock.close()
            say.note(_kept(verb, record))
            raise
        except MachineError as error:
            if record is not None and record.end is None:
                error.hint = f"{error.hint}; what is finished is kept, and this goes on with it: {_again(verb, record)}"
            raise
    assert record is not None, "a use case that ends has a record"
    return record


def _show(event: Event, verb: str, tell: Callable[[UnitDone], None], clock: Clock) -> None:
    """One event as a line, and what goes on from there."""
    match event:
        case Said(sentence):
            say.note(sentence)
            clock.shows(sentence.removesuffix(" …"))
        case Going(what, left_s):
            clock.shows(f"{verb}, {what}", left_s, about=True)
        case UnitDone(record, left_s):
            tell(event)
            clock.shows(f"{verb}, part {len(record.entries) + 1}", left_s)
        case Began(record):
            if isinstance(record.head.asked, ComparisonAsked | CapacityAsked):
                tell_seats([record.head.asked.settings])
            clock.shows(f"{verb}, part {len(record.entries) + 1}")
        case Finished():
            pass


def _kept(verb: str, record: Record[Any, Any] | None) -> str:
    """What an interruption leaves, and how to go on."""
    if record is None:
        return "interrupted before anything was finished: there is nothing to keep"
    if record.end is None:
        return f"interrupted; what is finished is kept. Go on with: {_again(verb, record)}"
    return f"interrupted; all of it is kept: ./fairground report {shlex.quote(str(record.folder))}"


def _again(verb: str, record: Record[Any, Any]) -> str:
    return f"./fairground {verb} --resume {shlex.quote(str(record.folder))}"


def resumed(places: Places, text: str, kind: Kind) -> Record[Any, Any]:
    """The record to go on with."""
    return records.load(records.find(places.results, text, kind))


def refuse_beside_resume(**given: object) -> None:
    """LabError when something is asked for beside `--resume`, which says all of it."""
    for name, value in given.items():
        if value is not None:
            raise LabError(f"`{name}` goes with a new measurement, and `--resume` goes on with one", "leave it out")
