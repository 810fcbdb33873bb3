"""Statistics of counted work: whether counts have settled, what an arm's starts say, and how two arms differ. Pure.

The unit of evidence is the start, as everywhere. Counts do not follow the machine's pace, so that starts of two arms need no
pairing: each is compared with all of the other's.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from fairground.model.count import CountedStart, CountedWindow, WorkCount
from fairground.stats.intervals import Interval, student

FLOOR = 0.005
"""A smaller share is not worth telling: another compiler, or another order of functions, moves a count as much."""
SURE = 0.999
"""A difference is called where an interval of this confidence excludes zero.

Starts are made until something is called or the interval is narrow, and each look at them is a chance to be wrong.
"""
LEAST_OF_FUNCTION, OTHERS = 0.0001, "all others"
"""A function with a smaller share of the instructions is one of the others."""
LEAST_STARTS = 2
"""Fewer starts of an arm have no spread."""
SETTLED_HALF = 4
"""This many windows are held against as many before them."""
SETTLED_FLOORS = 2.0
"""They agree where their medians differ by this many floors at most."""
CALM_FLOORS = 10.0
"""And only where the lower quartile of all is within this many floors of the median: wild windows have like medians by chance."""
FALLING = 1.03
"""Counted windows fall where those of their first half need this many times as much as those of their second."""


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
        """True if chance is not excluded, though the interval excludes zero: more starts are wanted, however narrow it is."""
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
    """Instructions of a start for an answer in the middle one of its windows; None where it has no number.

    As long as fewer than half of the windows hold a collection of garbage, they do not move it. How many do is chance, and
    scatters ten times as much from start to start as what the answers themselves need.
    """
    return _median([_cost(one) for one in _answered(start)])


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def empty_reads(start: CountedStart) -> float | None:
    """Reads of a start that found nothing, for an answer; None where it has no number, or where nobody counted them."""
    known = [(one.work.empty_reads, one.answers) for one in start.counted if one.work.empty_reads is not None]
    answers = sum(count for _, count in known)
    return sum(reads for reads, _ in known) / answers if answers else None


def at_equal_reads(*sides: Sequence[CountedStart]) -> list[list[float]]:
    """Instructions between collections of each side's starts, if reads had found nothing equally often in all of them.

    Whether the database has answered when a server looks is chance. In Go each look in vain is a switch to another goroutine, and
    most of what starts scatter by. It is an analysis of covariance, with windows for the slope and starts for the difference
    (Cochran, Biometrics 1957). Where sides differ in such reads by more than chance, the code may be why: nothing is levelled.
    Nor is it where a window has no count of them, as those of older records have none.
    """
    every = [one for starts in sides for one in starts]
    unknown = any(window.work.empty_reads is None for one in every for window in _answered(one))
    price = 0.0 if unknown or reads_differ(*sides) else _read_price(every)
    known = [reads for starts in sides for one in starts if (reads := empty_reads(one)) is not None]
    middle = statistics.fmean(known) if known else 0.0
    each = ([_median([_cost(one) - price * (_reads(one) - middle) for one in _answered(start)]) for start in starts]
            for starts in sides)  # fmt: skip
    return [[value for value in values if value is not None] for values in each]


def reads_differ(*sides: Sequence[CountedStart]) -> bool:
    """True if reads of one side find nothing more often than the other's, by an interval of 95 %."""
    known = [[reads for one in starts if (reads := empty_reads(one)) is not None] for starts in sides]
    if len(known) < 2 or min(map(len, known)) < LEAST_STARTS:
        return False
    middle, error, freedom = _difference(*known)
    return abs(middle) > student(freedom, 0.975) * error


def _read_price(starts: Sequence[CountedStart]) -> float:
    """Return what a read that finds nothing costs, in instructions; 0 where that is not known.

    It is the slope within starts: the median over pairs of windows, each with the weight of how far its reads lie apart. A
    collection of garbage in a window makes no difference to it (Sievers, Journal of the American Statistical Association 1978).
    """
    slopes = list[tuple[float, float]]()
    for start in starts:
        for one, other in itertools.combinations(_answered(start), 2):
            if apart := _reads(one) - _reads(other):
                slopes.append(((_cost(one) - _cost(other)) / apart, abs(apart)))
    half, passed = math.fsum(weight for _, weight in slopes) / 2, 0.0
    for slope, weight in sorted(slopes):
        passed += weight
        if passed >= half:
            return max(0.0, slope)
    return 0.0


def _answered(start: CountedStart) -> list[CountedWindow]:
    return [one for one in start.counted if one.answers]


def _cost(window: CountedWindow) -> float:
    return window.work.instructions / window.answers


def _reads(window: CountedWindow) -> float:
    return (window.work.empty_reads or 0) / window.answers


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


def is_falling(values: Sequence[float]) -> bool:
    """True if the middle one of the later windows needs far less than that of those before: they belong to the warm-up."""
    early, late = (_median(part) for part in (values[: len(values) // 2], values[len(values) // 2 :]))
    return early is not None and late is not None and early > FALLING * late


def has_settled(values: Sequence[float], floor: float) -> bool:
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


def spread(values: Sequence[float]) -> float | None:
    """The scatter of an arm's starts: the standard deviation as a share of the mean. None for fewer than two."""
    return statistics.stdev(values) / statistics.fmean(values) if len(values) >= LEAST_STARTS else None


def change(a: Sequence[float], b: Sequence[float], floor: float = FLOOR) -> CountChange:
    """Say how B's starts differ from A's, by Student's t of their logarithms with a common spread.

    With so few starts the spread of one side alone is hardly known. As many starts of each side keep the level where their
    spreads differ (Box, Annals of Mathematical Statistics 1954). A difference is told where an interval of the confidence `SURE`
    is beside none, and its middle is at least the floor.
    """
    if min(len(a), len(b)) < LEAST_STARTS or min(*a, *b) <= 0:
        return CountChange(CountWord.UNKNOWN, None)
    logs_a, logs_b = [math.log(one) for one in a], [math.log(one) for one in b]
    middle, error, freedom = _difference(logs_a, logs_b)
    half = student(freedom, 0.975) * error
    ratio = Interval(middle, middle - half, middle + half, min(len(a), len(b)), 0.95).exp()
    called = abs(middle) > student(freedom, (1 + SURE) / 2) * error
    return CountChange(_word(ratio, floor, called), ratio, called)


def _difference(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, int]:
    """The difference of two means, its standard error with a common spread, and its degrees of freedom."""
    freedom = len(a) + len(b) - 2
    squares = sum((one - statistics.fmean(side)) ** 2 for side in (a, b) for one in side)
    error = math.sqrt(squares / freedom * (1 / len(a) + 1 / len(b)))
    return statistics.fmean(b) - statistics.fmean(a), error, freedom


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
    found = list[NamedChange]()
    for name in {name for start in (*a, *b) for name in start} - {OTHERS}:
        before, after = [one.get(name, 0.0) for one in a], [one.get(name, 0.0) for one in b]
        _, error, freedom = _difference(before, after)
        half = student(freedom, (1 + confidence) / 2) * error
        found.append(NamedChange(name, statistics.fmean(before), statistics.fmean(after), half))
    return sorted((one for one in found if one.more), key=lambda one: (-one.least, -abs(one.more), one.name))


def _word(ratio: Interval, floor: float, called: bool) -> CountWord:
    if called and ratio.middle >= 1 + floor:
        return CountWord.MORE
    if called and ratio.middle <= 1 / (1 + floor):
        return CountWord.LESS
    return CountWord.ALIKE if ratio.low >= 1 / (1 + floor) and ratio.high <= 1 + floor else CountWord.UNKNOWN
