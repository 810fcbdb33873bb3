"""Ctrl-C: what is kept is said, and the command that goes on."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from builders.stored import new
from fairground import cli
from fairground.cli import follow, run
from fairground.inputs import options
from fairground.lab.events import Event, Finished, Planned, RecordOpened, Sink
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.model.record import Record, RecordKind
from report import fixture


def interrupted(*events: Event) -> Generator[Event]:
    """A use case that tells of these events and is then interrupted."""
    yield from events
    raise KeyboardInterrupt


def kept(kind: RecordKind) -> Record[object, object]:
    """A record of which only its kind and its folder are looked at."""
    head = SimpleNamespace(asked=None, kind=kind)
    return cast("Record[object, object]", SimpleNamespace(folder=Path("/results/a record"), head=head, entries=()))


RECORD = kept(RecordKind.COMPARISON)


@pytest.mark.parametrize(
    ("events", "says"),
    [
        ((), "interrupted before anything was finished: there is nothing to keep"),
        (
            (Planned(fixture.two_blocks().plan, Path("/results/a run"), 1.0),),
            "Go on with: ./fairground run --resume '/results/a run'",
        ),
        ((RecordOpened(RECORD),), "what is finished is kept. Go on with: ./fairground compare --resume '/results/a record'"),
        ((RecordOpened(kept(RecordKind.COUNT)),), "Go on with: ./fairground run --count --resume '/results/a record'"),
        ((RecordOpened(RECORD), Finished(RECORD)), "all of it is kept: ./fairground report '/results/a record'"),
    ],
)
def test_what_is_kept_is_said(events: tuple[Event, ...], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is finished there is nothing to keep; afterwards the very folder is named, and what is whole is shown."""

    def work(_: Sink) -> Generator[Event]:
        return interrupted(*events)

    with pytest.raises(KeyboardInterrupt):
        list(follow.follow(work))
    assert says in capsys.readouterr().err.replace("\n", " ")


def test_a_larger_budget_is_given_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is kept nowhere, so the command that goes on has it."""
    folder, voices = new(tmp_path), list[follow.Voice]()
    monkeypatch.setattr(run.elsewhere, "placed_of", lambda _: ())
    monkeypatch.setattr(run, "finish", lambda _, voice: voices.append(voice))
    given = {one.name: one.default for one in options.OPTIONS} | {"resume": folder.name, "budget": "2h"}
    run._resume(given, (), Inputs(Places(results=tmp_path)), follow.Voice())
    assert [one.again for one in voices] == ["run --resume RUN --budget 2h"]


@pytest.mark.parametrize("first", [signal.SIG_IGN, signal.SIG_DFL])
def test_nohup_outlives_its_terminal(first: signal.Handlers) -> None:
    """A signal that was ignored when the lab began stays so; else a terminal that closes ends it as Ctrl-C does."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        signal.signal(signal.SIGHUP, first)
        cli._take_signals()
        with nullcontext() if first is signal.SIG_IGN else pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGHUP)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_the_database_is_given_again(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As it was typed; a try's record keeps it, and refuses another."""
    monkeypatch.setattr(follow.typed, "command", lambda: "./fairground run --database @db.txt")
    for record, end in ((RECORD, "a record' --database @db.txt\n"), (kept(RecordKind.TRY), "a record'\n")):
        events = interrupted(RecordOpened(record))
        with pytest.raises(KeyboardInterrupt):
            list(follow.follow(lambda _, events=events: events))
        assert capsys.readouterr().err.endswith(end)


@pytest.mark.parametrize(
    ("typed", "end"),
    [
        ("./fairground run --database 'postgresql://me:(hidden)@h/x'", "a record' --database URL\n"),
        ("./fairground try http://a --against http://b -- ./app --database postgres://c", "a record'\n"),
    ],
)
def test_the_command_that_goes_on_can_work(
    typed: str, end: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A hidden password logs nobody in, and a service's option is none of the lab's."""
    monkeypatch.setattr(follow.typed, "command", lambda: typed)
    with pytest.raises(KeyboardInterrupt):
        list(follow.follow(lambda _: interrupted(RecordOpened(RECORD))))
    assert capsys.readouterr().err.endswith(end)


def test_what_cannot_go_on_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Where the record lacks what was asked, no command is advised that would be refused."""
    voice = follow.Voice(can_go_on=False)
    with pytest.raises(KeyboardInterrupt):
        list(follow.follow(lambda _: interrupted(RecordOpened(RECORD)), voice))
    said = capsys.readouterr().err.replace("\n", " ")
    assert "what was asked is not: ./fairground report '/results/a record'" in said and "--resume" not in said


def test_a_verb_goes_on_with_itself(capsys: pytest.CaptureFixture[str]) -> None:
    """A replication names its own verb, once, and not that of a run."""
    planned = Planned(fixture.two_blocks().plan, Path("/results/a run"), 1.0)
    voice = follow.Voice(again="replicate fable --resume RUN")
    with pytest.raises(KeyboardInterrupt):
        list(follow.follow(lambda _: interrupted(planned), voice))
    said = capsys.readouterr().err.replace("\n", " ")
    assert said.count("Go on with: ./fairground replicate fable --resume '/results/a run'") == said.count("Go on with") == 1
