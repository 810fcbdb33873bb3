"""From the events of a use case to what a person sees: lines on stderr, a live screen during trials, JSON lines on stdout."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing
from pathlib import Path

from fairground.cli import say
from fairground.cli.screen import Screen, duration
from fairground.lab.events import (
    Absent,
    Began,
    Building,
    Built,
    Event,
    Planned,
    Said,
    Sink,
    TrialDone,
    Within,
)
from fairground.model import SCHEMA_VERSION, Progress, foreign

Work = Callable[[Sink], Generator[Event]]
"""A use case with its inputs; it still lacks who hears what happens inside long calls."""
LONG_BUILD_S = 5.0
"""From so many seconds on it is said how long the builds took."""


def follow(work: Work, quiet: bool = False, as_json: bool = False) -> Generator[Event]:
    """Show the events of `work` as they come, and pass on those that are results. With `as_json` each trial is a line on stdout.

    An interruption ends the use case before it goes on to the caller.
    """
    shown = _Shown(quiet, as_json)
    with ExitStack() as held:
        events = work(shown.within)
        held.callback(shown.close)
        held.enter_context(closing(events))
        for event in events:
            if not shown.show(event):
                yield event


class _Shown:
    """What is on the terminal, and the live screen while there is one."""

    def __init__(self, quiet: bool, as_json: bool) -> None:
        self._quiet, self._as_json = quiet, as_json
        self._held = ExitStack()
        self._screen: Screen | None = None

    def within(self, event: Within) -> None:
        """Something happened inside one long call."""
        if isinstance(event, Building):
            say.note(foreign.line(f"building {event.server}: {event.command}"))
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
            case Planned():
                say.note(f"plan  {say.outline(event.plan, event.left_s)} → {_near(event.folder)}")
            case Began():
                live = say.talk.is_terminal and "CI" not in os.environ
                self._screen = self._held.enter_context(Screen(event.plan, event.done, say.talk, live, self._quiet))
            case TrialDone():
                self._trial(event)
            case _:
                self.close()
                return False
        return True

    def close(self) -> None:
        """End the live screen."""
        self._screen = None
        self._held.close()

    def _trial(self, event: TrialDone) -> None:
        if self._screen is not None:
            self._screen.finished(event.trial)
        if self._as_json:
            print(json.dumps({"schema": SCHEMA_VERSION, "event": "trial", **say.plain(event.trial)}), flush=True)


def _near(path: Path) -> Path:
    """Relative to where the person stands, when it is below."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
