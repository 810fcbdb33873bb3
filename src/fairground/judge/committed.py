"""Answers held against commits: each answer must come after the commit of what it acknowledges. Pure.

The engine notes when each good answer was there, and the database keeps when each transaction committed. It notes that before the
log reaches the disk, so that a commit with a later time than its answer is proof. Two lists can be joined by what requests held,
where the database keeps that in a row for each; else they are counted: never may there be more answers than commits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairground.model import AuditLine, Finding, Severity
from fairground.model.answerlog import AnswerLog, Key

SET_US = 1000
"""A wall clock that moved by more while a load ran was set: then moments mean nothing."""
DEVIATIONS = 6
"""Answers of which a share is kept are counted as fewer by so many standard deviations of the draw, at each moment."""


@dataclass(frozen=True)
class ClockBounds:
    """The database's clock ahead of the lab's by this many microseconds, at least and at most."""

    least_us: int
    most_us: int

    def join(self, other: ClockBounds) -> ClockBounds | None:
        """Both looks as one, at the start and at the end; None where the clock was set in between."""
        if max(self.least_us, other.least_us) > min(self.most_us, other.most_us) + SET_US:
            return None
        return ClockBounds(min(self.least_us, other.least_us), max(self.most_us, other.most_us))


@dataclass(frozen=True)
class Late:
    """Answers that came before their commits: how many, and by how much at most."""

    count: int = 0
    most_us: int = 0

    def __add__(self, other: Late) -> Late:
        return Late(self.count + other.count, max(self.most_us, other.most_us))


@dataclass(frozen=True)
class CountedLoad:
    """The moments of a load's answers, of which one in so many is kept, and those of the commits meanwhile."""

    answers_us: Sequence[int]
    commits_us: Sequence[int]
    one_in: int = 1


def late(answers_us: Sequence[int], commits_us: Sequence[int], ahead_us: int, one_in: int = 1) -> Late:
    """Answers without as many commits before them. The database's clock is ahead by `ahead_us` at most.

    Whoever pairs them otherwise finds as many late ones or more: the first answer is held against the first commit, and so on.
    """
    commits, found = sorted(commits_us), []
    for kept, answer_us in enumerate(sorted(answers_us), 1):
        of_all = math.floor(kept * one_in - DEVIATIONS * math.sqrt(kept * one_in * (one_in - 1)))
        if 1 <= of_all <= len(commits) and (late_us := commits[of_all - 1] - ahead_us - answer_us) > 0:
            found.append(late_us)
    return Late(len(found), max(found, default=0))


def row_lines(log: AnswerLog, rows: Mapping[Key, Sequence[int | None]], clock: ClockBounds | None) -> Iterable[AuditLine]:
    """The lines of a workload whose database keeps a row for each answer.

    `rows`: the moments of their commits, by what they hold; None: nobody knows when that one was.
    `clock` None: nobody knows whether the clocks agree.
    """
    missing = sum(max(0, len(moments_us) - len(rows.get(key, ()))) for key, moments_us in log.moments_us.items())
    sentence = f"each of {_answers(log)} has a row with what its request held; answers without one"
    yield AuditLine("rows-asked", sentence, missing, 0, 0)
    if clock is not None and log.clock_moved_us <= SET_US:
        total, held = Late(), 0
        for key, moments_us in log.moments_us.items():
            known = [at_us for at_us in rows.get(key, ()) if at_us is not None]
            if len(known) == len(rows.get(key, ())) and known:
                total, held = total + late(moments_us, known, clock.most_us), held + len(moments_us)
        if held:
            yield _line(f"each of {held:,} answers came after the commit of its row", total, clock)


def count_line(loads: Sequence[CountedLoad], clock: ClockBounds) -> AuditLine:
    """The line of writes of which the database keeps no rows: answers and commits of each load, by their moments."""
    total, held, one_in = Late(), 0, max(one.one_in for one in loads)
    for one in loads:
        total, held = total + late(one.answers_us, one.commits_us, clock.most_us, one.one_in), held + len(one.answers_us)
    share = "" if one_in == 1 else f" (one in {one_in} of all, which stand for all less {DEVIATIONS} standard deviations)"
    return _line(f"at each of {held:,} answers{share} there were as many commits as answers", total, clock)


def unknown(why: str, probed: bool, by_rows: bool = False) -> Finding:
    """A note that answers were not held against the moments of commits.

    `probed`: some of the lab's own requests were. `by_rows`: those were that leave a row of their own.
    """
    by = "looked for by the lab's own requests alone, three times a second" if probed else "not looked for"
    sentence = f"late commits{' of writes without a row of their own' if by_rows else ''} were {by}: {why}"
    return Finding("commit-times", Severity.NOTE, sentence)


def _line(sentence: str, found: Late, clock: ClockBounds) -> AuditLine:
    by = f" by up to {found.most_us / 1000:,.1f} ms" if found.count else ""
    words = f"{sentence} (clocks agree to {clock.most_us - clock.least_us:,} µs); answers that came before{by}"
    return AuditLine("late-commits", words, found.count, 0, 0)


def _answers(log: AnswerLog) -> str:
    return f"{log.count:,} answers" + (f", one in {log.one_in} of all" if log.one_in > 1 else "")
