"""Faults as they are written: on the command line and in suites, what is refused, and where they show in ids and commands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from builders.suites import suite_with
from builders.trials import trial
from fairground.claims import cells
from fairground.inputs import asked, faults
from fairground.model import Fault, FaultKind, LabError, Load, Suite
from fairground.report.text import words
from fairground.report.trial import again


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("database-restart@3s", Fault(FaultKind.DATABASE_RESTART, 3.0)),
        ("database-crash@3s", Fault(FaultKind.DATABASE_CRASH, 3.0)),
        ("connections-cut@2.5s", Fault(FaultKind.CONNECTIONS_CUT, 2.5)),
        ("pooler-restart@1s", Fault(FaultKind.POOLER_RESTART, 1.0)),
        ("stall=500ms@3s", Fault(FaultKind.STALL, 3.0, 500.0)),
    ],
)
def test_a_fault_is_read_as_it_is_written(text: str, fault: Fault) -> None:
    """Every kind has its time, a stall its length, too; the id is what a person writes."""
    assert faults.one("--fault", text) == fault
    assert (fault.id, str(fault)) == (text, text)


def test_a_stall_may_be_told_in_seconds() -> None:
    """Its id is in milliseconds all the same, so that one stall has one name."""
    assert faults.one("--fault", "stall=1.5s@3s").id == "stall=1500ms@3s"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "earthquake@3s",
            "`--fault`: there is no fault `earthquake`",
            "choose among none, database-restart, database-crash, connections-cut",
        ),
        ("database-restart", "`--fault`: `database-restart` does not say what happens when", "for instance database-restart@3s"),
        ("database-restart=5ms@3s", "does not say what happens when", "for instance database-restart@3s"),
        ("stall@3s", "`--fault`: `stall@3s` does not say what happens when", "for instance stall=500ms@3s"),
        ("stall=500@3s", "does not say what happens when", "for instance stall=500ms@3s"),
        ("stall=500ms@-3s", "does not say what happens when", "for instance stall=500ms@3s"),
        ("stall=0ms@3s", "the stall of `stall=0ms@3s` should be above 0 ms", None),
        ("stall=90s@3s", "should be above 0 ms, and 60000 ms at most", None),
    ],
)
def test_what_is_no_fault_is_refused(text: str, message: str, hint: str | None) -> None:
    """An unknown name, a missing or wrong time, and an absurd stall are each one sentence."""
    with pytest.raises(LabError) as caught:
        faults.parse("--fault", f"none,{text}")
    assert message in caught.value.message
    assert hint is None or (caught.value.hint or "").startswith(hint)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"fault": "connections-cut@4.5s"}, "leaves less than 1 s of the window of 5 s behind it"),
        ({"fault": "connections-cut@9s"}, "leaves less than 1 s of the window of 5 s behind it"),
        ({"fault": "stall=2s@3s"}, "leaves less than 1 s of the window of 5 s behind it"),
        ({"fault": "connections-cut@0.5s"}, "comes too early"),
        ({"fault": "connections-cut@3s", "generator": "wrk"}, "needs the lab's own engine and a window"),
        ({"fault": "connections-cut@3s", "requests": 100}, "needs the lab's own engine and a window"),
    ],
)
def test_a_fault_needs_its_place_in_the_window(said: dict[str, object], message: str) -> None:
    """Beyond the window, at its very beginning, or where nobody tells tenths of a second there is no fault."""
    with pytest.raises(LabError, match=message):
        asked.loads({**asked.DEFAULTS, **said})


def test_each_fault_is_a_load_of_its_own() -> None:
    """Faults are paired with every number of connections, and the window without one is asked for by name."""
    loads = asked.loads({**asked.DEFAULTS, "connections": "1,2", "fault": "none,connections-cut@3s"})
    assert [load.id for load in loads] == ["c1", "c1-connections-cut@3s", "c2", "c2-connections-cut@3s"]
    assert loads[0] == Load(1)


def test_a_suite_names_faults(tmp_path: Path) -> None:
    """The key `faults` gives one load for each, in its order."""
    loads = suite_with(tmp_path, 'faults = ["none", "stall=500ms@3s"]').groups[0].loads
    assert [load.id for load in loads] == ["c10", "c10-stall=500ms@3s"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('faults = ["fire@3s"]', r"`faults`: there is no fault `fire`, in `.*`, line 9"),
        ('faults = ["connections-cut@8s"]', r"`faults`: `connections-cut@8s` leaves less than 1 s .*, in `.*`, line 9"),
        ('faults = ["connections-cut@3s"]\ngenerator = "ab"', r"`faults`: `connections-cut@3s` needs the lab's own engine"),
    ],
)
def test_a_suites_wrong_fault_is_named_with_its_line(tmp_path: Path, line: str, message: str) -> None:
    """What is wrong, in which file and line."""
    with pytest.raises(LabError, match=message):
        suite_with(tmp_path, line)


def test_a_fault_is_told_wherever_its_load_is() -> None:
    """In the cell's id, in the words of a heading, in the command that measures again, and in the marks of claims."""
    load = Load(10, fault=Fault(FaultKind.STALL, 3.0, 500.0))
    plain = trial("a:b", 1, 500.0)
    broken = replace(plain, cell=replace(plain.cell, load=load))
    assert broken.cell.id == "a:b tx direct c10-stall=500ms@3s"
    assert words.load_text(load) == "10 connections, with stall=500ms@3s"
    assert "--fault stall=500ms@3s" in again.command(broken) and "--fault" not in again.command(plain)
    assert "fault=stall=500ms@3s" in cells.marks(broken.cell)
    assert "fault=none" in cells.marks(plain.cell) & cells.plain(Suite("one", "One", "", 1, 1, ()))
