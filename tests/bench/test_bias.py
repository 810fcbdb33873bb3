"""The page of turns against whole windows: which turns are asked for, what a row says, and which ratios count as off."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from builders.bench import bench
from fairground.measure.arm import ArmWindow
from fairground.measure.schedule import Turns, Whole
from fairground.model import Load

BIAS = bench("bias")
LOAD = Load(connections=50, window_s=1.0, warmup_min_s=0.5, warmup_max_s=0.5)
BEGAN = 7.0
RESULT = object()
"""What a whole window has, and a window in turns has not."""


def rows(workload: str, arm: str, whole: float, own: float, repetitions: int = 4) -> list[dict[str, Any]]:
    """A stack's rates in whole windows and in a run's turns; its CPU is the same in both. Even repetitions scatter by 0.2 %."""
    made = []
    for number in range(repetitions):
        said = {"workload": workload, "arm": arm, "repetition": number, "began": BEGAN, "cost": 10.0}
        chance = 1 + 0.002 * (number % 2)
        made += [said | {"design": BIAS.WHOLE, "rate": whole}, said | {"design": BIAS.OWN, "rate": own * chance}]
    return made


def test_a_row_says_what_turns_give_and_what_becomes_of_the_ratio() -> None:
    """One stack gains 2 % in turns, the other loses 3 %: its ratio to the first is off by 5 %."""
    first, second = BIAS.table(rows("ping", "a", 1000, 1020) + rows("ping", "b", 500, 485))
    assert first.line == "| ping | `a` | a run's | 4 | 1.021 ± 0.2 % | – | 1.000 ± 0.0 % | – |"
    assert second.line == "| ping | `b` | a run's | 4 | 0.971 ± 0.2 % | 0.951 ± 0.0 % | 1.000 ± 0.0 % | 1.000 ± 0.0 % |"
    assert (first.off, second.off) == (0, 1)


@pytest.mark.parametrize(
    ("logs", "off"),
    [
        ([0.05, 0.051, 0.049], True),
        ([0.015, 0.0151, 0.0149], False),  # inside the margin
        ([0.2, -0.1, 0.1], False),  # chance
        ([0.05], False),  # one value says nothing
    ],
)
def test_a_ratio_is_off_beyond_margin_and_interval(logs: list[float], off: bool) -> None:
    """Both have to be left behind."""
    assert BIAS.is_off(logs) is off


def test_the_page_counts_ratios_that_are_off_and_names_them() -> None:
    """The first stack has no ratio, and each other one has two."""
    page = BIAS.page(rows("ping", "a", 1000, 1000) + rows("ping", "b", 500, 450) + rows("tx", "a", 10, 10))
    assert "1 of 2 ratios are off by more than 2 % with an interval that excludes 1: `b` on ping in turns of a run's." in page
    assert "Half of an interval is 0 % (median): a smaller bias would not be seen." in page


def test_windows_without_a_whole_one_of_their_repetition_are_left_out() -> None:
    """A machine that spoiled the whole window leaves nothing to hold a window in turns against."""
    some = [row for row in rows("ping", "a", 1000, 1000) if row["design"] != BIAS.WHOLE or row["repetition"] < 1]
    (row,) = BIAS.table(some)
    assert row.line.count("–") == 4


def window(arm: str, number: int, ok: int, result: object | None = None) -> ArmWindow:
    """A second of an arm."""
    return ArmWindow(arm, number, LOAD, ok, 0, 1.0, {}, None, (), result=cast(Any, result), warm_up=result is None)


class FakeSession:
    """Arms that answer so many times a second; what is asked for is kept."""

    failed: frozenset[str] = frozenset()

    def __init__(self, **rates: int) -> None:
        self.rates = rates
        self.asked: list[Whole | Turns] = []

    def load(self, ask: Whole | Turns) -> list[ArmWindow]:
        """A window of each arm."""
        self.asked.append(ask)
        if isinstance(ask, Whole):
            return [window(ask.arm, len(self.asked), self.rates[ask.arm], RESULT)]
        lasted_s = {arm: ask.loaded_s(arm) for arm in ask.arms}
        some = [window(arm, len(self.asked), round(self.rates[arm] * lasted_s[arm])) for arm in ask.arms]
        return [replace(one, window_s=lasted_s[one.arm], warm_up=ask.warm_up) for one in some]


def test_turns_are_those_that_a_run_would_have() -> None:
    """Each arm's are as long as its answers ask for, and warm-ups precede them; every other repetition goes backwards."""
    session, wholes = FakeSession(a=10_000, b=2_000), list[ArmWindow]()
    made = [design for design, _ in BIAS.repetition(session, "ab", LOAD, 0, wholes)]
    assert made == [*[BIAS.WHOLE] * 2, *[BIAS.OWN] * 2, *[BIAS.LONG] * 2]
    own, long = (ask for ask in session.asked if isinstance(ask, Turns) and not ask.warm_up)
    assert [(own.turn_of(arm), own.turns_of(arm)) for arm in "ab"] == [(pytest.approx(0.03), 33), (pytest.approx(0.15), 7)]
    assert [(long.turn_of(arm), long.turns_of(arm)) for arm in "ab"] == [(1.0, 1)] * 2
    assert [type(ask) for ask in session.asked[:2]] == [Whole] * 2 and all(ask.warm_up for ask in session.asked[2:4])
    made = [(design, window.arm) for design, window in BIAS.repetition(session, "ab", LOAD, 1, wholes)]
    assert [design for design, _ in made] == [*[BIAS.LONG] * 2, *[BIAS.OWN] * 2, *[BIAS.WHOLE] * 2]
    assert [arm for _, arm in made[-2:]] == ["b", "a"] and len(wholes) == 4


def test_answers_too_slow_for_turns_leave_the_long_ones() -> None:
    """A run would have none; a turn of a second is held against whole windows all the same."""
    made = [design for design, _ in BIAS.repetition(FakeSession(a=50, b=50), "ab", LOAD, 0, [])]
    assert made == [*[BIAS.WHOLE] * 2, *[BIAS.LONG] * 2]
