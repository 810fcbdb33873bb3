"""A check keeps a record: a line for each stack, listed, and gone on with where it was interrupted."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from builders.paths import ROOT
from builders.testbed import start_nothing
from fairground import records
from fairground.lab import check, lists
from fairground.lab.events import Checking, Event, Finished, UnitDone
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.model import Finding, LabError, Severity, Stack
from fairground.model.record import Record, RecordKind

ZOO = ROOT / "tests" / "zoo"
NAMES = ("healthy", "wrong-json", "dreamer")


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """The zoo, and results of its own."""
    return Places(ROOT, ZOO, tmp_path / "results", tmp_path / "cache")


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The stacks on which cases were tried, in order: no process and no database; `wrong-json` fails, `dreamer` is not here."""
    seen: list[str] = []

    def case(_: object, stack: Stack, *__: object) -> SimpleNamespace:
        seen.append(stack.id)
        found = {
            "wrong-json": (Finding("case:json", Severity.REJECT, "json: it is wrong"),),
            "halting": (Finding("instrument", Severity.VOID, "no port is free"),),
        }
        return SimpleNamespace(findings=found.get(stack.server.id, ()))

    start_nothing(monkeypatch, absent={"dreamer"})
    monkeypatch.setattr(check, "try_cases", case)
    return seen


def events(places: Places, *names: str, cases: Sequence[str] = (), record: Record[Any, Any] | None = None) -> Iterator[Event]:
    """Those of a check of these stacks, or of a record that goes on."""
    asked = check.question(places, names, cases) if record is None else record.head.asked
    return check.check(Inputs(places, "./fairground check …", record=record), asked)


def states(told: Iterator[Event], most: int | None = None) -> dict[str, str]:
    """Stack → its state, of a check that is broken off after `most` stacks."""
    done = (one.record.entries[-1] for one in told if isinstance(one, UnitDone))
    return {one.stack.partition(":")[0]: one.state for one in itertools.islice(done, most)}


def test_a_check_is_a_record(places: Places, tried: list[str]) -> None:
    """Each stack is an entry, the failed and the absent one too; it is listed as finished."""
    *_, end = events(places, *NAMES)
    assert isinstance(end, Finished)
    record = records.load(records.find(places.results, end.record.id, RecordKind.CHECK))
    assert record == end.record and [one.state for one in record.entries] == ["passed", "failed", "not here"]
    assert record.entries[2].row == {"state": "not here", "reason": "no such program → install it", "findings": []}
    (row,) = lists.rows("runs", places)
    assert (row["kind"], row["finished"], row["trials"]) == ("check", True, 3)


def test_an_interrupted_check_goes_on(places: Places, tried: list[str]) -> None:
    """What has been tried is not tried again; what is missing follows, on the cases that were asked for."""
    assert states(events(places, *NAMES, cases=("ping",)), most=1) == {"healthy": "passed"}
    record = records.load(records.find(places.results, "latest", RecordKind.CHECK))
    assert record.end is None
    tried.clear()
    assert states(events(places, record=record)) == {"wrong-json": "failed", "dreamer": "not here"}
    assert [one.partition(":")[0] for one in tried] == ["wrong-json"]
    assert records.load(record.folder).end is not None
    assert record.head.asked.cases == ("ping",)


def test_a_check_tells_how_far_it_is(places: Places, tried: list[str]) -> None:
    """Before each stack that is tried its place among all of them is told; of the time left one stack says nothing."""
    told = [one for one in events(places, *NAMES) if isinstance(one, Checking)]
    assert [(one.stack.partition(":")[0], one.place, one.stacks) for one in told] == [("healthy", 1, 3), ("wrong-json", 2, 3)]
    assert [one.left_s for one in told] == [None, None]


def test_an_interrupted_check_counts_what_it_has(places: Places, tried: list[str]) -> None:
    """Stacks that were tried before stand in the place, and not in the time."""
    states(events(places, *NAMES), most=1)
    record = records.load(records.find(places.results, "latest", RecordKind.CHECK))
    told = [one for one in events(places, record=record) if isinstance(one, Checking)]
    assert [(one.place, one.stacks, one.left_s) for one in told] == [(2, 3, None)]


def test_a_name_that_is_none_is_refused(places: Places, tried: list[str]) -> None:
    """Before anything is kept."""
    with pytest.raises(LabError, match="there is no stack `no-such-thing`"):
        events(places, "no-such-thing")
    assert not places.results.exists() and tried == []


def test_a_case_that_is_none_is_refused(places: Places, tried: list[str]) -> None:
    """With the name that was probably meant; before anything is kept."""
    with pytest.raises(LabError, match="the contract has no case `user`") as found:
        events(places, *NAMES, cases=("user",))
    assert "users" in (found.value.hint or "")
    assert not places.results.exists() and tried == []


def test_what_the_machine_spoils_is_void(places: Places, tried: list[str]) -> None:
    """No fault of the server's, and no pass."""
    assert states(events(places, "healthy", "halting")) == {"healthy": "passed", "halting": "void"}
