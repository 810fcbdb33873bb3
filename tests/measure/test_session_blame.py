"""Whose fault it is what goes wrong in a session: the server's, the machine's, or nobody's."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from builders import plans
from builders.fakes import GOOD, LOAD, WORKLOAD, FakeEngine, FakePath, Server, World
from builders.sessions import Played, pair, trial
from fairground.host import disk
from fairground.measure import path, stack, stand
from fairground.measure.schedule import InTurns, whole
from fairground.measure.session import ArmSession
from fairground.model import (
    Finding,
    HostUse,
    MachineError,
    RoleUse,
    Severity,
    StorageError,
    Verdict,
    WorkloadEvent,
)


def on_a_machine(monkeypatch: pytest.MonkeyPatch, busy: bool) -> None:
    """Others use two cores in each window, or nobody does anything else."""
    real = stand.machine_between

    def between(*words: Any) -> tuple[RoleUse, HostUse]:
        lab, use = real(*words)
        calm = HostUse(0.0, 0.5, None, 0.0, {})
        return lab, replace(calm, foreign_cpu_us=2e9 if busy else 0.0)

    monkeypatch.setattr(stand, "machine_between", between)


def test_a_server_that_ends_in_its_turn_has_no_window(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the arm's finding, the other's window is kept, and nothing more is asked."""
    played = pair(Server(), Server(ends_with=3), folder, monkeypatch)
    assert [window.arm for window in played.windows] == ["a"]
    assert (played.grave("a"), played.grave("b")) == ({}, {"server-exit": "reject"})


@pytest.mark.parametrize(("busy", "verdict"), [(True, Verdict.VOID), (False, Verdict.REJECTED)], ids=["busy", "quiet"])
@pytest.mark.parametrize("in_turns", [False, True], ids=["whole", "turns"])
def test_silence_is_the_machines_where_it_was_void(
    folder: Path, monkeypatch: pytest.MonkeyPatch, busy: bool, verdict: Verdict, in_turns: bool
) -> None:
    """A server that others starve is measured again. One that is silent on a quiet machine is rejected."""
    on_a_machine(monkeypatch, busy)
    silent = Server(silent=True)
    played = pair(silent, Server(), folder, monkeypatch) if in_turns else trial(silent, folder, monkeypatch)
    ended = played.ended["a"]
    assert ended.verdict is verdict
    assert (ended.void is None, ended.rejected is None) == (not busy, busy)


def test_a_short_silence_in_turns_blames_nobody(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that has answered is measured again. One that never answered under load is rejected, however short its window."""
    on_a_machine(monkeypatch, busy=False)
    short = InTurns(("a", "b"), replace(LOAD, window_s=0.3), 2, lambda _: True, turn_s=0.1)
    world = World({"a": Server(), "b": Server()}).moved_into(monkeypatch)
    with ArmSession(world.bench(), world.arms(), folder / "later") as session:
        for _ in session.play(short):
            world.servers["a"].silent = True
    ended = session.ended["a"]
    assert ended.verdict is Verdict.VOID and ended.void is not None and "of 0.3 s (0 others), which is too short" in ended.void
    assert session.ended["b"].verdict is not Verdict.VOID
    never = World({"a": Server(silent=True), "b": Server()}).moved_into(monkeypatch)
    assert Played(never, folder / "never", short).ended["a"].verdict is Verdict.REJECTED


def test_nobody_looking_on_makes_arms_void(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A count of connections that stopped early would let an overdraft pass."""
    played = trial(Server(), folder, monkeypatch, watch_failure="RuntimeError: no more")
    assert played.grave("a") == {"watch": "void"}
    assert played.ended["a"].void == "`a` is void: the lab stopped looking at connections and memory: RuntimeError: no more"


def test_the_guilty_arm_is_named_and_the_other_keeps_its_number(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each arm is audited on its own data: lost rows of one are not the other's."""
    played = pair(Server(), Server(keeps=0.9), folder, monkeypatch)
    good, bad = played.ended["a"], played.ended["b"]
    assert (good.rejected, good.verdict is Verdict.REJECTED) == (None, False)
    assert bad.rejected is not None and bad.rejected.startswith("`b` is rejected: one row for each good answer: found ")
    assert sum(window.ok for window in played.windows if window.arm == "a") == 4 * GOOD


@pytest.mark.parametrize(("events", "severity"), [({WorkloadEvent.DEADLOCKS: 50}, Severity.NOTE), ({}, Severity.WARN)])
def test_what_deadlocks_do_is_a_note_where_a_workload_names_them(
    events: dict[WorkloadEvent, int], severity: Severity, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The workload's file decides, and no name of a workload."""
    world = World({"a": Server()}).moved_into(monkeypatch)
    said = Finding("starved", Severity.WARN, "some wait")
    monkeypatch.setattr(stack.validity, "findings", lambda *_, **of: () if of else (said,))
    arm = replace(world.arms()[0], workload=replace(WORKLOAD, events=events))
    with ArmSession(world.bench(), [arm], folder) as session:
        list(session.play(whole("a", LOAD, 7)))
    assert [one.severity for one in session.ended["a"].findings if one.id == "starved"] == [severity]


@pytest.mark.parametrize(
    ("events", "window_s", "verdict"),
    [
        ({WorkloadEvent.DEADLOCKS: 50}, 0.8, Verdict.VOID),
        ({WorkloadEvent.DEADLOCKS: 50}, 3.0, Verdict.REJECTED),
        ({}, 0.8, Verdict.REJECTED),
    ],
)
def test_silence_in_a_short_window_of_deadlocks_says_nothing(
    events: dict[WorkloadEvent, int], window_s: float, verdict: Verdict, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All connections may wait for one deadlock there; the window's own length decides."""
    on_a_machine(monkeypatch, busy=False)
    world = World({"a": Server(silent=True)}).moved_into(monkeypatch)
    result = FakeEngine.result
    monkeypatch.setattr(FakeEngine, "result", lambda engine: replace(result(engine), window_s=window_s))
    arm = replace(world.arms()[0], workload=replace(WORKLOAD, events=events))
    with ArmSession(world.bench(), [arm], folder) as session:
        list(session.play(whole("a", LOAD, 7)))
    assert session.ended["a"].verdict is verdict


@pytest.mark.parametrize("method", ["open_server", "wait"])
def test_what_the_machine_refuses_rejects_no_server(method: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No port for a server, or no connection for the lab that waits for it: the arm is void, and says why."""

    def refuse(*_: object) -> None:
        raise MachineError("no free port between 18000 and 18049")

    monkeypatch.setattr(FakePath, method, refuse)
    played = trial(Server(), folder, monkeypatch)
    assert played.grave("a") == {"instrument": "void"}
    assert played.ended["a"].verdict is Verdict.VOID
    assert any(one.sentence == "no free port between 18000 and 18049" for one in played.ended["a"].findings)


def test_a_failure_on_a_full_disk_is_nobodys_finding(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that fails while a disk is full ends with that, and with no verdict on the server."""
    free = iter([10**9, 0])
    monkeypatch.setattr(disk, "free_bytes", lambda _: next(free))
    with pytest.raises(StorageError, match="the disk of .* is full: 0.0 MB are free"):
        trial(Server(ends_with=1), folder, monkeypatch)


def test_the_disk_of_the_databases_host_needs_room_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything starts, and once a trial has failed: what a full disk there does is not the server's fault."""
    free = iter([10**9, 10**5])
    far = SimpleNamespace(
        name="rack-2", here=(), require=lambda: None, moment=lambda: {}, free_bytes=lambda: next(free)
    )  # fmt: skip
    world = World({"a": Server(ends_with=1)}).moved_into(monkeypatch)
    bench = replace(world.bench(), its_host=cast(Any, far))
    words = "the disk of host `rack-2` is full: 0.1 MB are free, and 1 are needed"
    with pytest.raises(StorageError, match=words), ArmSession(bench, world.arms(), folder) as session:
        list(session.play(whole("a", LOAD, 7)))
    far.free_bytes = lambda: 10**7
    with pytest.raises(StorageError, match="and 32 are needed"):
        ArmSession(bench, world.arms(), folder)


def test_a_port_that_another_process_has_is_the_machines(tmp_path: Path) -> None:
    """A server that listens at one port whatever it is told is not started where something else has that."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        cell = World({"a": Server()}).arms()[0].cell
        route = path.Route(cast(Any, SimpleNamespace(front="127.0.0.1")), tmp_path, cast(Any, None), cell, 2, tmp_path)
        route.fixed_port = port
        with pytest.raises(MachineError, match=f"port {port} is taken, and `own:v1` listens there whatever it is told"):
            route.open_server(plans.server("own").stacks[0])
