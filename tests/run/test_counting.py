"""Which start of a counted measurement is next, and when none is worth its time any more."""

from __future__ import annotations

import random
from dataclasses import replace

from fairground.model import CellSettings, Finding, Load, Severity
from fairground.model.count import UNCOUNTED, CountArm, CountAsked, CountedStart, CountedWindow, WorkCount
from fairground.run import counting
from fairground.stats import counts

ASKED = CountAsked(
    (CountArm("a", "one:a"), CountArm("b", "one:b")), ("ping",), True, Load(), CellSettings(), 1, budget_s=100.0, floor=0.005
)


def start(arm: str, number: int, instructions: int = 1000, *findings: Finding, took_s: float = 5.0) -> CountedStart:
    """A start in which an answer needs so many instructions."""
    window = CountedWindow(1, WorkCount(instructions))
    return CountedStart(arm, "ping", number, 640, (window,), True, findings, took_s)


def order(asked: CountAsked, made: list[CountedStart], spread: int = 0) -> list[str]:
    """The arms of the starts that follow, as long as there are any; B's counts scatter by `spread`."""
    found = []
    while (due := counting.next_start(made, asked)) is not None:
        found.append(f"{due.arm.label}{due.number}")
        off = spread * (-1) ** due.number if due.arm.label == "b" else 0
        made = [*made, start(due.arm.label, due.number, 1000 + off)]
    return found


def test_two_starts_of_each_in_turns() -> None:
    """Who is first takes turns; counts that are the same each time need no third start."""
    assert order(ASKED, []) == ["a1", "b1", "b2", "a2"]
    assert counting.ending([start(arm, number) for arm in "ab" for number in (1, 2)], ASKED).startswith(
        "every interval is within ± 0.5%, or a quarter of its change, or"
    )


def test_wide_intervals_get_more_starts_within_the_budget() -> None:
    """Counts that scatter by 2 % are counted until the time is up, and two starts of each are made whatever they take."""
    assert len(order(ASKED, [], spread=20)) == 20
    assert len(order(replace(ASKED, budget_s=1.0), [], spread=20)) == 4
    assert len(order(replace(ASKED, budget_s=1e9), [], spread=200)) == 2 * counting.MOST_STARTS
    wide = [start("a", 1), start("a", 2, 1100), start("b", 1), start("b", 2)]
    assert counting.ending(wide, ASKED) == "the budget of 100 s is spent"


def test_a_width_ends_starts_and_is_no_floor() -> None:
    """A wide one ends them early, a narrow one goes on; what is worth telling stays as it is."""
    made = [start("a", 1, 100_000), start("a", 2, 100_500), start("b", 1, 100_050), start("b", 2, 100_600)]
    assert order(replace(ASKED, width=0.02), made) == [] and order(ASKED, made)[:2] == ["a3", "b3"]
    alone = replace(ASKED, compared=False, arms=ASKED.arms[:1])
    assert order(replace(alone, width=0.05), made) == [] and order(alone, made)[0] == "a3"
    assert counting.ending(made, replace(ASKED, width=0.02)).startswith("every interval is within ± 2.0%")


def test_what_scatters_too_much_for_starts_is_said() -> None:
    """After the most starts that an arm may have, neither is the budget spent nor the interval narrow."""
    asked = replace(ASKED, budget_s=1e9)
    wide = [start(arm, number, 1000 + 200 * (-1) ** number) for arm in "ab" for number in range(1, counting.MOST_STARTS + 1)]
    assert counting.next_start(wide, asked) is None
    assert counting.ending(wide, asked).startswith("30 starts of an arm were made, and its interval is still wide")
    assert counting.ending(wide[:-1], ASKED) == "the budget of 100 s is spent"


def test_a_difference_that_chance_may_have_made_gets_more_starts() -> None:
    """However narrow the interval is: it excludes zero, and not surely."""
    sure, unsure = (
        [start("a", 1, 10_000), start("a", 2, 10_002), start("b", 1, 10_080), start("b", 2, b)] for b in (10_081, 10_099)
    )
    assert order(ASKED, sure) == []
    assert order(ASKED, unsure)[:2] == ["a3", "b3"]


def test_collections_of_garbage_ask_for_no_more_starts() -> None:
    """How many fall into a start is chance. What is the same between them is enough, as long as the whole tells nothing either."""

    def collected(arm: str, number: int, dear: int) -> CountedStart:
        """A start with so many windows of ten that hold a collection."""
        windows = tuple(CountedWindow(1, WorkCount(3000 if place < dear else 1000)) for place in range(10))
        return replace(start(arm, number), windows=windows)

    made = [collected("a", 1, 1), collected("a", 2, 3), collected("b", 1, 2), collected("b", 2, 4)]
    assert order(ASKED, made) == []


def test_a_large_change_need_not_be_known_to_half_a_per_cent() -> None:
    """Of one that is beyond chance a quarter is enough. Of one that is not, the floor is asked for, however large it is."""
    sure = [
        *(start("a", one, 100_000 + 300 * one) for one in (-1, 0, 1)),
        *(start("b", one, 104_000 + 300 * one) for one in (-1, 0, 1)),
    ]
    assert order(ASKED, sure) == []
    few = [one for one in sure if one.number >= 0]
    assert order(ASKED, few)[:2] == ["a3", "b3"]


def test_what_is_open_of_the_whole_may_be_explained() -> None:
    """By a called change between collections that lies in its interval; where the whole says something else, starts go on."""

    def collected(arm: str, number: int, plain: int, dear: int) -> CountedStart:
        """A start of ten windows, of which one holds a collection."""
        windows = tuple(CountedWindow(1, WorkCount(dear if place == 5 else plain)) for place in range(10))
        return replace(start(arm, number), windows=windows)

    quiet = [collected("a", 1, 100_000, 140_000), collected("a", 2, 100_010, 141_000)]
    same = [collected("b", 1, 103_000, 143_000), collected("b", 2, 103_010, 145_000)]
    more = [collected("b", 1, 103_000, 195_000), collected("b", 2, 103_010, 205_000)]
    assert order(ASKED, [*quiet, *same]) == []
    assert order(ASKED, [*quiet, *more])[:2] == ["a3", "b3"]


def test_equals_are_seldom_called_by_the_rule_that_ends_it() -> None:
    """Each look may be the last, and is a chance to be wrong: of 300 pairs that scatter by 0.2 % three may be called."""
    asked, called = replace(ASKED, budget_s=1e9), 0
    for seed in range(300):
        chance, made = random.Random(seed), list[CountedStart]()
        while (due := counting.next_start(made, asked)) is not None:
            made.append(start(due.arm.label, due.number, round(1e6 * (1 + chance.gauss(0, 0.002)))))
        sides = [counting.starts_of(made, "ping", arm) for arm in asked.arms]
        called += counts.change(*counts.at_equal_reads(*sides), asked.floor).called
    assert called <= 3


def test_an_arm_without_a_number_is_given_up() -> None:
    """A rejected one at once, and one that was void twice in a row. Nothing is left to compare; a run goes on with the others."""
    reject, void = Finding("errors", Severity.REJECT, "wrong"), Finding(UNCOUNTED, Severity.VOID, "it left")
    assert order(ASKED, [start("a", 1), start("b", 1, 1000, reject)]) == []
    assert order(ASKED, [start("a", 1), start("b", 1, 1000, void)])[0] == "b2"
    lost = [start("a", 1), start("b", 1, 1000, void), start("b", 2, 1000, void)]
    assert order(ASKED, lost) == [] and order(replace(ASKED, compared=False), lost) == ["a2"]


def test_all_starts_of_a_stack_have_the_same_requests() -> None:
    """The first one says how many, also for a revision of it; of another stack its own first start does."""
    due = counting.Due(ASKED.arms[1], "ping", 1)
    assert counting.requests_of([start("a", 1)], ASKED, due) is None
    twice = replace(ASKED, arms=(CountArm("a", "one:a"), CountArm("b", "one:a")))
    assert counting.requests_of([start("a", 1)], twice, replace(due, arm=twice.arms[1])) == 640
    assert counting.requests_of([start("a", 1)], replace(ASKED, requests=99), due) == 99
