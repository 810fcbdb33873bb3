"""Events of a use case as lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from builders.paths import TESTS
from fairground.cli import follow, say
from fairground.lab.events import Began, Building, Checking, Event, Finished, Planned, Replicating, Sink, TrialDone, TriedReason
from fairground.model import Progress
from fairground.model.experiment import WhyAsked
from fairground.model.record import Head, Record, RecordKind
from fairground.run.doubts import doubts
from report import fixture

GOLDEN = TESTS / "golden"


def test_a_check_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line for each stack that is tried, with its place and the time left where that is known; results are the caller's."""
    lines = list[str]()
    monkeypatch.setattr(say, "note", lines.append)
    end = Finished(cast("Record[object, object]", None))

    def events() -> Generator[Event]:
        yield Checking("alder:plain", 1, 40, None)
        yield end
        yield Checking("birch:plain", 2, 40, 780.0)

    assert list(follow.follow(lambda _: events())) == [end]
    assert lines == ["checking 1/40: alder:plain", "checking 2/40: birch:plain, about 13 min left"]


def test_several_replications_say_how_long_the_rest_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each suite that begins has its place, and about what those after it take; the last has none after it."""
    lines = list[str]()
    monkeypatch.setattr(say, "note", lines.append)

    def events() -> Generator[Event]:
        yield Replicating("first", 1, 2, 1800.0)
        yield Replicating("last", 2, 2, 0.0)

    assert list(follow.follow(lambda _: events())) == []
    assert lines == ["replication 1/2: first; 1 more after it, about 30 min", "replication 2/2: last"]


def test_the_lines_of_json_keep_their_names(
    capsys: pytest.CaptureFixture[str], golden: Callable[[Path, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever `--json --progress` tells of a run, from its builds to its end: names of events, their fields, and kinds of values."""
    run = fixture.two_blocks()
    trial, slot = run.trials[0], run.plan.slots[0]
    limited = replace(run, trials=tuple(replace(one, diagnosis="pool") for one in run.trials))
    asked = next(one.asked for one in doubts(limited, (), lambda _: None) if one.asked is not None)
    head: Head[WhyAsked] = Head(1, RecordKind.WHY, "pool-why", "", 1.0, run.machine, {"fairground": "1"}, {}, {}, asked)

    def work(sink: Sink) -> Generator[Event]:
        sink(Building("alder", "make", 1, 2))
        yield Planned(run.plan, Path("/results/one"), 60.0)
        yield Began(run.plan, ())
        sink(Progress("window", 1.0, 2.0, slot=slot, attempt=1))
        yield TrialDone(trial)
        yield TriedReason(Record(Path("/results/pool-why"), head, ()))

    assert list(follow.follow(work, follow.Voice(quiet=True, as_json=True, progress=True))) == []
    say.the_summary(run, Path("report.html"), True)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    told = {one["event"]: {name: type(value).__name__ for name, value in one.items()} for one in lines}
    golden(GOLDEN / "cli" / "events.json", json.dumps(told, indent=1) + "\n")
