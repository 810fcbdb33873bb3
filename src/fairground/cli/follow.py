"""Show the events of a use case to a person: lines on stderr, a live screen during trials, JSON lines on stdout."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from fairground import records
from fairground.cli import say, typed
from fairground.cli.clock import ProgressClock
from fairground.cli.screen import Screen, duration
from fairground.cli.seats import tell_seats
from fairground.cli.streams import is_unread, write
from fairground.lab.events import (
    Absent,
    Began,
    Building,
    Built,
    Checking,
    Event,
    Finished,
    Going,
    Planned,
    RecordOpened,
    Replicating,
    Said,
    Sink,
    TrialDone,
    TriedReason,
    Trying,
    UnitDone,
    Within,
)
from fairground.model import SCHEMA_VERSION, Progress, foreign
from fairground.model.experiment import Start, WhyAsked
from fairground.model.record import CapacityAsked, ComparisonAsked, Record, RecordKind
from fairground.model.resume import VERBS, command_again_of, options_again_of
from fairground.report.run import why

Work = Callable[[Sink], Iterator[Event]]
"""A use case with its inputs; it still lacks who hears what happens inside long calls."""
PROGRESS_S = 1.0
LONG_BUILD_S = 5.0
"""The time of builds that took more than so many seconds is reported."""


@dataclass(frozen=True)
class Voice:
    """The way in which a verb speaks.

    `quiet` says nothing on the way, `as_json` tells each trial as a line, `progress` tells more.
    `again` is what goes on with an interrupted run; `RUN` in it stands for its folder. `tell` hears of each unit of a record.
    `can_go_on`: nothing that it needs is missing in the record.
    """

    quiet: bool = False
    as_json: bool = False
    progress: bool = False
    again: str = "run --resume RUN"
    tell: Callable[[UnitDone], None] = lambda _: None
    can_go_on: bool = True


def follow(work: Work, voice: Voice | None = None) -> Generator[Event]:
    """Show the events of `work` as they come, and pass on those that are results.

    An interruption ends the use case, says what is kept, and goes on to the caller.
    """
    shown = _Shown(voice or Voice())
    shown.warn()
    try:
        with ExitStack() as held:
            events = work(shown.within)
            held.callback(shown.close)
            held.enter_context(closing(cast(Any, events)))
            for event in events:
                if not shown.show(event):
                    yield event
    except KeyboardInterrupt:
        shown.close()
        say.note(shown.kept)
        raise
    finally:
        shown.scrub()


def finish(work: Work, voice: Voice) -> Record[Any, Any]:
    """Show the events of a use case that keeps a record; the record, in which nothing is missing."""
    *_, end = follow(work, voice)
    assert isinstance(end, Finished), "a use case that keeps a record ends with it"
    return end.record


def record_to_resume(results: Path, text: str, kind: RecordKind) -> Record[Any, Any]:
    """The record to go on with."""
    return records.load(records.find(results, text, kind))


class _Shown:
    """The state of the terminal, with the live screen while there is one."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice
        self._told = 0.0
        self._held = ExitStack()
        self._later_s = 0.0
        self._screen: Screen | None = None
        self._clock = ProgressClock(say.talk, ProgressClock.is_wanted(say.talk, voice.quiet))
        self._folder: Path | None = None
        """The folder of what is measured; None before there is one."""
        self._kind: RecordKind | None = None
        """The kind of the record that is measured; None for a run, and before there is one."""
        self._is_whole = False
        """True if nothing is missing in the record that is measured."""

    @property
    def kept(self) -> str:
        """Say what is kept of an interrupted measurement, and how to go on with it."""
        if self._folder is None:
            return "interrupted before anything was finished: there is nothing to keep"
        folder = _near(self._folder)
        place = shlex.quote(str(folder))
        if self._is_whole:
            return f"interrupted; all of it is kept: ./fairground report {place}"
        if not self._voice.can_go_on:
            return f"interrupted; what is finished is kept, what was asked is not: ./fairground report {place}"
        if self._kind is None:
            command = f"./fairground {self._voice.again.replace('RUN', place)}{options_again_of(typed.command())}"
        else:
            command = command_again_of(self._kind, folder, typed.command())
        return f"interrupted; what is finished is kept. Go on with: {command}"

    def warn(self) -> None:
        """Say that a secret was typed where others may find it."""
        if not self._voice.quiet and (sentence := typed.warning()):
            say.note(sentence)

    def scrub(self) -> None:
        """Take secrets out of what servers and tools wrote into the folder: they may echo what they were given."""
        if self._folder is not None:
            records.scrub_folder(self._folder)

    def within(self, event: Within) -> None:
        """Something happened inside one long call."""
        if self._voice.progress and isinstance(event, Building | Progress):
            self._tell(event)
        self.show(event)

    def show(self, event: Event) -> bool:
        """Show an event. False: it is a result, and the caller's. Where nobody reads any more the use case is interrupted."""
        match event:
            case Said(sentence):
                self._note(sentence)
                self._go_on(sentence.removesuffix(" …"))
            case Absent():
                self._note(f"not here: {event.what}, {event.why}")
            case Building():
                place = f" {event.place}/{event.servers}" if event.servers > 1 else ""
                self._note(f"building{place} {event.server}{_about(event)}: {event.command}")
                self._go_on(f"building{place} {event.server}", event.left_s)
            case Built():
                if event.seconds > LONG_BUILD_S:
                    self._note(f"built in {duration(event.seconds)}")
            case Progress():
                if self._screen is not None:
                    self._screen.progress(event)
            case Checking():
                left = "" if event.left_s is None else f", about {duration(event.left_s)} left"
                self._note(f"checking {event.place}/{event.stacks}: {event.stack}{left}")
                self._go_on(f"checking {event.place}/{event.stacks}: {event.stack}")
            case Replicating():
                self._later_s = event.later_s
                after = event.suites - event.place
                rest = f"; {after} more after it, about {duration(event.later_s)}" if after else ""
                self._note(f"replication {event.place}/{event.suites}: {event.suite}{rest}")
            case Planned() | Began() | TrialDone():
                self._show_run(event)
            case Trying() | TriedReason():
                self._show_experiment(event)
            case RecordOpened() | Going() | UnitDone():
                self._show_record(event)
            case _:
                self._is_whole = self._is_whole or isinstance(event, Finished)
                self.close()
                return False
        if is_unread():
            raise KeyboardInterrupt
        return True

    def _show_run(self, event: Planned | Began | TrialDone) -> None:
        """An event of a run's trials."""
        match event:
            case Planned():
                self._folder = event.folder
                self._note(f"plan  {say.outline(event.plan, event.left_s)} → {_near(event.folder)}")
                if self._voice.progress:
                    _line("plan", folder=str(event.folder), left_s=event.left_s)
            case Began():
                self._clock.close()  # a terminal has one foot
                live = say.talk.is_terminal and "CI" not in os.environ
                screen = Screen(event.plan, event.done, say.talk, live, self._voice.quiet, self._later_s, event.hosts)
                self._screen = self._held.enter_context(screen)
            case TrialDone(trial):
                if self._screen is not None:
                    self._screen.show_trial(trial)
                if self._voice.as_json:
                    _line("trial", **say.plain(trial))

    def _show_experiment(self, event: Trying | TriedReason) -> None:
        """An event of the experiments that follow a run."""
        match event:
            case Trying(asked):
                self.close()
                place, at_most = f"experiment {event.place}/{event.experiments}", f"at most {duration(asked.budget_s)}"
                self._note(f"{place}: {asked.reason} of {asked.cell.id}, {at_most}")
                self._note(f"beside it: {'; '.join(one.words for one in asked.experiment.changes)}")
                self._clock.shows(place, asked.budget_s)
            case TriedReason(record):
                self._clock.close()
                self._reason(record)

    def _show_record(self, event: RecordOpened | Going | UnitDone) -> None:
        """An event of a record, and what goes on from there."""
        match event:
            case RecordOpened(record):
                self._folder, self._kind, asked = record.folder, record.head.kind, record.head.asked
                of_services = isinstance(asked, ComparisonAsked) and asked.services is not None
                if isinstance(asked, ComparisonAsked | CapacityAsked) and not of_services and not self._voice.quiet:
                    tell_seats([asked.settings])
                self._go_on(f"{VERBS[self._kind]}, part {len(record.entries) + 1}")
            case Going(what, left_s):
                assert self._kind is not None, "a record is opened before a part of it goes on"
                self._clock.shows(f"{VERBS[self._kind]}, {what}", left_s, about=True)
            case UnitDone(record, left_s):
                if not self._voice.quiet:
                    self._voice.tell(event)
                self._clock.shows(f"{VERBS[record.head.kind]}, part {len(record.entries) + 1}", left_s)

    def _note(self, text: str) -> None:
        if not self._voice.quiet:
            say.note(foreign.line(text))

    def _go_on(self, what: str, left_s: float | None = None) -> None:
        """Say at the foot of the terminal what goes on, unless the screen of a run says it."""
        if self._screen is None:
            self._clock.shows(foreign.line(what), left_s, about=True)

    def close(self) -> None:
        """End what is live."""
        self._screen = None
        self._clock.close()
        self._held.close()

    def _reason(self, record: Record[WhyAsked, Start]) -> None:
        found = why.rows(record.head.asked, record.entries)
        if self._voice.as_json:
            _line("why", id=record.id, **found)
        self._note(f"{found['sentences'][0]} → {record.id}")

    def _tell(self, event: Building | Progress) -> None:
        """Print a JSON line on what goes on inside a long call: each build, and progress once a second at most."""
        moment = time.monotonic()
        if isinstance(event, Building):
            _line("building", server=event.server)
        elif moment - self._told >= PROGRESS_S:
            self._told = moment
            _line("progress", **say.plain(event))


def _line(event: str, **values: Any) -> None:
    write(json.dumps({"schema": SCHEMA_VERSION, "event": event, **values}))


def _about(event: Building) -> str:
    """` (about 20 s, all that are left 3 min)`, as far as it is known."""
    if event.about_s is None:
        return ""
    more = event.left_s is not None and event.left_s > event.about_s
    return f" (about {duration(event.about_s)}" + (f", all that are left {duration(event.left_s or 0.0)})" if more else ")")


def _near(path: Path) -> Path:
    """Relative to where the person stands, when it is below."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
