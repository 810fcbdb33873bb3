"""From the events of a use case to what a person sees: lines on stderr, a live screen during trials, JSON lines on stdout."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairground.cli import say
from fairground.cli.clock import Clock
from fairground.cli.screen import Screen, duration
from fairground.lab.events import (
    Absent,
    Began,
    Building,
    Built,
    Checked,
    Checking,
    Event,
    Planned,
    Replicating,
    Said,
    Sink,
    TrialDone,
    TriedReason,
    Trying,
    Within,
)
from fairground.model import SCHEMA_VERSION, Progress, foreign
from fairground.model.experiment import Start, WhyAsked
from fairground.model.record import Record
from fairground.report.run import why

Work = Callable[[Sink], Generator[Event]]
"""A use case with its inputs; it still lacks who hears what happens inside long calls."""
PROGRESS_S = 1.0
LONG_BUILD_S = 5.0
"""From so many seconds on it is said how long the builds took."""


@dataclass(frozen=True)
class Voice:
    """How a verb speaks: `quiet` says nothing on the way, `as_json` tells each trial as a line, `progress` tells more.

    `again` is what goes on with an interrupted run; `RUN` in it stands for the run's folder.
    """

    quiet: bool = False
    as_json: bool = False
    progress: bool = False
    again: str = "run --resume RUN"


def follow(work: Work, voice: Voice | None = None) -> Generator[Event]:
    """Show the events of `work` as they come, and pass on those that are results.

    An interruption ends the use case, says what is kept, and goes on to the caller.
    """
    shown = _Shown(voice or Voice())
    try:
        with ExitStack() as held:
            events = work(shown.within)
            held.callback(shown.close)
            held.enter_context(closing(events))
            for event in events:
                if not shown.show(event):
                    yield event
    except KeyboardInterrupt:
        shown.close()
        say.note(shown.kept)
        raise


class _Shown:
    """What is on the terminal, and the live screen while there is one."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice
        self._told = 0.0
        self._held = ExitStack()
        self._later_s = 0.0
        self._screen: Screen | None = None
        self._clock = Clock(say.talk, Clock.wanted(say.talk, voice.quiet))
        self.folder: Path | None = None
        """Of the run that goes on; None before there is one."""
        self._checked = False

    @property
    def kept(self) -> str:
        """What is kept of what was interrupted, and how to go on with it."""
        if self.folder is not None:
            again = self._voice.again.replace("RUN", shlex.quote(str(_near(self.folder))))
            return f"interrupted; finished trials are kept. Go on with: ./fairground {again}"
        if self._checked:
            return "interrupted; what is finished is kept. Go on with: ./fairground check --resume latest"
        return "interrupted before anything was finished: there is nothing to keep"

    def within(self, event: Within) -> None:
        """Something happened inside one long call."""
        if self._voice.progress:
            self._tell(event)
        if isinstance(event, Building):
            place = f" {event.place}/{event.servers}" if event.servers > 1 else ""
            say.note(foreign.line(f"building{place} {event.server}: {event.command}"))
            self._clock.shows(foreign.line(f"building{place} {event.server}"))
        elif isinstance(event, Progress) and self._screen is not None:
            self._screen.progress(event)

    def show(self, event: Event) -> bool:
        """Show an event. False: it is a result, and the caller's."""
        match event:
            case Said():
                say.note(event.sentence)
            case Absent():
                say.note(foreign.line(f"not here: {event.what}, {event.why}"))
            case Built():
                if event.seconds > LONG_BUILD_S:
                    say.note(f"built in {duration(event.seconds)}")
            case Checking():
                left = "" if event.left_s is None else f", about {duration(event.left_s)} left"
                say.note(foreign.line(f"checking {event.place}/{event.stacks}: {event.stack}{left}"))
                self._clock.shows(foreign.line(f"checking {event.place}/{event.stacks}: {event.stack}"))
            case Replicating():
                self._later_s = event.later_s
                after = event.suites - event.place
                rest = f"; {after} more after it, about {duration(event.later_s)}" if after else ""
                say.note(foreign.line(f"replication {event.place}/{event.suites}: {event.suite}{rest}"))
            case Planned():
                self.folder = event.folder
                say.note(f"plan  {say.outline(event.plan, event.left_s)} → {_near(event.folder)}")
                if self._voice.progress:
                    _line("plan", folder=str(event.folder), left_s=event.left_s)
            case Began():
                self._clock.close()  # a terminal has one foot
                live = say.talk.is_terminal and "CI" not in os.environ
                screen = Screen(event.plan, event.done, say.talk, live, self._voice.quiet, self._later_s, event.hosts)
                self._screen = self._held.enter_context(screen)
            case TrialDone():
                self._trial(event)
            case Trying(asked):
                self.close()
                at_most = f"at most {duration(asked.budget_s)}"
                say.note(
                    foreign.line(f"experiment {event.place}/{event.experiments}: {asked.reason} of {asked.cell.id}, {at_most}")
                )
                say.note(foreign.line(f"beside it: {'; '.join(one.words for one in asked.experiment.changes)}"))
                self._clock.shows(f"experiment {event.place}/{event.experiments}", asked.budget_s)
            case TriedReason(record):
                self._clock.close()
                self._reason(record)
            case _:
                self._checked = self._checked or isinstance(event, Checked)
                self.close()
                return False
        return True

    def close(self) -> None:
        """End what is live."""
        self._screen = None
        self._clock.close()
        self._held.close()

    def _trial(self, event: TrialDone) -> None:
        if self._screen is not None:
            self._screen.finished(event.trial)
        if self._voice.as_json:
            _line("trial", **say.plain(event.trial))

    def _reason(self, record: Record[WhyAsked, Start]) -> None:
        found = why.rows(record.head.asked, record.entries)
        if self._voice.as_json:
            _line("why", id=record.id, **found)
        say.note(foreign.line(f"{found['sentences'][0]} → {record.id}"))

    def _tell(self, event: Within) -> None:
        """What goes on inside a long call, once a second at most."""
        moment = time.monotonic()
        if isinstance(event, Building):
            _line("building", server=event.server)
        elif moment - self._told >= PROGRESS_S:
            self._told = moment
            _line("progress", **say.plain(event))


def _line(event: str, **values: Any) -> None:
    print(json.dumps({"schema": SCHEMA_VERSION, "event": event, **values}), flush=True)


def _near(path: Path) -> Path:
    """Relative to where the person stands, when it is below."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
