"""A session of arms on a host, a database and an engine that are none: order, findings, and whose fault it is."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from builders import plans
from builders.fakes import GOOD, LOAD, WORKLOAD, FakeEngine, FakePath, Server, World
from builders.requests import asking
from fairground.host import disk
from fairground.inputs import workload_files
from fairground.judge import validity, written
from fairground.measure import loaded, path, stack, stand
from fairground.measure.arm import ArmWindow, Ended, NullArm
from fairground.measure.schedule import InTurns, Schedule, SideBySide, Turns, Whole, WholeWindows, whole
from fairground.measure.session import ArmSession
from fairground.model import (
    Finding,
    HostUse,
    LabError,
    MachineError,
    PathWire,
    RoleUse,
    Severity,
    StorageError,
    Topology,
    Verdict,
    WorkloadEvent,
)
from fairground.model.contract import NO_CONTRACT, CompiledDatabase


class Played:
    """A session that is over."""

    def __init__(self, world: World, folder: Path, schedule: Schedule) -> None:
        with ArmSession(world.bench(), world.arms(), folder) as session:
            self.windows: list[ArmWindow] = list(session.play(schedule))
        self.ended, self.log = session.ended, world.log

    def grave(self, label: str) -> dict[str, str]:
        """What rejects an arm or makes it void, by id; findings of this machine's clocks left out."""
        ended: Ended = self.ended[label]
        return {
            one.id: str(one.severity)
            for one in ended.findings
            if one.severity in (Severity.REJECT, Severity.VOID) and one.id not in validity.OF_THE_MACHINE
        }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where raw data goes."""
    return tmp_path / "session"


def trial(server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch, watch_failure: str | None = None) -> Played:
    """One arm in one whole window."""
    world = World({"a": server}, watch_failure=watch_failure).moved_into(monkeypatch)
    return Played(world, folder, whole("a", LOAD, 7))


def pair(a: Server, b: Server, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    """Two arms in two windows of turns."""
    world = World({"a": a, "b": b}).moved_into(monkeypatch)
    return Played(world, folder, InTurns(("a", "b"), LOAD, 2, lambda _: True, turn_s=0.5))


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


def test_rates_of_turns_are_those_of_their_settled_parts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two turns of a window with a settled half second each: their good answers over that second, for each arm."""
    played = pair(Server(settled=300), Server(settled=450), folder, monkeypatch)
    assert [(window.arm, window.settled_s, window.rate_per_s) for window in played.windows[:2]] == [
        ("a", 1.0, 600.0), ("b", 1.0, 900.0)
    ]  # fmt: skip
    assert all(window.tally.rate_per_s == window.rate_per_s for window in played.windows)


def test_each_arm_is_loaded_for_its_own_turn(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As often as its time allows, and for as long as its answers ask for; what its last answers take is told."""
    slept: list[float] = []
    world = World({"a": Server(), "b": Server()}).moved_into(monkeypatch)
    monkeypatch.setattr("fairground.measure.turntaking.time.sleep", slept.append)
    with ArmSession(world.bench(), world.arms(), folder) as session:
        made = session.load(Turns(("a", "b"), LOAD, 0.4, 0.8, each=(("a", 0.1, 3), ("b", 0.4, 1))))
    assert slept == [0.1, 0.4, 0.1, 0.1] and (world.log.count("a turn"), world.log.count("b turn")) == (3, 1)
    assert [(window.arm, window.window_s, round(window.lingered_s, 6)) for window in made] == [("a", 3.0, 0.9), ("b", 1.0, 0.6)]


def test_turns_after_a_whole_window_are_those_of_their_own_generator(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole window has a generator of its own. What the turns' generator uses afterwards is no stranger's."""
    world = World({"a": Server(), "b": Server()}).moved_into(monkeypatch)
    turns = Turns(("a", "b"), LOAD, 0.1, 0.1)
    with ArmSession(world.bench(), world.arms(), folder) as session:
        session.load(turns)
        meters = session._seen["a"].meters
        ours = meters["generator"]
        session.load(Whole("a", LOAD, 7))
        assert meters["generator"] is not ours
        session.load(turns)
        assert meters["generator"] is ours


def test_settled_parts_are_never_held_against_whole_turns(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one arm has none, both arms' windows are of whole turns, also where they are kept."""
    played = pair(Server(settled=300), Server(), folder, monkeypatch)
    every = [*played.windows, *(window for ended in played.ended.values() for window in ended.windows)]
    assert every and all((window.settled_s, window.rate_per_s) == (0.0, window.ok / window.window_s) for window in every)
    assert {(window.arm, window.unsettled) for window in every} == {("a", False), ("b", True)}


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


def test_the_guilty_arm_is_named_and_the_other_keeps_its_number(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each arm is audited on its own data: lost rows of one are not the other's."""
    played = pair(Server(), Server(keeps=0.9), folder, monkeypatch)
    good, bad = played.ended["a"], played.ended["b"]
    assert (good.rejected, good.verdict is Verdict.REJECTED) == (None, False)
    assert bad.rejected is not None and bad.rejected.startswith("`b` is rejected: one row for each good answer: found ")
    assert sum(window.ok for window in played.windows if window.arm == "a") == 4 * GOOD


def test_a_server_that_ends_in_its_turn_has_no_window(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the arm's finding, the other's window is kept, and nothing more is asked."""
    played = pair(Server(), Server(ends_with=3), folder, monkeypatch)
    assert [window.arm for window in played.windows] == ["a"]
    assert (played.grave("a"), played.grave("b")) == ({}, {"server-exit": "reject"})


def on_a_machine(monkeypatch: pytest.MonkeyPatch, busy: bool) -> None:
    """Others use two cores in each window, or nobody does anything else."""
    real = stand.machine_between

    def between(*words: Any) -> tuple[RoleUse, HostUse]:
        lab, use = real(*words)
        calm = HostUse(0.0, 0.5, None, 0.0, {})
        return lab, replace(calm, foreign_cpu_us=2e9 if busy else 0.0)

    monkeypatch.setattr(stand, "machine_between", between)


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


def test_nobody_looking_on_makes_arms_void(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A count of connections that stopped early would let an overdraft pass."""
    played = trial(Server(), folder, monkeypatch, watch_failure="RuntimeError: no more")
    assert played.grave("a") == {"watch": "void"}
    assert played.ended["a"].void == "`a` is void: the lab stopped looking at connections and memory: RuntimeError: no more"


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


def test_errors_of_turns_are_not_said_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a trial's whole window said already is no second finding when its turns say it, too, unless they say it more gravely."""
    world = World({"a": Server(), "b": Server()}).moved_into(monkeypatch)
    said = iter([Severity.WARN, Severity.NOTE, Severity.WARN, Severity.WARN])  # whole windows of a and b, then their turns
    monkeypatch.setattr(loaded.answers, "window", lambda *_: (Finding("errors", next(said), "some failed"),))
    schedule = SideBySide(("a", "b"), replace(LOAD, window_s=4.0), 7)
    with ArmSession(world.bench(), world.arms(), folder) as session:
        windows = list(session.play(schedule))
    assert {window.result is None for window in windows} == {True, False}
    errors = [[one.severity for one in ended.findings if one.id == "errors"] for ended in session.ended.values()]
    assert errors == [[Severity.WARN], [Severity.NOTE, Severity.WARN]]


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


def test_who_takes_turns_is_gone_before_a_second_window(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connections would hold threads of some servers. What it counted is in the audit, and an arm that was warm is left alone."""
    world = World({"a": Server(), "b": Server()}).moved_into(monkeypatch)
    turns = [Turns(("a", "b"), LOAD, 1.0, 1.0, warm_up=warm_up) for warm_up in (True, False)]
    with ArmSession(world.bench(), world.arms(), folder) as session:
        made = [window for ask in (*(Whole(one, LOAD, 7, trial=True) for one in "ab"), *turns) for window in session.load(ask)]
        made += session.load(Whole("a", LOAD, 7, trial=True, again=True))
        log = list(world.log)
    assert log.index("a engine ends", log.index("a turn")) < len(log) - 1 - log[::-1].index("a measure")
    assert log.count("b engine ends") == 1 and world.log.count("b engine ends") == 2
    good = {label: sum(window.ok for window in made if window.arm == label) for label in "ab"}
    assert all(ended.result is not None and ended.result.done >= good[label] for label, ended in session.ended.items())
    assert [window.result is None for window in session.ended["a"].windows] == [False, True, True]


@pytest.mark.parametrize(("fewer", "found"), [(0, {}), (1, {"audit:transactions": "reject"})])
def test_transactions_of_turns_are_held_against_no_window(
    fewer: int, found: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before a second window its turns end, and what they counted is no answer of that window."""
    numbers = [0, GOOD, 3 * GOOD, 4 * GOOD - fewer]  # around the first window, and around the second
    world = World({"a": Server(transactions=numbers), "b": Server()}).moved_into(monkeypatch)
    turns = [Turns(("a", "b"), LOAD, 1.0, 1.0, warm_up=warm_up) for warm_up in (True, False)]
    with ArmSession(world.bench(), world.arms(), folder) as session:
        for ask in (Whole("a", LOAD, 7, trial=True), *turns, Whole("a", LOAD, 7, trial=True, again=True)):
            session.load(ask)
    ended = session.ended["a"]
    assert {one.id: str(one.severity) for one in ended.findings if one.id.startswith("audit")} == found
    (line,) = [one for one in ended.audit if one.id == "transactions"]
    assert (line.found, line.expected_min) == (2 * GOOD - fewer, 2 * GOOD)


def test_what_a_connection_costs_is_found_out_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The arms of a session share the database server: one is asked, and all that are up know."""
    asked = list[object]()
    monkeypatch.setattr(stack.backends, "cpu_us", lambda *given: asked.append(given) or 1_234.0)
    world = World({"a": Server(unreachable=True), "b": Server(), "c": Server()}).moved_into(monkeypatch)
    with ArmSession(world.bench(), world.arms(), folder) as session:
        list(session.play(whole("b", LOAD, 7)))
    known = {label: None if one.database is None else one.database.connect_cpu_us for label, one in session.ended.items()}
    assert len(asked) == 1 and known["b"] == known["c"] == 1_234.0


def test_a_second_window_takes_the_place_of_the_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the first said of itself is forgotten, its answers count in the audit, and the trial says that it was not warm."""
    world = World({"a": Server()}).moved_into(monkeypatch)
    said = iter(["cold", "warm"])
    monkeypatch.setattr(loaded.answers, "window", lambda *_: (Finding("errors", Severity.WARN, next(said)),))
    first = Whole("a", replace(LOAD, warmup_min_s=1.0, warmup_max_s=1.0), 7, trial=True)
    with ArmSession(world.bench(), world.arms(), folder) as session:
        made = list(session.play(WholeWindows((first, replace(first, again=True)))))
    ended = session.ended["a"]
    assert len(made) == 2 and ended.windows == (made[1],)
    assert [one.sentence for one in ended.findings if one.id in ("errors", "warm-up")] == ["warm"]
    assert [one.severity for one in ended.findings if one.id == "warmed-up"] == [Severity.NOTE]
    assert ended.result is not None and ended.result.done == sum(one.whole.done for one in made)


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


@pytest.mark.parametrize(("environment", "pooler", "holds"), [
    ({"SIZE": "$pool_size"}, None, True), ({"ADDRESS": "$database_url"}, None, False), ({}, "pgbouncer-tx", True),
])  # fmt: skip
def test_who_is_told_no_pool_is_held_to_none(environment: dict[str, str], pooler: str | None, holds: bool) -> None:
    """A server that learns no size of its pool cannot keep to one; behind a pooler the pooler has one."""
    made = replace(plans.server("own"), environment=environment)
    arm = World({"a": Server()}).arms()[0]
    asked = replace(arm, stack=made.stacks[0], cell=replace(arm.cell, topology=Topology(pooler=pooler)))
    assert asked.holds_a_pool is holds


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


def test_a_port_that_another_process_has_is_the_machines(tmp_path: Path) -> None:
    """A server that listens at one port whatever it is told is not started where something else has that."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        cell = World({"a": Server()}).arms()[0].cell
        route = path.Route(cast(Any, SimpleNamespace(front="127.0.0.1")), tmp_path, cast(Any, None), cell, 2, tmp_path)
        route.fixed_port = port
        with pytest.raises(MachineError, match=f"port {port} is taken, and `own:v1` listens there whatever it is told"):
            route.open_server(plans.server("own").stacks[0])
