"""The line at the foot of a terminal: what goes on, for how long, how much is left at most; and none where nobody looks."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from fairground.cli import follow, say
from fairground.cli.clock import ProgressClock
from fairground.cli.streams import Terminal
from fairground.lab.events import Building


def screen() -> Console:
    """A terminal whose text is kept."""
    return Terminal(file=io.StringIO(), force_terminal=True, width=100)


def test_the_line_counts_up_and_down() -> None:
    """Time gone grows, time left shrinks and is never below 0; where it is unknown none is given."""
    moment = [100.0]
    clock = ProgressClock(screen(), live=False, now=lambda: moment[0])
    clock.shows("compare, part 3", 30.0)
    moment[0] += 12
    assert clock.line().plain == "compare, part 3 · 12 s · at most 18 s left · Ctrl-C keeps what is finished"
    moment[0] += 50
    assert " · at most 0 s left · " in clock.line().plain
    clock.shows("try, load curve", 14.0, about=True)
    moment[0] += 4
    assert clock.line().plain == "try, load curve · 4 s · about 10 s left · Ctrl-C keeps what is finished"
    clock.shows("building one")
    assert clock.line().plain == "building one · 0 s · Ctrl-C keeps what is finished"


@pytest.mark.parametrize("live", [True, False])
def test_only_a_terminal_has_the_line(live: bool) -> None:
    """On a terminal it is drawn and taken away again; elsewhere nothing is written."""
    console = screen()
    clock = ProgressClock(console, live)
    clock.shows("building one")
    clock.close()
    assert isinstance(console.file, io.StringIO)
    assert ("building one" in console.file.getvalue()) is live
    assert not ProgressClock.is_wanted(Terminal(file=io.StringIO()), quiet=False)


def test_builds_say_how_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command of a build stands with the place of its server among those that are built; one alone needs none."""
    lines = list[str]()
    monkeypatch.setattr(say, "note", lines.append)

    def work(sink: follow.Sink) -> follow.Generator[follow.Event]:
        sink(Building("one", "make", 2, 5))
        sink(Building("two", "make"))
        sink(Building("three", "make", 1, 2, 20.0, 200.0))
        sink(Building("four", "make", 1, 1, 20.0, 20.0))
        yield from ()

    assert list(follow.follow(work)) == []
    assert lines == [
        "building 2/5 one: make",
        "building two: make",
        "building 1/2 three (about 20 s, all that are left 3 min): make",
        "building four (about 20 s): make",
    ]
