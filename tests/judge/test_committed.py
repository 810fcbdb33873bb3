"""Answers held against the moments of commits: what is late, what has no row, and what nobody can tell."""

from __future__ import annotations

import random

import pytest

from fairground.judge import committed
from fairground.judge.committed import ClockBounds, CountedLoad, Late
from fairground.model.answerlog import AnswerLog, join_logs

CLOCK = ClockBounds(-60, 40)


def log_of(rows: list[list[int]], one_in: int = 1, moved_us: int = 0) -> AnswerLog:
    """A log of these rows."""
    log = AnswerLog()
    log.add(rows, one_in, moved_us)
    return log


def found(
    log: AnswerLog, rows: dict[tuple[int, ...], list[int | None]], clock: ClockBounds | None = CLOCK
) -> dict[str, float | None]:
    """What each line found."""
    return {line.id: line.found for line in committed.row_lines(log, rows, clock)}


@pytest.mark.parametrize(("one_in", "expected"), [(500, 100), (5000, 10)])
def test_every_late_commit_among_fifty_thousand_is_found(one_in: int, expected: int) -> None:
    """Ten seconds at 5,000 a second: one in 500, and one in 5,000, each late by a millisecond."""
    rows, commits = [], {}
    for number in range(50_000):
        at_us, late_us = number * 200, 1000 if number % one_in == 0 else -150
        rows.append([at_us, number, 7])
        commits[number, 7] = [at_us + late_us]
    assert found(log_of(rows), commits) == {"rows-asked": 0, "late-commits": expected}


def test_what_clocks_cannot_tell_apart_is_not_late() -> None:
    """Only what is later than the most by which the database's clock may be ahead is late."""
    assert found(log_of([[1000, 1]]), {(1,): [1040]})["late-commits"] == 0
    assert found(log_of([[1000, 1]]), {(1,): [1041]})["late-commits"] == 1


def test_honest_answers_are_never_late() -> None:
    """Requests that hold the same, in any order and with rows of unknown requests between: each answer follows its commit."""
    chance = random.Random(5)
    for _ in range(200):
        commits = [chance.randrange(10_000) for _ in range(8)]
        answers = [[at_us + 41 + chance.randrange(3000), 1] for at_us in commits[:6]]
        assert found(log_of(answers), {(1,): list(commits)}) == {"rows-asked": 0, "late-commits": 0}


def test_a_row_of_another_account_does_not_do() -> None:
    """One account credited in place of another, and one that was credited once for two answers: both answers lack a row."""
    log = log_of([[10, 5, 100], [20, 6, 100], [30, 6, 100]])
    assert found(log, {(5, 100): [1], (6, 100): [2, 3]})["rows-asked"] == 0
    assert found(log, {(7, 100): [1], (6, 100): [2]})["rows-asked"] == 2


def test_a_share_of_the_answers_is_held_as_all_are() -> None:
    """Where one in four answers is kept, rows of the others are no fault, and the sentence says which share was held."""
    log = log_of([[10, 1], [90, 1]], one_in=4)
    (asked, late) = committed.row_lines(log, {(1,): [5, 6, 7, 80], (2,): [500]}, CLOCK)
    assert (asked.found, late.found) == (0, 0)
    assert "2 answers, one in 4 of all" in asked.sentence


@pytest.mark.parametrize(
    ("log", "rows", "clock"),
    [
        (log_of([[10, 1]]), {(1,): [500]}, None),
        (log_of([[10, 1]], moved_us=-20_000), {(1,): [500]}, CLOCK),
        (log_of([[10, 1]]), {(1,): [None]}, CLOCK),
    ],
)
def test_what_nobody_can_tell_has_no_line(
    log: AnswerLog, rows: dict[tuple[int, ...], list[int | None]], clock: ClockBounds | None
) -> None:
    """Clocks that were not compared, a clock that was set, and commits without a moment: rows are held, and moments are not."""
    assert found(log, rows, clock) == {"rows-asked": 0}


def test_more_answers_than_commits_at_any_moment() -> None:
    """Where no row says whose commit it was, the numbers are held: the third answer came when two transactions had committed."""
    line = committed.count_line([CountedLoad([100, 200, 300, 400], [90, 190, 350, 390])], CLOCK)
    assert (line.id, line.found, line.holds) == ("late-commits", 1, False)
    assert "by up to 0.0 ms" in line.sentence
    assert committed.count_line([CountedLoad([100, 200, 300], [1, 90, 190, 290])], CLOCK).holds


def test_loads_are_counted_each_by_itself() -> None:
    """Transactions of one load do not pay for the answers of another."""
    assert not committed.count_line([CountedLoad([100], [1000]), CountedLoad([2000], [1, 2, 3])], CLOCK).holds


@pytest.mark.parametrize("one_in", [2, 8])
@pytest.mark.parametrize(("before_us", "is_late"), [(200, False), (-50_000, True)])
def test_a_share_of_the_answers_stands_for_all_of_them(one_in: int, before_us: int, is_late: bool) -> None:
    """Commits just before their answers are never late, however the share was drawn; those of 50 ms afterwards always are."""
    moments = range(0, 3_000_000, 50)
    for seed in range(5):
        chance = random.Random(seed)
        kept = [at_us for at_us in moments if chance.randrange(one_in) == 0]
        line = committed.count_line([CountedLoad(kept, [at_us - before_us for at_us in moments], one_in)], CLOCK)
        assert line.holds is not is_late and f"(one in {one_in} of all" in line.sentence


def test_clocks_that_were_set_in_between_say_nothing() -> None:
    """Two looks at the clocks are joined by their wider bounds; where they contradict each other nobody knows."""
    assert CLOCK.join(ClockBounds(-30, 90)) == ClockBounds(-60, 90)
    assert CLOCK.join(ClockBounds(5000, 5100)) is None


def test_logs_join() -> None:
    """Answers add up by what they held; the smallest share and the largest move of the clock count."""
    joined = join_logs([log_of([[1, 5]], 1, 3), log_of([[2, 5], [3, 6]], 4, -9)])
    assert joined.moments_us == {(5,): [1, 2], (6,): [3]}
    assert (joined.one_in, joined.clock_moved_us, joined.count, joined.all_us()) == (4, 9, 3, [1, 2, 3])
    assert Late(1, 5) + Late(2, 3) == Late(3, 5)
