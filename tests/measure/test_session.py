"""A session of arms on a host, a database and an engine that are none: order and findings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from builders import plans
from builders.fakes import GOOD, LOAD, WORKLOAD, Server, World
from builders.requests import asking
from builders.sessions import Played, pair, trial
from fairground.inputs import workload_files
from fairground.judge import written
from fairground.measure import audit
from fairground.measure.arm import NullArm
from fairground.measure.flushes import Flushes
from fairground.measure.schedule import InTurns, Turns, Whole, WholeWindows
from fairground.measure.session import ArmSession
from fairground.model import (
    Audit,
    DatabaseUse,
    Fault,
    FaultKind,
    LabError,
    LoadRequest,
    Needs,
    PathWire,
    Topology,
    Verdict,
)
from fairground.model.contract import NO_CONTRACT, CompiledDatabase


def test_a_trial_has_its_order(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fresh data, start, verification, what the audit asks before, load, stop, and the audit."""
    played = trial(Server(), folder, monkeypatch)
    begins, ends = ["a reset", "a start", "a verify", "a count"], ["a asked to end", "a stop", "a count"]
    assert played.log == [*begins, "a measure", "a engine ends", *ends]
    assert played.grave("a") == {}
    (window,) = played.windows
    assert (window.arm, window.ok, played.ended["a"].audit[0].holds) == ("a", GOOD, True)


def test_an_arms_database_is_changed_before_its_server_starts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements come after the fresh copy of the data, which would undo them."""
    assert trial(Server(altered=("index",)), folder, monkeypatch).log[:3] == ["a reset", "a index", "a start"]


def test_all_arms_are_up_before_one_is_loaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both come up together and are verified before the audit's first question; they are asked to end together, and stopped before an audit."""
    played = pair(Server(), Server(), folder, monkeypatch)
    log = played.log
    assert log[:8] == ["a reset", "a start", "b reset", "b start", "a verify", "b verify", "a count", "b count"]
    assert [line for line in log if line.endswith("turn")] == [f"{arm} turn" for arm in "abbabaab"]
    assert log[-8:-4] == ["a engine ends", "b engine ends", "a asked to end", "b asked to end"]
    assert log[-4:] == ["a stop", "b stop", "a count", "b count"]
    assert [(window.arm, window.number) for window in played.windows] == [("a", 1), ("b", 1), ("b", 2), ("a", 2)]
    assert played.grave("a") == played.grave("b") == {}


@pytest.mark.parametrize(
    ("server", "found", "loaded"),
    [
        (Server(starts=False), {"start": "reject"}, False),
        (Server(not_ready="it answers 500"), {"ready": "reject"}, False),
        (Server(wrong_case=True), {"case:one": "reject"}, False),
        (Server(ends_with=3), {"server-exit": "reject"}, True),
        (Server(keeps=0.9), {"audit:rows": "reject"}, True),
        (Server(engine_fails=True), {"instrument": "void"}, True),
        (Server(unreadable=True), {"database": "void"}, True),
        (Server(leaves=True), {}, True),
    ],
)
def test_what_goes_wrong_is_a_finding(
    folder: Path, monkeypatch: pytest.MonkeyPatch, server: Server, found: dict[str, str], loaded: bool
) -> None:
    """No server makes a session raise: it is rejected, what fails of our own is void, and everything is stopped in any case."""
    played = trial(server, folder, monkeypatch)
    assert played.grave("a") == found
    assert server.loaded is loaded
    assert played.log.count("a stop") == 1


def test_a_failed_arm_is_not_loaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one side gone a comparison asks for nothing; the other side is sound, and both are stopped."""
    played = pair(Server(), Server(wrong_case=True), folder, monkeypatch)
    assert played.windows == [] and not [line for line in played.log if line.endswith("turn")]
    assert (played.grave("a"), played.grave("b")) == ({}, {"case:one": "reject"})
    assert [line for line in played.log if line.endswith("stop")] == ["a stop", "b stop"]
    assert played.ended["b"].rejected == "`b` is rejected: it does not fulfil the contract: one case: it is wrong"


@pytest.mark.parametrize(
    ("numbers", "found"),
    [([7, 7 + GOOD], {}), ([7, 6 + GOOD], {"audit:transactions": "reject"}), ([7], {}), ([], {})],
    ids=["as many", "fewer", "unknown afterwards", "unknown"],
)
def test_answers_that_share_a_transaction(
    numbers: list[int], found: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each good answer that writes has a transaction's number of its own; what nobody tells is not held against it."""
    played = trial(Server(transactions=list(numbers)), folder, monkeypatch)
    assert played.grave("a") == found
    assert ("transactions" in {line.id for line in played.ended["a"].audit}) is (len(numbers) == 2)


@pytest.mark.parametrize(
    ("numbers", "found"),
    [([5, 5 + GOOD], {}), ([5, 5], {"audit:flushes": "reject"}), ([5], {}), ([], {})],
    ids=["waits", "does not wait", "unknown afterwards", "unknown"],
)
def test_answers_without_a_flush_of_the_log(
    numbers: list[int], found: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commits that wait for the disk need its flushes, in a window and in turns; what nobody counts is held against nobody."""
    monkeypatch.setattr(written, "counted_by", lambda one: one.done)
    monkeypatch.setattr(written, "LATE_S", 0.0)
    played = trial(Server(flushes=list(numbers)), folder, monkeypatch)
    assert played.grave("a") == found
    assert ("flushes" in {line.id for line in played.ended["a"].audit}) is (len(numbers) == 2)
    world = World({"a": Server(flushes=list(numbers)), "b": Server()}).moved_into(monkeypatch)
    with ArmSession(world.bench(), world.arms(), folder / "turns") as session:
        session.load(Turns(("a", "b"), LOAD, 1.0, 1.0))
    assert {one.id: str(one.severity) for one in session.ended["a"].findings if one.id.startswith("audit")} == found


def test_an_interruption_stops_everything(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Engine and servers are ended when the session is left by an exception, which goes on; nothing is judged."""
    world = World({"a": Server(), "b": Server()}).moved_into(monkeypatch)
    session = ArmSession(world.bench(), world.arms(), folder)
    with pytest.raises(KeyboardInterrupt), session:
        for _ in session.play(InTurns(("a", "b"), LOAD, 2, lambda _: True)):
            raise KeyboardInterrupt
    assert world.log[-6:] == ["a engine ends", "b engine ends", "a asked to end", "b asked to end", "a stop", "b stop"]
    assert session.ended == {}


def test_a_server_that_cannot_be_reached_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A load of a search without a window has its reason, and the arm is not loaded again."""
    world = World({"a": Server(unreachable=True)}).moved_into(monkeypatch)
    played = Played(world, folder, WholeWindows((Whole("a", LOAD, 1), Whole("a", LOAD, 2))))
    assert played.windows == [] and played.log.count("a measure") == 1
    assert played.grave("a") == {"unreachable": "reject"}


def test_an_arm_that_cannot_be_stopped_leaves_no_other_running(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault of our own goes on, after everything else was stopped."""
    world = World({"a": Server(will_not_stop=True), "b": Server()}).moved_into(monkeypatch)
    with pytest.raises(OSError, match="cannot be stopped"):
        Played(world, folder, InTurns(("a", "b"), LOAD, 1, lambda _: True))
    assert world.log[-6:] == ["a engine ends", "b engine ends", "a asked to end", "b asked to end", "a stop", "b stop"]


def test_who_asks_in_spite_of_a_failure_gets_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that goes on asking about a failed arm has no window, and no engine is started."""
    world = World({"a": Server(wrong_case=True)}).moved_into(monkeypatch)
    with ArmSession(world.bench(), world.arms(), folder) as session:
        assert session.load(Whole("a", LOAD, 1)) == ()
    assert "a measure" not in world.log and session.ended["a"].verdict is Verdict.REJECTED


@pytest.mark.parametrize(("environment", "pooler", "holds"), [
    ({"SIZE": "$pool_size"}, None, True), ({"ADDRESS": "$database_url"}, None, False), ({}, "pgbouncer-tx", True),
])  # fmt: skip
def test_who_is_told_no_pool_is_held_to_none(environment: dict[str, str], pooler: str | None, holds: bool) -> None:
    """A server that learns no size of its pool cannot keep to one; behind a pooler the pooler has one."""
    made = replace(plans.server("own"), environment=environment)
    arm = World({"a": Server()}).arms()[0]
    asked = replace(arm, stack=made.stacks[0], cell=replace(arm.cell, topology=Topology(pooler=pooler)))
    assert asked.holds_a_pool is holds and (asked.connections_at_once is not None) is holds
    held = asked.judged_cell_of(DatabaseUse(0, 0, 0, 0, None, 200, {}, 0)).settings.pool_total
    assert held == (asked.cell.settings.pool_total if holds else 200) and asked.judged_cell_of(None) == asked.cell


@pytest.mark.parametrize(("connections", "held_to"), [(25, [False]), (None, [])])
def test_flushes_are_held_against_a_size_that_was_told(connections: int | None, held_to: list[bool]) -> None:
    """Looks miss connections of a moment, so that who was told no size could be rejected for a pool that was larger."""
    counted = Flushes(cast(Any, None), World({"a": Server()}).arms()[0].workload)
    counted.add(100, [10_000])
    assert [line.holds for line in counted.line(connections)] == held_to


def test_a_server_is_loaded_at_its_own_paths(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A manifest may have its own path for a name of the contract: the load asks for it as the cases do, and what answers by
    itself is asked by the contract's."""
    contract = replace(NO_CONTRACT, paths={"rows": "/rows", "other": "/other"}, scaled={"many": 2})
    world = World({"a": Server()})
    arm = world.arms()[0]
    asked = replace(asking(arm.workload, path="$rows?n={int:1..9}&all=$other$many"), contract=contract)
    own = replace(plans.server("own"), contract=contract, paths={"rows": "/api/rows"})
    stack_arm = replace(arm, stack=own.stacks[0], workload=workload_files.render(asked, 3))
    assert stack_arm.names == {"rows": "/api/rows", "other": "/other", "many": 2 * arm.cell.settings.scale}
    up = ArmSession(world.moved_into(monkeypatch).bench(), [stack_arm], folder)
    assert up._loaded[arm.label].workload.first.path == "/api/rows?n={int:1..9}&all=/other6"
    null = NullArm("null", arm.cell, stack_arm.workload, 1, 1)
    assert null.workload.fill(null.paths).first.path == "/rows?n={int:1..9}&all=/other6"


def test_two_servers_of_one_port_are_not_measured_side_by_side(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second could not start, which would be no fault of its own. One alone, or two of different ports, may."""
    world = World({"a": Server(), "b": Server()})
    bench, (one, other) = world.moved_into(monkeypatch).bench(), world.arms()
    fixed = [replace(arm, stack=replace(plans.server(arm.label), port=8080).stacks[0]) for arm in (one, other)]
    with pytest.raises(LabError, match="`a` and `b` listen at port 8080 whatever they are told"):
        ArmSession(bench, fixed, folder)
    ArmSession(bench, fixed[:1], folder)
    elsewhere = replace(other, stack=replace(plans.server("b"), port=8081).stacks[0])
    ArmSession(bench, [fixed[0], elsewhere], folder)


COMPILED = CompiledDatabase("database-host", 5432, "its_own", "its_user", "its_word")


def test_two_servers_of_one_database_are_not_measured_side_by_side(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One database has the name that both have compiled in."""
    world = World({"a": Server(), "b": Server()})
    bench = world.moved_into(monkeypatch).bench()
    both = [replace(arm, stack=replace(plans.server(arm.label), database=COMPILED).stacks[0]) for arm in world.arms()]
    with pytest.raises(LabError, match="`a` and `b` ask the database its_own whatever they are told"):
        ArmSession(bench, both, folder)


@pytest.mark.parametrize(
    ("port", "shared", "topology", "said"),
    [
        (17_000, None, Topology(), "and the database is at port 17000"),
        (5432, "no roles", Topology(), "as a user of its own: no roles"),
        (5432, None, Topology(pooler="pgbouncer-tx"), "nothing can stand between it and its database"),
        (5432, None, Topology(wire=PathWire(database_ms=1.0)), "nothing can stand between it and its database"),
    ],
)
def test_a_database_that_cannot_be_reached_as_compiled_in_is_said_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, port: int, shared: str | None, topology: Topology, said: str
) -> None:
    """The sentence names the stack, and what it connects to; nothing is started."""
    world = World({"a": Server()})
    (arm,) = world.arms()
    there = SimpleNamespace(shared=shared, admin=SimpleNamespace(port=port))
    bench = replace(world.moved_into(monkeypatch).bench(), database=cast(Any, there))
    stack = replace(plans.server("a"), database=COMPILED).stacks[0]
    with pytest.raises(LabError, match=f"`a` connects to port 5432 of `database-host` whatever it is told.*{said}"):
        ArmSession(bench, [replace(arm, stack=stack, cell=replace(arm.cell, topology=topology))], folder)


@pytest.mark.parametrize(("arms", "room", "fits"), [(1, 31, True), (1, 30, False), (3, 85, True), (3, 84, False)])
def test_a_database_without_room_for_all_pools_is_said_before_a_server_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arms: int, room: int, fits: bool
) -> None:
    """A server whose pool is refused connections would be blamed for it. With one more connection nobody is refused."""
    world = World({name: Server() for name in "abc"[:arms]}, room=room).moved_into(monkeypatch)
    if fits:
        with ArmSession(world.bench(), world.arms(), tmp_path / "session"):
            return
    with pytest.raises(LabError, match=f"has room for {room} connections, and {25 * arms + 4 + 2 * arms} are needed") as caught:
        ArmSession(world.bench(), world.arms(), tmp_path / "session")
    assert caught.value.exit_code == 2 and "max_connections" in str(caught.value.hint) and world.log == []


READ = replace(
    WORKLOAD,
    id="read",
    requests=(LoadRequest("read", "GET", "/read", needs=Needs(commits_per_answer=1.0, most_commits_per_answer=100.0)),),
    audit=Audit(False, ()),
)
"""Each good answer needs a commit, and leaves nothing."""


@pytest.mark.parametrize(
    ("ask", "late", "found"),
    [
        (Whole("a", LOAD, 7), True, {"audit:commits": "reject"}),
        (Whole("a", LOAD, 7), False, {}),
        (Whole("a", replace(LOAD, fault=Fault(FaultKind.STALL, 0.5, 100)), 7), True, {}),
        (Turns(("a", "b"), LOAD, 1.0, 1.0), True, {"audit:commits": "reject"}),
        (Turns(("a", "b"), LOAD, 1.0, 1.0), False, {}),
    ],
)
def test_what_is_counted_after_a_load_that_reads_pays_for_nothing(
    ask: Whole | Turns, late: bool, found: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one piece or in turns, but for a fault: all commits are there once the server is gone."""
    monkeypatch.setattr(audit, "HANDED_IN_S", 0.1)
    world = World({one: Server(commits=20 * GOOD, hands_in_late=late) for one in "ab"}).moved_into(monkeypatch)
    with ArmSession(world.bench(), [replace(arm, workload=READ) for arm in world.arms()], folder) as session:
        session.load(ask)
    grave = {one.id: str(one.severity) for one in session.ended["a"].findings if one.id.startswith("audit:")}
    assert grave == found
