"""Whose fault it is when the database or the load engine ends while a server is measured: never the server's."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from builders.fakes import LOAD, FakeStack, Server, World
from fairground.host import network
from fairground.judge import blame, thresholds, validity
from fairground.measure import path
from fairground.measure.arm import Ended
from fairground.measure.schedule import InTurns, Schedule, SideBySide, whole
from fairground.measure.session import ArmSession
from fairground.model import DatabaseEnded, Severity, StorageError, Verdict
from fairground.model.contract import Ready

IN_TURNS = InTurns(("a", "b"), LOAD, 2, lambda _: True, turn_s=0.5)


def played(world: World, folder: Path, schedule: Schedule, monkeypatch: pytest.MonkeyPatch) -> dict[str, Ended]:
    """The ends of a session's arms."""
    world.moved_into(monkeypatch)
    with ArmSession(world.bench(), world.arms(), folder) as session:
        for _ in session.play(schedule):
            pass
    return dict(session.ended)


def grave(ended: Ended) -> dict[str, str]:
    """What rejects an arm or makes it void; findings of this machine's clocks left out."""
    decisive = [one for one in ended.findings if one.severity in (Severity.REJECT, Severity.VOID)]
    return {one.id: str(one.severity) for one in decisive if one.id not in validity.OF_THE_MACHINE}


def test_a_crash_of_the_database_makes_a_trial_void(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that were acknowledged are gone, and the server did not lose them."""
    (ended,) = played(World({"a": Server(crashes=True)}), tmp_path / "s", whole("a", LOAD, 7), monkeypatch).values()
    assert (ended.verdict, grave(ended)) == (Verdict.VOID, {"database-crashed": "void"})
    assert any(one.id == "audit:rows" and one.severity is Severity.NOTE for one in ended.findings)


def test_want_of_room_in_the_database_makes_a_trial_void(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is held to its own number of connections did not take the room of all."""
    world = World({"a": Server(without_room=3, keeps=0.9)})
    (ended,) = played(world, tmp_path / "s", whole("a", LOAD, 7), monkeypatch).values()
    assert (ended.verdict, grave(ended)) == (Verdict.VOID, {"database-full": "void"})
    assert ended.database is not None and ended.database.no_room == 3


def test_a_crash_meets_all_arms_of_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They share the server, so no comparison ends with one of them rejected."""
    ended = played(World({"a": Server(crashes=True), "b": Server()}), tmp_path / "s", IN_TURNS, monkeypatch)
    assert [one.verdict for one in ended.values()] == [Verdict.VOID, Verdict.VOID]
    assert all(one.rejected is None and one.void is not None for one in ended.values())


@pytest.mark.parametrize("schedule", [IN_TURNS, SideBySide(("a", "b"), LOAD, 7, first=1, most_s=None, turns_s=4.0)])
def test_an_engine_that_was_killed_rejects_nobody(schedule: Schedule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its exit code is asked: what it had counted is lost, and the rows that are too many for it are no fault of a server."""
    ended = played(World({"a": Server(engine_dies=True), "b": Server()}), tmp_path / "s", schedule, monkeypatch)
    assert (ended["a"].verdict, ended["b"].verdict) == (Verdict.VOID, Verdict.VALID)
    assert "exit code -9" in str(ended["a"].void)


def test_a_server_that_cannot_be_reached_in_turns_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its engine ended by itself, with a result that says so."""
    ended = played(World({"a": Server(unreachable=True), "b": Server()}), tmp_path / "s", IN_TURNS, monkeypatch)
    assert grave(ended["a"]) == {"unreachable": "reject"}


@pytest.mark.parametrize("schedule", [whole("a", LOAD, 7), IN_TURNS], ids=["whole", "turns"])
def test_a_database_that_ended_ends_what_is_measured(schedule: Schedule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No arm has an end, so that nothing is kept of it and it can be measured once there is a database again."""
    world = World({"a": Server(), "b": Server()}, database_ends=True).moved_into(monkeypatch)
    session = ArmSession(world.bench(), world.arms(), tmp_path / "s")
    with pytest.raises(DatabaseEnded, match="the database server ended with exit code -9"), session:
        for _ in session.play(schedule):
            pass
    assert world.log.count("a stop") == world.log.count("b stop") == 1


def test_a_server_whose_folder_was_removed_is_not_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It cannot be started for want of its files, which somebody took."""
    world = World({"a": Server(starts=False)}).moved_into(monkeypatch)
    arms = world.arms()
    stack = arms[0].stack
    assert isinstance(stack, FakeStack)
    stack.server.folder = tmp_path / "gone"
    with pytest.raises(StorageError, match="gone.* was removed"), ArmSession(world.bench(), arms, tmp_path / "s"):
        shutil.rmtree(tmp_path / "gone", ignore_errors=True)


@pytest.mark.parametrize(("late_s", "said"), [(-0.1, None), (0.4, None), (5.0, "stood still for 5.0 s")])
def test_a_lab_that_stood_still_bills_no_server(late_s: float, said: str | None) -> None:
    """What a role used after the end of the window, before the lab read its clocks, was not used in it."""
    found = blame.standstill(late_s, 2.0, thresholds.standard().rules)
    assert (found is None) is (said is None)
    if found is not None and said is not None:
        assert found.severity is Severity.VOID and said in found.sentence


def test_the_time_to_be_ready_counts_from_the_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What other arms take meanwhile is no time more; one that nobody has asked before is asked once."""
    now, left = iter([100.0, 107.0]), list[float]()
    monkeypatch.setattr(path, "time", SimpleNamespace(monotonic=lambda: next(now)))
    monkeypatch.setattr(path, "RoleMeter", lambda _: None)
    monkeypatch.setattr(path.server, "start", lambda *_: SimpleNamespace())
    monkeypatch.setattr(path.server, "wait", lambda *given: left.append(given[-1]))
    monkeypatch.setattr(path.server, "ready_of", lambda _: Ready("/", 200))
    monkeypatch.setattr(path.Route, "url", "postgresql://x")
    monkeypatch.setattr(path, "free_port", lambda **_: 1)
    cell = World({"a": Server()}).arms()[0].cell
    keeper = SimpleNamespace(front="127.0.0.1")
    route = path.Route(cast(Any, keeper), tmp_path, cast(Any, None), cell, 2, tmp_path)
    route.open_server(cast(Any, FakeStack("a")))
    route.wait(30.0)
    assert left == [23.0]
    asked = list[int]()
    monkeypatch.setattr(network, "_status", lambda *_: asked.append(1) or 204)
    assert network.wait_ready("127.0.0.1", 1, "/ready", 204, -3.0, lambda: True) is None and asked == [1]
