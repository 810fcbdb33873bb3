"""What a run's round loads next: whole windows, warm-ups in turns, and turns, asked without a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from builders.windows import LOAD, RESULT, window
from fairground.judge import sizing
from fairground.measure.arm import ArmWindow
from fairground.measure.schedule import (
    LEAST_TURNS,
    MOST_IN_TURNS,
    MOST_WARM_UPS,
    TURN_ROUND_TRIPS,
    TURN_S,
    UNSETTLED_TURNS,
    SideBySide,
    Turns,
    Whole,
    whole,
)
from fairground.model import RoleUse


def side_by_side(
    rates: Sequence[float] = (1000, 1000, 1000),
    window_s: float = 3.0,
    failing: int | None = None,
    warm: Sequence[Sequence[float]] = (),
) -> list[Turns | Whole]:
    """All questions of a round of three arms that answer at these rates; `warm`: at others in each of the turns, the last for good."""
    load = replace(LOAD, window_s=window_s)
    asked: list[Turns | Whole] = []
    windows: list[ArmWindow] = []
    failed: set[str] = set()
    schedule, speeds = SideBySide(("a", "b", "c"), load, 7), dict(zip(("a", "b", "c"), rates, strict=True))
    while (ask := schedule.next(tuple(windows), failed)) is not None:
        assert len(asked) < 100, "the schedule does not end"
        asked.append(ask)
        if failing == len(asked):
            failed.add("a")
            continue
        if isinstance(ask, Whole):
            windows.append(replace(window(ask.arm, len(asked), round(speeds[ask.arm] * window_s), window_s), result=RESULT))
        else:
            if warm:
                at = min(sum(isinstance(one, Turns) for one in asked), len(warm)) - 1
                speeds = dict(zip(("a", "b", "c"), warm[at], strict=True))
            lasted_s = {arm: ask.loaded_s(arm) for arm in ask.arms}
            some = [window(arm, len(asked), round(speeds[arm] * lasted_s[arm]), lasted_s[arm]) for arm in ask.arms]
            windows += [replace(one, warm_up=ask.warm_up) for one in some]
    return asked


def test_a_round_has_whole_windows_and_then_turns() -> None:
    """Each arm has its trial, in order; then all warm up in turns, and have as much again in pieces, who is first in turn."""
    wholes, turns = (some := side_by_side())[:3], some[3:]
    assert [(ask.arm, ask.trial, ask.seed) for ask in wholes if isinstance(ask, Whole)] == [(arm, True, 7) for arm in "abc"]
    assert all(ask.before_turns for ask in wholes if isinstance(ask, Whole))
    alone = SideBySide(("a",), LOAD, 7).next((), ())
    assert isinstance(alone, Whole) and not alone.before_turns  # nothing would tell afterwards whether it was warm
    assert [(ask.arms[0], ask.warm_up, ask.window_s) for ask in turns if isinstance(ask, Turns)] == [
        ("a", True, TURN_S), ("a", True, sizing.WARMING_S), ("a", False, 1.0), ("b", False, 1.0), ("c", False, 1.0)
    ]  # fmt: skip
    assert all(sorted(ask.arms) == ["a", "b", "c"] for ask in turns if isinstance(ask, Turns))


def test_each_turn_of_a_round_suits_its_arm() -> None:
    """Four connections at 150/s answer in 27 ms, and six of those are 160 ms; fast servers have the shortest turn."""
    (first, *_) = (ask for ask in side_by_side((150, 10_000, 10_000)) if isinstance(ask, Turns))
    assert [first.turn_of(arm) for arm in "abc"] == pytest.approx([0.16, TURN_S, TURN_S])
    (first, *_) = (ask for ask in side_by_side((10_000, 10_000, 10_000)) if isinstance(ask, Turns))
    assert {first.turn_of(arm) for arm in "abc"} == {TURN_S}


def test_each_arm_of_a_round_is_loaded_as_long_as_in_its_whole_window() -> None:
    """A slow arm has long turns and few of them, fast ones have short ones and many."""
    asked = [ask for ask in side_by_side((150, 10_000, 10_000)) if isinstance(ask, Turns) and not ask.warm_up]
    assert [round(sum(ask.loaded_s(arm) for ask in asked), 1) for arm in "abc"] == pytest.approx([3.0, 3.0, 3.0], rel=0.05)
    assert [sum(ask.turns_of(arm) for ask in asked) for arm in "abc"] == [18, 99, 99]


WHOLES = [replace(window(arm, number, 10_000), result=RESULT) for number, arm in enumerate("ab", 1)]
"""Whole windows of two arms."""


def warmed(number: int, of_a: Mapping[str, Any]) -> list[ArmWindow]:
    """A warm-up in turns of two arms, of which the first was like this."""
    a, b = (window(arm, number, 300, 0.03, warm_up=True) for arm in "ab")
    return [replace(a, **of_a), b]


def asked_after(**of_a: float | bool) -> Turns:
    """The first piece of a round in which one of the warm-ups in turns of `a` was like this, and both were warm by then."""
    found = SideBySide(("a", "b"), LOAD, 7).next(
        (*WHOLES, *warmed(3, of_a), *warmed(4, {"lingered_s": of_a.get("lingered_s", 0)})), ()
    )
    assert isinstance(found, Turns) and not found.warm_up
    return found


def test_the_last_answers_of_turns_belong_to_the_time_of_their_arm() -> None:
    """Who is waited for after each turn, a second here, has the fewest turns; the other arm has all of its time."""
    assert [asked_after(lingered_s=1.0).turns_of(arm) for arm in "ab"] == [LEAST_TURNS, 33]
    assert [asked_after(lingered_s=0.03).turns_of(arm) for arm in "ab"] == [17, 33]


def used(one: ArmWindow, server_us: float | None, generator_us: float) -> ArmWindow:
    """The window, with so much CPU of the server and of the generator for each answer."""
    costs = {"server": server_us, "generator": generator_us}
    uses = {role: RoleUse(None if us is None else us * one.ok, None, None, "cgroup2") for role, us in costs.items()}
    return replace(one, roles=uses)


def costs(number: int, **server_us: float) -> list[ArmWindow]:
    """A warm-up in turns in which each arm's server used so much for an answer, and its generator 20 µs."""
    return [used(window(arm, number, 300, 0.03, warm_up=True), us, 20) for arm, us in server_us.items()]


@pytest.mark.parametrize(
    ("before", "cold"),
    [
        ([costs(3, a=100, b=100)], "ab"),  # the first turn of each tells nothing of what is warm
        ([costs(3, a=100, b=100), costs(4, a=79, b=81)], "a"),
        ([costs(3, a=100, b=100), costs(4, a=79, b=81), costs(5, a=72)], ""),
        ([costs(3, a=100, b=100), costs(4, a=79, b=81), costs(5, a=70)], "a"),
        ([costs(3, a=100, b=100), costs(4, a=120, b=100)], ""),
        ([costs(3 + n, a=100 * 0.7**n, b=100) for n in range(MOST_WARM_UPS)], ""),
        ([costs(3 + n, a=100 * 0.7**n, b=100) for n in range(MOST_WARM_UPS - 1)], "a"),
        ([*[costs(n, a=100, b=100) for n in (3, 4)], [replace(costs(5, a=50)[0], warm_up=False)]], ""),  # what counts has begun
    ],
    ids=["idle", "compiling", "warm", "still compiling", "costlier", "for ever", "not yet", "pieces"],
)
def test_servers_that_get_cheaper_are_warmed_for_longer(before: Sequence[Sequence[ArmWindow]], cold: str) -> None:
    """Each by itself, and until what an answer costs is steady; the others wait."""
    found = SideBySide(("a", "b"), LOAD, 7, turns_s=2.0).next((*WHOLES, *(one for some in before for one in some)), ())
    assert isinstance(found, Turns) and found.warm_up is bool(cold)
    assert not cold or ("".join(found.arms), found.window_s) == (cold, sizing.WARMING_S)


def test_a_warm_up_takes_a_quarter_of_the_seconds_that_count_at_most() -> None:
    """Where they are few, a warm-up is shorter."""
    seconds = {
        turns_s: SideBySide(("a", "b"), LOAD, 7, turns_s=turns_s).next((*WHOLES, *warmed(3, {})), ()) for turns_s in (1.0, 9.0)
    }
    assert [(turns_s, isinstance(ask, Turns) and ask.window_s) for turns_s, ask in seconds.items()] == [(1.0, 0.25), (9.0, 0.5)]


def test_what_a_warm_up_costs_says_nothing_of_whole_windows() -> None:
    """Answers were cheap in a warm-up in turns, and in the turns that count as dear as in the whole windows: no window follows."""
    wholes = [used(one, 100, 20) for one in WHOLES]
    warm = [used(window(arm, number, 9_000, warm_up=True), us, 20) for number in (3, 4) for arm, us in (("a", 20), ("b", 100))]
    pieces = [used(window(arm, 5), 100, 20) for arm in "ab"]
    assert SideBySide(("a", "b"), LOAD, 7).next((*wholes, *warm, *pieces), ()) is None


def test_the_machines_pace_does_not_look_like_a_server_that_compiles_itself() -> None:
    """The generator's cost fell as much."""
    faster = [used(window(arm, 4, 300, 0.03, warm_up=True), 50, 10) for arm in "ab"]
    found = SideBySide(("a", "b"), LOAD, 7).next((*WHOLES, *costs(3, a=100, b=100), *faster), ())
    assert isinstance(found, Turns) and not found.warm_up


def test_turns_without_a_settled_part_get_longer() -> None:
    """Twice as long, up to four times; the other arm's stay what they are."""
    asked = asked_after(unsettled=True)
    assert [asked.turn_of(arm) for arm in "ab"] == [2 * TURN_S, TURN_S]
    never = [replace(window(arm, number, 300, 0.03), unsettled=arm == "a") for number in range(3, 8) for arm in "ab"]
    again = SideBySide(("a", "b"), LOAD, 7, turns_s=9.0).next((*WHOLES, *never), ())
    assert isinstance(again, Turns) and again.turn_of("a") == UNSETTLED_TURNS * TURN_S


def test_slow_answers_make_the_window_in_turns_longer() -> None:
    """Three arms' windows of 3 s hold four turns of 2.4 s only when they are longer, in pieces: the machine's noise is shared then."""
    asked = [ask for ask in side_by_side((1000, 1000, 10)) if isinstance(ask, Turns)]
    assert asked[0].turn_of("c") == pytest.approx(2.4)
    loaded_s = [sum(ask.loaded_s(arm) for ask in asked if not ask.warm_up) for arm in "abc"]
    assert loaded_s == pytest.approx([3.0, 3.0, 2 * 3 * 2.4], rel=0.03)  # in three pieces, of which each has two turns
    assert max(ask.turn_of("c") for ask in side_by_side((1000, 1000, 1)) if isinstance(ask, Turns)) == MOST_IN_TURNS * 3.0


def test_windows_in_turns_are_as_long_as_those_that_events_sized() -> None:
    """The ceiling goes with every whole window; turns last as long as the longest of them, up to twice what was asked for."""
    load = replace(LOAD, window_s=3.0)
    schedule = SideBySide(("a", "b"), load, 7, most_s=12.0)
    first = schedule.next((), ())
    assert isinstance(first, Whole) and first.most_s == 12.0
    wholes = [replace(window(arm, 1, 9000, seconds), result=RESULT) for arm, seconds in (("a", 5.0), ("b", 9.0))]
    warm = [window(arm, number, 100, 0.1, warm_up=True) for number in (2, 3) for arm in "ab"]
    turns = schedule.next((*wholes, *warm), ())
    assert isinstance(turns, Turns) and (turns.window_s, turns.turn_of("a")) == (1.0, TURN_S)
    made = [window(arm, number, 1000) for number in range(4, 9) for arm in "ab"]
    assert isinstance(schedule.next((*wholes, *warm, *made), ()), Turns)
    assert schedule.next((*wholes, *warm, *made, *(window(arm, 9) for arm in "ab")), ()) is None
    shorter = [replace(one, window_s=4.0) for one in wholes]
    assert schedule.next((*shorter, *warm, *made), ()) is None
    assert isinstance(ask := whole("a", load, 7, 12.0).next((), ()), Whole) and ask.most_s == 12.0


def test_turns_may_last_longer_than_whole_windows() -> None:
    """As long as the round says: in pieces of a second, and each arm as long as another whose answers take as long."""
    schedule = SideBySide(("a", "b"), LOAD, 7, turns_s=4.0)
    wholes = [replace(window(arm, number, 9000), result=RESULT) for number, arm in enumerate("ab", 1)]
    made = [window(arm, number, 100, 0.1, warm_up=True) for number in (2, 3) for arm in "ab"]
    lasted = list[float]()
    while isinstance(ask := schedule.next((*wholes, *made), ()), Turns):
        lasted.append(ask.window_s)
        made += [window(arm, 3 + len(lasted), 1000, ask.window_s) for arm in "ab"]
    assert lasted == [1.0] * 4


def test_whole_windows_alone_where_requests_lock_each_other_out() -> None:
    """No turn follows, none is waited for, and each warm-up is as long as that of a trial by itself."""
    schedule = SideBySide(("a", "b"), LOAD, 7, turns_s=0.0)
    first = schedule.next((), ())
    assert isinstance(first, Whole) and not first.before_turns
    wholes = [replace(window(arm, number, 9000), result=RESULT) for number, arm in enumerate("ab", 1)]
    assert isinstance(schedule.next(wholes[:1], ()), Whole)
    assert schedule.next(wholes, ()) is None


def test_answers_that_take_long_have_no_turns() -> None:
    """Where four turns of all arms would take more than two windows of each the whole windows stand alone."""
    slow = LOAD.connections * TURN_ROUND_TRIPS * LEAST_TURNS / (MOST_IN_TURNS * 3.0)

    def counting(*rates: float) -> bool:
        """Whether any turn counts; each arm has had one to warm up, which tells."""
        return any(not ask.warm_up for ask in side_by_side(rates) if isinstance(ask, Turns))

    assert not counting(slow - 2, slow - 2, slow - 2)
    assert counting(slow + 2, slow + 2, slow + 2)
    assert counting(1000, 1000, slow - 2)  # fast arms leave it their time


def test_turns_of_a_server_that_was_cold_are_as_short_as_when_it_is_warm() -> None:
    """In its whole window it compiled itself, and in its warm-up in turns it was faster: that, or what came later, sets its turn."""
    asked = side_by_side((10_000, 10_000, 60), warm=((10_000, 10_000, 200), (10_000, 10_000, 600), (10_000, 10_000, 300)))
    turns = [ask.turn_of("c") for ask in asked if isinstance(ask, Turns)]
    assert turns == pytest.approx([0.4, 0.12, 0.04, 0.04, 0.04])  # six times four connections, at 60, 200 and 600 a second
    first = next(ask for ask in asked if isinstance(ask, Turns) and not ask.warm_up)
    assert [first.loaded_s(arm) for arm in "abc"] == pytest.approx([1.0] * 3, rel=0.1)


def test_a_server_that_was_cold_does_not_cost_its_round_the_turns() -> None:
    """Its whole window was too slow for turns; warm it has them, and so have all others."""
    asked = side_by_side((10, 10, 10), warm=((1000, 1000, 1000),))
    assert [ask.warm_up for ask in asked if isinstance(ask, Turns)] == [True, True, False, False, False]


def test_errors_do_not_make_turns_shorter() -> None:
    """A warm-up in turns that gave nothing but errors, however fast, tells nothing of how long an answer takes."""
    schedule = SideBySide(("a", "b"), LOAD, 7)
    wholes = [replace(window(arm, number, 100), result=RESULT) for number, arm in enumerate("ab", 1)]
    refused = [replace(window(arm, number, 0, 0.1, warm_up=True), not_ok=9000) for number in (3, 4) for arm in "ab"]
    first, second = schedule.next(wholes, ()), schedule.next((*wholes, *refused), ())
    assert isinstance(first, Turns) and isinstance(second, Turns) and not second.warm_up
    assert first.turn_of("a") == second.turn_of("a") == pytest.approx(TURN_ROUND_TRIPS * 4 / 100)


def costing(
    whole_us: Mapping[str, float | None], turns_us: Mapping[str, float | None], generator_us: Mapping[str, float]
) -> list[Turns | Whole]:
    """All questions of a round whose arms' answers cost so much in each whole window, and in turns, and their generators in turns."""
    schedule, windows, asked = (
        SideBySide(tuple(whole_us), replace(LOAD, window_s=2.0), 7),
        list[ArmWindow](),
        list[Turns | Whole](),
    )
    while (ask := schedule.next(tuple(windows), ())) is not None:
        assert len(asked) < 100, "the schedule does not end"
        asked.append(ask)
        if isinstance(ask, Whole):
            windows.append(used(replace(window(ask.arm, len(asked), 2000, 2.0), result=RESULT), whole_us[ask.arm], 20))
        else:
            made = [window(arm, len(asked), warm_up=ask.warm_up) for arm in ask.arms]
            windows += [used(one, turns_us[one.arm], generator_us.get(one.arm, 20)) for one in made]
    return asked


ALIKE: Mapping[str, float | None] = {"a": 100, "b": 100, "c": 100}


@pytest.mark.parametrize(
    ("whole_us", "turns_us", "generator_us", "again"),
    [
        (ALIKE, {"a": 100, "b": 50, "c": 90}, {}, ["b"]),
        (ALIKE, {"a": 100, "b": 50, "c": 90}, {"b": 15}, ["b"]),  # the generator gains from batches, too
        (ALIKE, {"a": 100, "b": 50, "c": 90}, {"b": 11}, []),  # the machine was slow in its own window
        (ALIKE, {"a": 50, "b": 95, "c": 50}, {}, []),  # the machine got faster, and one server costlier
        (ALIKE, {"a": 60, "b": 30, "c": 60}, {"a": 12, "b": 12, "c": 12}, ["b"]),
        ({"a": 100, "b": 100}, {"a": 50, "b": 100}, {}, ["a"]),
        (ALIKE | {"d": 100, "e": 100}, {"a": 50, "b": 100, "c": 100, "d": 79, "e": 100}, {}, ["a", "d"]),
        (ALIKE | {"a": None}, {"a": None, "b": 50, "c": 100}, {}, ["b"]),
        ({"a": None, "b": 100}, {"a": 1, "b": 1}, {}, []),
    ],
    ids=["one", "batches", "slow window", "costlier", "faster machine", "two arms", "five arms", "not known", "one known"],
)
def test_an_arm_that_was_not_warm_has_another_whole_window(
    whole_us: Mapping[str, float | None],
    turns_us: Mapping[str, float | None],
    generator_us: Mapping[str, float],
    again: list[str],
) -> None:
    """What an answer costs in turns tells, without the machine's pace; the second window hardly warms up, and is the last."""
    asked = costing(whole_us, turns_us, generator_us)
    last = [ask for ask in asked if isinstance(ask, Whole) and ask.again]
    assert [ask.arm for ask in last] == again and asked[len(asked) - len(last) :] == last
    assert all((ask.trial, ask.seed, ask.load.warmup_min_s, ask.load.warmup_max_s) == (True, 7, 0.2, 0.2) for ask in last)
    assert all(ask.folder for ask in last)  # the engine that takes turns is alive, and writes into the arm's own


def test_turns_end_where_an_arm_lingers() -> None:
    """Last answers of each turn that take seconds are waited for in one piece, and in no other."""
    schedule = SideBySide(("a", "b"), replace(LOAD, window_s=3.0), 7)
    wholes = [replace(window(arm, 1, 3000, 3.0), result=RESULT) for arm in "ab"]
    for lasted_s, is_last in ((12.1, True), (11.9, False)):
        pieces = [window("a", 2), replace(window("b", 2), window_s=lasted_s)]
        found = schedule.next((*wholes, *(window(arm, 0, 1, 0.0, warm_up=True) for arm in "ab"), *pieces), ())
        assert (found is None) is is_last
    warm = [window(arm, 0, 1, 20.0, warm_up=True) for arm in "ab"]
    assert isinstance(schedule.next((*wholes, *warm), ()), Turns)  # there is one piece in any case
    assert isinstance(schedule.next((*wholes, *warm, *(window(arm, 2) for arm in "ab")), ()), Turns)  # warm-ups may linger


def test_a_round_goes_on_without_an_arm_that_fails() -> None:
    """An arm that fails in its trial takes no turn; one without a good answer neither, and a single one has nobody to take turns with."""
    rest = side_by_side(failing=1)
    assert [ask.arm for ask in rest if isinstance(ask, Whole)] == ["a", "b", "c"]
    assert all(set(ask.arms) == {"b", "c"} for ask in rest if isinstance(ask, Turns)) and len(rest) == 8
    assert all(set(ask.arms) == {"a", "c"} for ask in side_by_side((1000, 0, 1000)) if isinstance(ask, Turns))
    assert not any(isinstance(ask, Turns) for ask in side_by_side((1000, 0, 0)))
