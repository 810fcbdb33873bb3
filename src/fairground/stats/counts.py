"""Statistics of counted work: whether counts have settled, what an arm's starts say, and how two arms differ. Pure.

The unit of evidence is the start, as everywhere. Counts do not follow the machine's pace, so that starts of two arms need no
pairing: each is compared with all of the other's.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from fairground.model.count import CountedStart, CountedWindow, WorkCount
from fairground.stats.intervals import Interval, student, t_interval

FLOOR = 0.005
"""A smaller share is not worth telling: another compiler, or another order of functions, moves a count as much."""
SURE = 0.999
"""A difference is called where an interval of this confidence excludes none.

Starts are made until something is called or the interval is narrow, and each look at them is a chance to be wrong.
"""
LEAST_OF_FUNCTION, OTHERS = 0.0001, "all others"
"""A function with a smaller share of the instructions is one of the others."""
LEAST_STARTS = 2
"""Fewer starts of an arm have no spread."""
SETTLED_HALF = 4
"""So many windows are held against as many before them."""
SETTLED_FLOORS = 2.0
"""They agree where their medians differ by so many floors at most."""
CALM_FLOORS = 10.0
"""Of all of them the cheaper quarter is within so many floors of the median: medians of wild windows agree by chance."""


class CountWord(StrEnum):
    """The word on the work of B against that of A."""

    MORE = "more"
    LESS = "less"
    ALIKE = "alike"
    """The whole interval lies within the floor."""
    UNKNOWN = "not known"
    """More starts would tell."""


@dataclass(frozen=True)
class CountChange:
    """The change of a count from A to B. `ratio` is B over A, with its interval; None: it is not known how starts scatter."""

    word: CountWord
    ratio: Interval | None
    called: bool = False
    """True if chance is excluded, whether or not the change is worth telling."""

    @property
    def is_open(self) -> bool:
        """True if chance is not excluded, though the interval excludes none: more starts are wanted, however narrow it is."""
        return self.ratio is not None and not self.called and not self.ratio.low <= 1 <= self.ratio.high

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval, as a share."""
        return None if self.ratio is None else math.sqrt(self.ratio.high / self.ratio.low) - 1


def weights(count: int) -> list[float]:
    """The weight of each of so many windows after one another: most in their middle, and falling evenly to both ends.

    A collection of garbage costs as much as hundreds of answers. Whether one falls just inside of the windows or just outside
    moves their plain mean by its whole cost, and one with these weights hardly (Harris, Proceedings of the IEEE 1978).
    """
    return [math.sin(math.pi * (place + 0.5) / count) ** 2 for place in range(count)]


def per_answer(start: CountedStart, count: Callable[[WorkCount], int]) -> float | None:
    """Return what a start needed for an answer, its windows by their weights. None where it has no number."""
    windows = start.counted
    shares = weights(len(windows))
    answers = math.fsum(share * one.answers for share, one in zip(shares, windows, strict=True))
    done = math.fsum(share * count(one.work) for share, one in zip(shares, windows, strict=True))
    return done / answers if answers else None


def instructions(start: CountedStart) -> float | None:
    """Instructions of a start for an answer; None where it has no number."""
    return per_answer(start, lambda work: work.instructions)


def between_collections(start: CountedStart) -> float | None:
    """Instructions of a start for an answer in the half of its windows that needs fewest; None where it has no number.

    Collections of garbage fall into the others, as far as they are that rare. How many do is chance, and scatters ten times as
    much from start to start as what the answers themselves need.
    """
    each = sorted(one.work.instructions / one.answers for one in start.counted if one.answers)
    return statistics.fmean(each[: (len(each) + 1) // 2]) if each else None


def calls(start: CountedStart) -> float | None:
    """System calls of a start for an answer; None where it has no number, or where nobody counted any: each answer needs some."""
    return per_answer(start, lambda work: work.calls) or None


def calls_by_name(start: CountedStart) -> dict[str, float]:
    """System call → how often a start made it for an answer; none where it has no number."""
    return _by_name(start.counted, lambda work: work.system_calls)


def functions(windows: Sequence[CountedWindow]) -> dict[str, float]:
    """Function → its instructions for an answer, those that matter most first; none where nobody asked for them."""
    found = sorted(_by_name(windows, lambda work: work.functions).items(), key=lambda one: -one[1])
    least = LEAST_OF_FUNCTION * math.fsum(amount for _, amount in found)
    told = {name: amount for name, amount in found if amount >= least}
    rest = math.fsum(amount for _, amount in found) - math.fsum(told.values())
    return told | {OTHERS: rest} if rest > 0 else told


def _by_name(windows: Sequence[CountedWindow], named: Callable[[WorkCount], Mapping[str, int]]) -> dict[str, float]:
    """Name → how much of it an answer needed, the windows by their weights."""
    sums: dict[str, float] = {}
    shares = weights(len(windows))
    for share, one in zip(shares, windows, strict=True):
        for name, count in named(one.work).items():
            sums[name] = sums.get(name, 0.0) + share * count
    answers = math.fsum(share * one.answers for share, one in zip(shares, windows, strict=True))
    return {name: total / answers for name, total in sorted(sums.items())} if answers else {}


def has_settled(values: Sequence[float], floor: float = FLOOR) -> bool:
    """True if the last windows need as much as those before them.

    By their medians: what is compiled or collected meanwhile makes single windows dear, and would hide behind its own scatter.
    What is dear in most windows, and not in single ones, has not settled.
    """
    if len(values) < 2 * SETTLED_HALF:
        return False
    both = sorted(values[-2 * SETTLED_HALF :])
    if statistics.median(both) - both[SETTLED_HALF // 2] > CALM_FLOORS * floor * statistics.median(both):
        return False
    late, early = statistics.median(values[-SETTLED_HALF:]), statistics.median(values[-2 * SETTLED_HALF : -SETTLED_HALF])
    return abs(late - early) <= SETTLED_FLOORS * floor * early


def level(values: Sequence[float]) -> Interval | None:
    """The mean of an arm's starts with its interval; None for fewer than two, which have no spread."""
    return t_interval(values)


def spread(values: Sequence[float]) -> float | None:
    """The scatter of an arm's starts: the standard deviation as a share of the mean. None for fewer than two."""
    return statistics.stdev(values) / statistics.fmean(values) if len(values) >= LEAST_STARTS else None


def change(a: Sequence[float], b: Sequence[float], floor: float = FLOOR, confidence: float = 0.95) -> CountChange:
    """Say how B's starts differ from A's, by Student's t of their logarithms with a common spread.

    With so few starts the spread of one side alone is hardly known. As many starts of each side keep the level where their
    spreads differ (Box, Annals of Mathematical Statistics 1954). A difference is told where an interval of the confidence `SURE`
    is beside none, and its middle is at least the floor.
    """
    if min(len(a), len(b)) < LEAST_STARTS or min(*a, *b) <= 0:
        return CountChange(CountWord.UNKNOWN, None)
    logs_a, logs_b = [math.log(one) for one in a], [math.log(one) for one in b]
    freedom = len(a) + len(b) - 2
    squares = sum((one - statistics.fmean(logs)) ** 2 for logs in (logs_a, logs_b) for one in logs)
    error = math.sqrt(squares / freedom * (1 / len(a) + 1 / len(b)))
    middle, half = statistics.fmean(logs_b) - statistics.fmean(logs_a), student(freedom, (1 + confidence) / 2) * error
    ratio = Interval(middle, middle - half, middle + half, min(len(a), len(b)), confidence).exp()
    called = abs(middle) > student(freedom, (1 + SURE) / 2) * error
    return CountChange(_word(ratio, floor, called), ratio, called)


@dataclass(frozen=True)
class NamedChange:
    """The change of one function's instructions, or of one system call, for an answer. `half`: of its interval."""

    name: str
    a: float
    b: float
    half: float

    @property
    def more(self) -> float:
        """Return what B needs more."""
        return self.b - self.a

    @property
    def least(self) -> float:
        """The amount that it has changed by at least, whatever starts do by chance."""
        return max(0.0, abs(self.more) - self.half)


def named_changes(
    a: Sequence[Mapping[str, float]], b: Sequence[Mapping[str, float]], confidence: float = 0.95
) -> list[NamedChange]:
    """Say how each name's count differs, those first that have changed by most, whatever starts do by chance.

    A collection of garbage moves its own functions by more than a change of the code moves the others. So each change is told
    by the end of its interval that is nearer to none. None where a side has too few starts.
    """
    if min(len(a), len(b)) < LEAST_STARTS:
        return []
    freedom, found = len(a) + len(b) - 2, list[NamedChange]()
    for name in {name for start in (*a, *b) for name in start} - {OTHERS}:
        before, after = [one.get(name, 0.0) for one in a], [one.get(name, 0.0) for one in b]
        squares = sum((one - statistics.fmean(side)) ** 2 for side in (before, after) for one in side)
        error = math.sqrt(squares / freedom * (1 / len(a) + 1 / len(b)))
        half = student(freedom, (1 + confidence) / 2) * error
        found.append(NamedChange(name, statistics.fmean(before), statistics.fmean(after), half))
    return sorted((one for one in found if one.more), key=lambda one: (-one.least, -abs(one.more), one.name))


def _word(ratio: Interval, floor: float, called: bool) -> CountWord:
    if called and ratio.middle >= 1 + floor:
        return CountWord.MORE
    if called and ratio.middle <= 1 / (1 + floor):
        return CountWord.LESS
    return CountWord.ALIKE if ratio.low >= 1 / (1 + floor) and ratio.high <= 1 + floor else CountWord.UNKNOWN
