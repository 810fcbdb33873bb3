"""When a warm-up ends, and what it says of the window as a pilot: on a host, a database and an engine that are none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from builders.fakes import LOAD, WORKLOAD, Server, World
from fairground.measure import pilot
from fairground.measure.arm import Ended
from fairground.measure.schedule import Whole, whole
from fairground.measure.session import ArmSession
from fairground.model import EventCount, Severity, Sizing, Verdict, WorkloadEvent


@pytest.mark.parametrize("longest_s", [0.5, 2.9])
def test_a_warm_up_too_short_to_be_judged_lasts_as_asked(folder: Path, monkeypatch: pytest.MonkeyPatch, longest_s: float) -> None:
    """It is not rounded up to whole seconds, and the trial notes that nobody knows whether it had settled."""
    slept: list[float] = []
    world = World({"a": Server()}).moved_into(monkeypatch)
    monkeypatch.setattr("fairground.measure.loaded.time.sleep", slept.append)
    with ArmSession(world.bench(), world.arms(), folder) as session:
        made = list(session.play(whole("a", replace(LOAD, warmup_max_s=longest_s), 7)))
    assert slept[:1] == [longest_s] and len(made) == 1
    assert [one.severity for one in session.ended["a"].findings if one.id == "warm-up"] == [Severity.NOTE]


@pytest.mark.parametrize(
    ("seconds", "begins"),
    [
        ([(1000, 90.0), (700, 60.0), (1000, 50.0)], False),
        ([(1000, 50.0), (700, 51.0), (1000, 50.0)], True),
    ],
    ids=["gets cheaper", "costs the same"],
)
def test_a_warm_up_ends_where_an_answer_costs_what_it_did(
    seconds: list[tuple[int, float]], begins: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine whose seconds differ does not prolong it; a server that still compiles does."""
    world = World({"a": Server(warm_up=seconds)}).moved_into(monkeypatch)
    load = replace(LOAD, warmup_min_s=0.0, warmup_max_s=20.0)
    arms = [replace(one, cell=replace(one.cell, load=load)) for one in world.arms()]
    with ArmSession(world.bench(), arms, folder) as session:
        list(session.play(whole("a", load, 1)))
    assert ("a measure" in world.log) is begins


@pytest.mark.parametrize(("before_turns", "begins"), [(True, True), (False, False)])
def test_two_steady_seconds_end_a_warm_up_before_turns(
    before_turns: bool, begins: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Turns tell afterwards whether it was warm. A trial by itself has nothing of the kind, and waits for a third second."""
    world = World({"a": Server(warm_up=[(1000, 100.0), (1000, 100.0)])}).moved_into(monkeypatch)
    load = replace(LOAD, warmup_min_s=0.0, warmup_max_s=20.0)
    arms = [replace(one, cell=replace(one.cell, load=load)) for one in world.arms()]
    with ArmSession(world.bench(), arms, folder) as session:
        session.load(Whole("a", load, 1, trial=True, before_turns=before_turns))
    assert ("a measure" in world.log) is begins


def sized(server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch, pilot_s: float) -> tuple[World, Ended]:
    """One arm in a window that events size, between 1 s and 60 s, after a pilot of so many seconds."""
    world = World({"a": server}).moved_into(monkeypatch)
    clock = iter([0.0, pilot_s])
    monkeypatch.setattr(pilot, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    arm = replace(world.arms()[0], workload=replace(WORKLOAD, events={WorkloadEvent.DEADLOCKS: 50}))
    with ArmSession(world.bench(), [arm], folder) as session:
        assert len(list(session.play(whole("a", LOAD, 7, 60.0)))) == 1
    return world, session.ended["a"]


def test_a_window_is_sized_by_the_events_of_its_warm_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine is told how long it lasts; the trial says what pilot and window held, and nothing of what came after."""
    world, ended = sized(Server(deadlocks=[3, 28, 79, 90]), folder, monkeypatch, 4.0)
    assert "a measure 12 s" in world.log
    assert ended.sizing == Sizing(1.0, 60.0, 4.0, 12.0, {WorkloadEvent.DEADLOCKS: EventCount(50, 25, 51)})
    assert [one.sentence for one in ended.findings if one.id == "events"] == [
        "the window of 12 s in place of 1 s held 51 of 50 deadlocks"
    ]


def test_a_server_that_ends_in_its_pilot_has_no_sizing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its trial is rejected as ever; nothing is said of a window that there was not."""
    world = World({"a": Server(unreachable=True)}).moved_into(monkeypatch)
    arm = replace(world.arms()[0], workload=replace(WORKLOAD, events={WorkloadEvent.DEADLOCKS: 50}))
    with ArmSession(world.bench(), [arm], folder) as session:
        assert list(session.play(whole("a", LOAD, 7, 60.0))) == []
    assert session.ended["a"].sizing is None and session.ended["a"].verdict is Verdict.REJECTED
