"""Ctrl-C: what is kept is said, and the command that goes on."""

from __future__ import annotations

import shlex
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import cast

import pytest

from fairground.cli import follow, recorded
from fairground.lab import measuring
from fairground.lab.events import Checked, Event, Planned, Sink
from fairground.model.record import Record
from report import fixture


def interrupted(*events: Event) -> Generator[Event]:
    """A use case that tells of these events and is then interrupted."""
    yield from events
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("events", "says"),
    [
        ((), "interrupted before anything was finished: there is nothing to keep"),
        (
            (Planned(fixture.two_blocks().plan, Path("/results/a run"), 1.0),),
            f"finished trials are kept. Go on with: ./fairground run --resume {shlex.quote('/results/a run')}",
        ),
        ((cast(Checked, Checked.__new__(Checked)),), "what is finished is kept. Go on with: ./fairground check --resume latest"),
    ],
)
def test_what_a_run_or_a_check_keeps(events: tuple[Event, ...], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is finished there is nothing to keep; afterwards the very folder is named."""

    def work(_: Sink) -> Generator[Event]:
        return interrupted(*events)

    with pytest.raises(KeyboardInterrupt):
        list(follow.follow(work))
    assert says in capsys.readouterr().err.replace("\n", " ")


def test_a_verb_goes_on_with_itself(capsys: pytest.CaptureFixture[str]) -> None:
    """A replication and a cross-check name their own verb, once, and not that of a run."""
    planned = Planned(fixture.two_blocks().plan, Path("/results/a run"), 1.0)
    voice = follow.Voice(again="replicate fable --resume RUN")
    with pytest.raises(KeyboardInterrupt):
        list(follow.follow(lambda _: interrupted(planned), voice))
    said = capsys.readouterr().err.replace("\n", " ")
    assert said.count("Go on with: ./fairground replicate fable --resume '/results/a run'") == said.count("Go on with") == 1


@pytest.mark.parametrize(
    ("begun", "ended", "says"),
    [
        (False, False, "interrupted before anything was finished: there is nothing to keep"),
        (True, False, "Go on with: ./fairground capacity --resume '/results/a record'"),
        (True, True, "all of it is kept: ./fairground report '/results/a record'"),
    ],
)
def test_what_a_record_keeps(begun: bool, ended: bool, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A record is gone on with by its folder, wherever that is; one that is finished already is shown."""

    class Kept:
        folder, id, end = Path("/results/a record"), "a record", "done" if ended else None

    def events() -> Iterator[measuring.Event]:
        if begun:
            yield measuring.Finished(cast("Record[object, object]", Kept()))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        recorded.follow(events(), "capacity", lambda _: None)
    assert says in capsys.readouterr().err.replace("\n", " ")
