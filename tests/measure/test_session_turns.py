"""Arms of a session that take turns, and windows that follow each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.fakes import GOOD, LOAD, Server, World
from builders.sessions import pair
from fairground.measure import loaded, stack
from fairground.measure.schedule import SideBySide, Turns, Whole, WholeWindows, seed_of, whole
from fairground.measure.session import ArmSession
from fairground.measure.turntaking import silence_of
from fairground.model import (
    Finding,
    Severity,
)


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


def test_each_load_on_one_database_has_a_stream_of_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What must be unique is refused where it is sent again. The first load has the arm's own seed, and both arms the same ones."""
    seeds: dict[str, list[int]] = {"a": [], "b": []}
    world = World({"a": Server(), "b": Server()}).moved_into(monkeypatch)
    begin, take = loaded.generators.start, loaded.engine.EngineSession

    def begun(*words: Any) -> Any:
        seeds[world.label_at(words[3].port)].append(words[3].seed)
        return begin(*words)

    def taken(process: Any, plan: Any) -> Any:
        seeds[world.label_at(plan["target"]["port"])].append(plan["seed"])
        return take(process, plan)

    monkeypatch.setattr(loaded.generators, "start", begun)
    monkeypatch.setattr(loaded.engine, "EngineSession", taken)
    wholes = [Whole(label, LOAD, 7, trial=True) for label in "ab"]
    with ArmSession(world.bench(), world.arms(), folder) as session:
        for ask in (*wholes, Turns(("a", "b"), LOAD, 1.0, 1.0), *wholes, *(replace(one, again=True) for one in wholes)):
            session.load(ask)
    assert seeds["a"] == seeds["b"] and seeds["a"][0] == 7
    assert len(set(seeds["a"])) == len(seeds["a"]) == 4


def test_the_first_turns_have_the_seed_of_their_arm() -> None:
    """So pairs and counts draw what they drew, and no seed leaves what the engine takes."""
    assert seed_of(7, 0) == 7 and seed_of(2**64 - 1, 0) == 2**64 - 1
    assert 0 <= seed_of(2**64 - 1, 3) < 2**64


@pytest.mark.parametrize("timeout_ms", [1_000, 60_000])
def test_an_engine_may_wait_for_a_handshake_and_for_the_answer_behind_it(timeout_ms: int) -> None:
    """Each of them may take a timeout, and the engine's drain a little more."""
    assert silence_of(timeout_ms) > 2 * timeout_ms / 1000 + 0.5


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


def test_what_a_connection_costs_is_found_out_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The arms of a session share the database server: one is asked, and all that are up know."""
    asked = list[object]()
    monkeypatch.setattr(stack.backends, "cpu_us", lambda *given: asked.append(given) or 1_234.0)
    world = World({"a": Server(unreachable=True), "b": Server(), "c": Server()}).moved_into(monkeypatch)
    with ArmSession(world.bench(), world.arms(), folder) as session:
        list(session.play(whole("b", LOAD, 7)))
    known = {label: None if one.database is None else one.database.connect_cpu_us for label, one in session.ended.items()}
    assert len(asked) == 1 and known["b"] == known["c"] == 1_234.0
