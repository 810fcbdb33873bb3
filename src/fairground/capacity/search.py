"""The search for the highest rate that keeps an objective, and its confirmation: which trial to make next. Pure.

The search is MLRsearch (IETF draft-ietf-bmwg-mlrsearch, "Multiple Loss Ratio Search"): short trials first and longer ones as the
bracket narrows; a rate is a lower bound when the trials that missed cannot make up more than half of the time that is needed
there, an upper bound when they do, and undecided before. What the draft calls a loss ratio above its goal is here an objective
that was missed. Everything is a function of the trials made so far: nothing is remembered, and nothing is measured here.

The search's own trials are no evidence: its best rate was chosen because it looked good. So it is confirmed on fresh trials.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from fairground.capacity.loadcurve import CurvePoint, Overload, StepWord, knee
from fairground.judge import answers
from fairground.model import BadAnswer, Finding, Second

CONFIRMATIONS = 3
"""Fresh trials that must all keep the objective."""
LEAST_WIDTH = 0.001
"""Rates have four digits: in a narrower bracket the next rate would be the same one."""
CURVE_SHARES = (0.2, 0.4, 0.6, 0.8, 0.9, 1.0, 1.2, 1.5)
"""Rates of the load curve, as shares of capacity."""
OVERLOAD = (0.5, 1.5, 0.5)
"""Below, above and again below capacity."""


@dataclass(frozen=True)
class Goal:
    """The goal of a search. `width`: upper over lower bound, less one. `sum_s` of trials of `final_s` and more decide a rate.

    `least_requests` is how many a trial must hold to be judged, `longest_s` the most time that one may take for them.
    """

    width: float = 0.05
    initial_s: float = 2.0
    final_s: float = 5.0
    sum_s: float = 15.0
    exceed_ratio: float = 0.5
    least_requests: float = 1000.0
    longest_s: float = 30.0
    least_rate: float = 1.0
    most_rate: float = 200_000.0


@dataclass(frozen=True)
class SearchTrial:
    """A trial that was made: `low` when it kept the objective. Void ones are no trials."""

    rate_per_s: float
    duration_s: float
    low: bool


@dataclass(frozen=True)
class Ask:
    """The trial to make next."""

    rate_per_s: float
    duration_s: float


class SearchEnd(StrEnum):
    """The reason why a search asks for no further trial."""

    NARROW = "the bracket is as narrow as asked for"
    LEAST = "the lowest rate misses the objective"
    MOST = "the highest rate keeps the objective"
    SLOW = "a trial at so low a rate would hold too few requests to judge the objective"


@dataclass(frozen=True)
class RateBounds:
    """The highest rate that is a lower bound and lies below every upper one, and the lowest upper one; None: not found."""

    lower: float | None
    upper: float | None


@dataclass(frozen=True)
class _Target:
    """One round of the search: its width, the length of its trials, and the time that decides a rate."""

    width: float
    trial_s: float
    sum_s: float


def next_trial(goal: Goal, start_per_s: float, tried: Sequence[SearchTrial]) -> Ask | SearchEnd:
    """The next trial of a search that began at `start_per_s`, or why there is none. ValueError for a goal that cannot be met."""
    if not (0 < goal.exceed_ratio < 1 and goal.width > 0 and 0 < goal.initial_s <= goal.final_s):
        raise ValueError("a goal needs a width, an exceed ratio inside (0, 1), and trials that grow")
    before = RateBounds(None, None)
    for target in _targets(goal):
        ask = _towards(goal, target, before, min(max(start_per_s, goal.least_rate), goal.most_rate), tried)
        if isinstance(ask, SearchEnd):
            if ask is not SearchEnd.NARROW:
                return ask
            before = _bounds(goal, target, tried)
            continue
        rate = _short(ask)
        duration_s = max(target.trial_s, goal.least_requests / rate)
        return SearchEnd.SLOW if duration_s > goal.longest_s else Ask(rate, duration_s)
    return SearchEnd.NARROW


def bounds(goal: Goal, tried: Sequence[SearchTrial]) -> RateBounds:
    """The bracket as the longest trials so far give it: that of the last round which has both bounds, else of the first."""
    found = [_bounds(goal, target, tried) for target in _targets(goal)]
    whole = [one for one in found if one.lower is not None and one.upper is not None]
    return whole[-1] if whole else found[0]


def lower_rate(goal: Goal, rate_per_s: float) -> float:
    """The next rate to confirm when a fresh trial missed the objective: two widths below."""
    return _short(rate_per_s / (1 + 2 * goal.width))


def next_confirmation(goal: Goal, start_per_s: float, tried: Sequence[SearchTrial]) -> float | None:
    """The rate of the next fresh trial, or None once some rate has been kept `CONFIRMATIONS` times and never missed.

    A rate that one fresh trial misses is given up at once for a lower one. Ends, too, below the goal's least rate.
    """
    rate = start_per_s
    while rate >= goal.least_rate:
        here = [trial for trial in tried if trial.rate_per_s == rate]
        if all(trial.low for trial in here):
            return None if len(here) >= CONFIRMATIONS else rate
        rate = lower_rate(goal, rate)
    return None


@dataclass(frozen=True)
class Confirmed:
    """One rate, and how many of its fresh trials kept the objective."""

    rate_per_s: float
    kept: int
    trials: int

    @property
    def holds(self) -> bool:
        return self.kept == self.trials >= CONFIRMATIONS


def confirmations(tried: Sequence[SearchTrial]) -> tuple[Confirmed, ...]:
    """All rates that were put to fresh trials, highest first."""
    rates = sorted({trial.rate_per_s for trial in tried}, reverse=True)
    return tuple(Confirmed(rate, sum(trial.low for trial in tried if trial.rate_per_s == rate),
                           sum(trial.rate_per_s == rate for trial in tried)) for rate in rates)  # fmt: skip


@dataclass(frozen=True)
class Capacity:
    """All that is known of one stack on one workload. `confirmed_per_s` None: no rate was kept by enough fresh trials."""

    stack: str
    workload: str
    objective: str
    deadline_us: float | None
    search: tuple[CurvePoint, ...] = ()
    found: RateBounds = RateBounds(None, None)
    ended: str = ""
    """Why the search ended."""
    fresh: tuple[CurvePoint, ...] = ()
    confirmations: tuple[Confirmed, ...] = ()
    curve: tuple[CurvePoint, ...] = ()
    over: Overload | None = None
    over_points: tuple[CurvePoint, ...] = ()
    over_seconds: tuple[Second, ...] = ()
    limited_by: tuple[Finding, ...] = ()
    """What limited the server just above the bracket, strongest first."""
    rejected: str | None = None
    """Why the server has no number."""
    notes: tuple[str, ...] = ()
    spoiled: str | None = None
    """What made every fresh trial void; None where one told something, or none was made."""
    samples: tuple[BadAnswer, ...] = ()
    """Requests of search, fresh trials and curve that got no good answer, the first of each kind in each part."""
    spent_s: float = 0.0

    @property
    def measured(self) -> bool:
        """True if anything could be said of the server: a rate that it kept or missed, or why it has no number.

        What a search alone saw is no evidence where all fresh trials were void.
        """
        told = self.spoiled is None and any(point.judgement.low is not None for point in self.search)
        return self.rejected is not None or told

    @property
    def confirmed_per_s(self) -> float | None:
        """The highest rate that enough fresh trials all kept: the lower end of the interval."""
        return None if self.rejected else max((one.rate_per_s for one in self.confirmations if one.holds), default=None)

    @property
    def missed_from_per_s(self) -> float | None:
        """The lowest rate that was seen to miss, in the search or by a fresh trial: the upper end of the interval."""
        missed = [one.rate_per_s for one in self.confirmations if one.kept < one.trials]
        rates = [*missed, *([self.found.upper] if self.found.upper is not None else [])]
        return min(rates, default=None)

    @property
    def base_per_s(self) -> float | None:
        """The rate of which the load curve's rates are shares.

        It is the confirmed rate; for want of one, the lowest that a fresh trial kept, or the search's own.
        """
        kept = min((one.rate_per_s for one in self.confirmations if one.kept), default=None)
        return self.confirmed_per_s or kept or self.found.lower

    @property
    def failed(self) -> str | None:
        """The words on requests of search, fresh trials and curve without a good answer, and one of them; None without any.

        What was never sent is not among them, nor what the machine or the database spoiled: that was no server's doing.
        """
        points = (*self.search, *self.fresh, *self.curve)
        steps = [point.step for point in points if point.judgement.word is not StepWord.VOID]
        total = answers.together([replace(step.outcomes, unsent=None) for step in steps])
        if not total.not_ok:
            return None
        sample = answers.instance(self.samples, total)
        return f"{total.not_ok:,} of {total.total:,} requests got no good answer: {answers.outcome_words(total)}{sample}"

    @property
    def knee(self) -> tuple[float, float, float] | None:
        """The knee of the load curve with the rates beside it."""
        return knee(self.curve)


@dataclass(frozen=True)
class Pace:
    """The use of a budget: shares of it by phase, and the lengths of windows in seconds."""

    goal: Goal
    search_until_s: float
    confirm_window_s: float
    warmup_s: float
    step_s: int
    overload_s: int


LEAST_BUDGET_S = 60.0


def pace(budget_s: float, least_requests: float, width: float = 0.05) -> Pace:
    """The pace of a budget: at five minutes trials of 2 s, then of 5 s; shorter and longer ones in proportion, within bounds."""
    scale = budget_s / 300
    final_s = _within(5 * scale, 2.0, 30.0)
    goal = Goal(
        width=width,
        initial_s=_within(2 * scale, 1.0, 5.0),
        final_s=final_s,
        sum_s=3 * final_s,
        least_requests=1.2 * least_requests,
        longest_s=max(final_s, budget_s / 10),
    )
    return Pace(
        goal=goal,
        search_until_s=0.40 * budget_s,
        confirm_window_s=2 * final_s,
        warmup_s=_within(2 * scale, 1.0, 5.0),
        step_s=round(_within(3 * scale, 2.0, 20.0)),
        overload_s=round(_within(8 * scale, 3.0, 30.0)),
    )


# ---------------------------------------------------------------- the search


def _targets(goal: Goal) -> tuple[_Target, ...]:
    """The rounds, each half as wide as the one before and with longer trials; only the last needs more than one for a rate."""
    middle_s = math.sqrt(goal.initial_s * goal.final_s)
    return (
        _Target(4 * goal.width, goal.initial_s, goal.initial_s),
        _Target(2 * goal.width, middle_s, middle_s),
        _Target(goal.width, goal.final_s, goal.sum_s),
    )


def _towards(goal: Goal, target: _Target, before: RateBounds, start: float, tried: Sequence[SearchTrial]) -> float | SearchEnd:
    """The rate to try for this round, or NARROW when its bracket is found, or why it cannot be."""
    found = _bounds(goal, target, tried)
    low, high = found.lower or 0.0, found.upper or math.inf
    words = _classified(goal, target, tried)
    undecided = [rate for rate, word in words.items() if word is None and low < rate < high]
    begun = [rate for rate in undecided if _is_begun(rate, target, tried)]
    if begun:
        return begun[0]
    for hint in (before.lower, before.upper):  # what the round before found is tried first, at this round's length
        if hint is not None and low < hint < high and words.get(hint) is None:
            return hint
    if found.upper is None:
        above = _above(goal, target, before, found.lower, start)
        return above if above is not None else SearchEnd.MOST
    if found.lower is None:
        below = _below(goal, target, before, found.upper, words)
        return below if below is not None else SearchEnd.LEAST
    return math.sqrt(found.lower * found.upper) if found.upper / found.lower > 1 + target.width else SearchEnd.NARROW


def _above(goal: Goal, target: _Target, before: RateBounds, lower: float | None, start: float) -> float | None:
    """A rate above the lower bound, for want of an upper one: twice as far each time. None at the highest rate."""
    if lower is None:
        return start
    if lower >= goal.most_rate:
        return None
    if before.lower is None:
        return min(2 * lower, goal.most_rate)
    reach = (1 + target.width) * max(1.0, lower / before.lower)
    return min(lower * reach, goal.most_rate)


def _below(goal: Goal, target: _Target, before: RateBounds, upper: float, words: Mapping[float, bool | None]) -> float | None:
    """A rate below the upper bound, for want of a lower one: twice as far each time. None at the lowest rate."""
    if upper <= goal.least_rate:
        return None
    if before.lower is None:
        return max(upper / 2, goal.least_rate)
    misses = sum(low is False and rate <= before.lower for rate, low in words.items())
    reach: float = (1 + target.width) ** (2.0 ** max(0, misses - 1))
    return max(upper / reach, goal.least_rate)


def _is_begun(rate: float, target: _Target, tried: Sequence[SearchTrial]) -> bool:
    return any(trial.rate_per_s == rate and trial.duration_s >= target.trial_s for trial in tried)


def _bounds(goal: Goal, target: _Target, tried: Sequence[SearchTrial]) -> RateBounds:
    """The draft's relevant bounds: a rate that kept above one that missed counts for nothing."""
    words = _classified(goal, target, tried)
    upper = min((rate for rate, low in words.items() if low is False), default=None)
    lower = max((rate for rate, low in words.items() if low and (upper is None or rate < upper)), default=None)
    return RateBounds(lower, upper)


def _classified(goal: Goal, target: _Target, tried: Sequence[SearchTrial]) -> dict[float, bool | None]:
    """Rate → lower bound, upper bound or (None) undecided, after the draft's appendix on load classification.

    Of trials shorter than the round's, those that missed count only as far as those that kept do not balance them. The time still
    missing is taken once for the best and once for the worst: where both say the same the rate is decided.
    """
    found: dict[float, bool | None] = {}
    for rate in sorted({trial.rate_per_s for trial in tried}):
        here = [trial for trial in tried if trial.rate_per_s == rate]
        kept_s, missed_s, short_kept_s, short_missed_s = (
            math.fsum(trial.duration_s for trial in here if trial.low == low and (trial.duration_s < target.trial_s) is short)
            for short in (False, True) for low in (True, False)
        )  # fmt: skip
        balance_s = short_kept_s * goal.exceed_ratio / (1 - goal.exceed_ratio)
        missed_s += max(0.0, short_missed_s - balance_s)
        whole_s = max(kept_s + missed_s, target.sum_s)
        allowed_s = whole_s * goal.exceed_ratio
        best, worst = missed_s <= allowed_s, whole_s - kept_s <= allowed_s
        found[rate] = best if best is worst else None
    return found


def _short(rate_per_s: float) -> float:
    """Round to four digits: far finer than any width, and readable."""
    return float(f"{rate_per_s:.4g}")


def _within(value: float, least: float, most: float) -> float:
    return min(max(value, least), most)
