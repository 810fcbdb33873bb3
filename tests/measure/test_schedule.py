"""What a session loads next: whole windows, load curves and turns, asked without a server."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from builders.windows import LOAD, window
from fairground.judge import sizing
from fairground.measure.arm import ArmWindow
from fairground.measure.schedule import (
    TURN_ROUND_TRIPS,
    TURN_S,
    InTurns,
    Schedule,
    Turns,
    Whole,
    whole,
)


def played(schedule: Schedule, rate: Sequence[float] = (1000, 1000), failing: int | None = None) -> list[Turns | Whole]:
    """All questions of a schedule, answered at these rates per second; from question `failing` on the first arm has failed."""
    asked: list[Turns | Whole] = []
    windows: list[ArmWindow] = []
    failed: set[str] = set()
    while (ask := schedule.next(tuple(windows), failed)) is not None:
        assert len(asked) < 100, "the schedule does not end"
        asked.append(ask)
        if failing == len(asked):
            failed.add("a")
            continue
        labels = ask.arms if isinstance(ask, Turns) else (ask.arm,)
        seconds = ask.window_s if isinstance(ask, Turns) else ask.load.window_s
        warm_up = isinstance(ask, Turns) and ask.warm_up
        speeds = dict(zip(("a", "b", "c"), rate, strict=False))
        windows += [window(label, len(asked), round(speeds[label] * seconds), seconds, warm_up) for label in labels]
    return asked


def test_a_trial_is_one_whole_window() -> None:
    """One question, whose warm-up may settle, and the end."""
    (ask,) = played(whole("a", LOAD, 7))
    assert ask == Whole("a", LOAD, 7, trial=True)


def test_turns_warm_up_and_then_measure() -> None:
    """A warm-up until its least time has passed and it has settled, then as many windows as asked for, who is first in turn."""
    asked = played(InTurns(("a", "b"), LOAD, 4, lambda _: True))
    assert all(isinstance(ask, Turns) for ask in asked)
    assert [ask.warm_up for ask in asked if isinstance(ask, Turns)] == [True, True, False, False, False, False]
    assert [ask.window_s for ask in asked if isinstance(ask, Turns)] == [sizing.WARMING_S] * 2 + [LOAD.window_s] * 4
    assert [ask.arms[0] for ask in asked if isinstance(ask, Turns)][2:] == ["a", "b", "a", "b"]
    second = played(InTurns(("a", "b"), LOAD, 2, lambda _: True, first=1))
    assert [ask.arms[0] for ask in second if isinstance(ask, Turns)][2:] == ["b", "a"]


def test_a_warm_up_ends_where_its_time_is_up() -> None:
    """Rates that never settle are waited for no longer than `warmup_max_s`."""
    asked = played(InTurns(("a", "b"), LOAD, 1, lambda _: False))
    assert sum(isinstance(ask, Turns) and ask.warm_up for ask in asked) == round(LOAD.warmup_max_s / sizing.WARMING_S)


def test_a_warm_up_is_judged_by_ratios_of_each_arm_to_the_last() -> None:
    """The machine's phases are in all rates, and in no ratio; with one arm there is only its rate."""
    heard: list[list[float]] = []

    def settled(values: Sequence[float]) -> bool:
        heard.append(list(values))
        return True

    played(InTurns(("a", "b", "c"), LOAD, 1, settled), (2000, 500, 1000))
    assert heard == [[2.0, 2.0], [0.5, 0.5]]
    heard.clear()
    played(InTurns(("a",), LOAD, 1, settled))
    assert heard == [[1000, 1000]]


def test_slow_answers_make_turns_longer() -> None:
    """A turn is many answers of the slowest arm long, at least as long as asked, and never longer than a window."""

    def last(rates: Sequence[float]) -> float:
        ask = played(InTurns(("a", "b"), LOAD, 1, lambda _: True), rates)[-1]
        assert isinstance(ask, Turns)
        return ask.turn_s

    assert last((10_000, 10_000)) == TURN_S
    assert last((10_000, 200)) == pytest.approx(TURN_ROUND_TRIPS * 4 / 200)
    assert last((10_000, 10)) == LOAD.window_s


def test_a_failed_arm_ends_a_comparison() -> None:
    """With one side gone there is nothing to compare; a whole window of a failed arm is not asked for either."""
    assert len(played(InTurns(("a", "b"), LOAD, 4, lambda _: True), failing=3)) == 3
    schedule = whole("a", replace(LOAD), 7)
    assert schedule.next((), {"a"}) is None


def test_arms_in_turns_may_have_loads_of_their_own_and_each_comes_first_in_its_turn() -> None:
    """Every question names the load of each arm; with three arms the order is turned by one from window to window."""
    own = {"a": LOAD, "b": replace(LOAD, connections=8), "c": replace(LOAD, connections=16)}
    schedule = InTurns(("a", "b", "c"), LOAD, 3, lambda rates: True, own=tuple(own.items()))
    asked = [ask for ask in played(schedule, (1000, 1000, 1000)) if isinstance(ask, Turns)]
    assert all(ask.load_of(label) == own[label] for ask in asked for label in "abc")
    assert [ask.arms for ask in asked if not ask.warm_up] == [("a", "b", "c"), ("b", "c", "a"), ("c", "a", "b")]
    assert Turns(("a",), LOAD, 0.1, 1.0).load_of("a") == LOAD


def test_the_turns_of_a_slow_arm_are_spread_over_those_of_the_fast() -> None:
    """Evenly, and around the middle: what drifts then meets all alike. Every other cycle is reversed."""
    ask = Turns(("a", "b"), LOAD, 0.03, 1.0, each=(("a", 0.3, 2), ("b", 0.03, 8)))
    assert "".join(ask.sequence) == "b" + "b" + "ab" + "b" + "b" + "b" + "ab" + "b"
    even = Turns(("a", "b", "c"), LOAD, 0.25, 1.0)
    assert "".join(even.sequence) == "abc" + "cba" + "abc" + "cba"


@pytest.mark.parametrize(("some", "many"), [(1, 1), (1, 2), (1, 7), (3, 7), (4, 33), (16, 33), (32, 33)])
def test_the_middle_of_each_arms_turns_is_that_of_the_window(some: int, many: int) -> None:
    """However many there are, all of them are taken, and their mean place is the middle."""
    ask = Turns(("slow", "fast"), LOAD, 0.03, 1.0, each=(("slow", 0.3, some), ("fast", 0.03, many)))
    sequence = list(ask.sequence)
    before = [sequence[:place].count("fast") for place, arm in enumerate(sequence) if arm == "slow"]
    assert (len(before), sequence.count("fast")) == (some, many)
    assert sum(before) / some == pytest.approx(many / 2, abs=1)
    gaps = [after - one for one, after in zip(before, before[1:], strict=False)]
    assert len(gaps) == some - 1 and all(many // some - 1 <= gap <= math.ceil(many / some) + 1 for gap in gaps)


def test_a_turn_is_never_longer_than_its_window() -> None:
    """What is asked for is one turn then, for each arm that has none of its own."""
    ask = Turns(("a", "b"), LOAD, 0.5, 0.2, each=(("b", 0.1, 3),))
    assert [(ask.turns_of(arm), ask.turn_of(arm)) for arm in "ab"] == [(1, 0.2), (3, 0.1)]
