"""Judge the steps of a load: whether an objective was kept, whether a queue grew, the knee, overload and recovery. Pure.

A request without a good answer counts as one that took for ever. What the generator did itself never blames the server: a step
that would have kept its objective but for the generator's own lag is void. What was kept is kept, however full the generator was.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from fairground.capacity.objective import LEAST_TAIL, Clause, Objective
from fairground.judge import answers, stalls, thresholds
from fairground.model import Latency, Outcomes, RateStep, Second, hdr
from fairground.model.plural import with_verb

FEW_TAIL = 100
"""With fewer requests expected beyond it a percentile is shown, and said to rest on few."""
DOUBT = 0.05
"""Chance at which a count of bad requests is still blamed on luck."""
CAP_REACHED = 0.95
SLOPE_SECONDS = 6
"""Samples of the requests under way from which on their growth is tested as a slope."""
LEAST_GROWTH = 10


class StepWord(StrEnum):
    """A word on a step. UNSTABLE is a miss, too: its queue grew, so its percentiles are those of its length."""

    KEPT = "kept"
    MISSED = "missed"
    UNSTABLE = "UNSTABLE"
    VOID = "void"
    UNKNOWN = "too few"


@dataclass(frozen=True)
class StepJudgement:
    """The word, one phrase on why, and (where the queue grew) by how many requests a second."""

    word: StepWord
    why: str
    backlog_per_s: float | None = None

    @property
    def low(self) -> bool | None:
        """True if the objective was kept; None: nothing is known."""
        return {StepWord.KEPT: True, StepWord.MISSED: False, StepWord.UNSTABLE: False}.get(self.word)


@dataclass(frozen=True)
class CurvePoint:
    """A judged step, and where it is from: `phase` and the `trial` (a start of the server) in it, from 1."""

    phase: str
    trial: int
    step: RateStep
    judgement: StepJudgement

    @property
    def stable(self) -> bool:
        """True if its latencies are those of a steady state, as far as that can be seen."""
        return self.judgement.word not in (StepWord.UNSTABLE, StepWord.VOID)


def judge(step: RateStep, objective: Objective, machine: str | None = None) -> StepJudgement:
    """Hold a step against an objective. `machine` says what of the machine spoiled it: then nothing is said of the server."""
    if machine is not None:
        return StepJudgement(StepWord.VOID, machine)
    if step.due == 0:
        return StepJudgement(StepWord.UNKNOWN, "no request was due")
    backlog = backlog_per_s(step)
    words = [(_clause(step, clause, of_server=False), clause) for clause in objective.clauses]
    if backlog is None and all(word is StepWord.KEPT for word, _ in words):
        return StepJudgement(StepWord.KEPT, "all clauses hold")
    if (excuse := _generators_fault(step, objective)) is not None and any(word is not StepWord.KEPT for word, _ in words):
        return StepJudgement(StepWord.VOID, excuse)
    if backlog is not None:
        return StepJudgement(StepWord.UNSTABLE, f"requests under way grew by {backlog:,.0f} a second{_stalled(step)}", backlog)
    missed = [clause for word, clause in words if word is StepWord.MISSED]
    if missed:
        share = bad(step, missed[0]) / step.due
        failed = replace(step.outcomes, unsent=None)
        among = f", {answers.outcome_words(failed)} among them" if failed.not_ok else ""
        sentence = f"{share:.2%} of the requests missed {missed[0].text}{among}{_stalled(step)}"
        return StepJudgement(StepWord.MISSED, sentence)
    return StepJudgement(StepWord.UNKNOWN, f"{with_verb(step.due, 'request')} too few to judge {objective.text}")


def bad(step: RateStep, clause: Clause) -> int:
    """Requests that a clause counts against the server: without a good answer, and good ones later than its deadline."""
    return step.outcomes.not_ok + _later(step.latency_ok, clause.deadline_us)


def percentile_us(step: RateStep, share: float) -> float | None:
    """The latency that `share` of all due requests had at most, those without a good answer being infinite; µs.

    None where fewer than ten requests are expected beyond it, where it lies among those without a good answer, or where no
    histogram is kept.
    """
    if step.latency_ok is None or step.latency_ok.v2 is None or step.due * (1 - share) < LEAST_TAIL:
        return None
    rank, seen = max(1, math.ceil(share * step.due - 1e-9)), 0
    for value_us, count in counts(step.latency_ok.v2):
        seen += count
        if seen >= rank:
            return value_us
    return None


def few(step: RateStep, share: float) -> bool:
    """True if a percentile rests on fewer than a hundred requests beyond it."""
    return step.due * (1 - share) < FEW_TAIL


def backlog_per_s(step: RateStep) -> float | None:
    """Requests a second by which the queue grew; None when no growth is shown.

    The growth over the step must exceed ten requests, a tenth of those under way, and four times the root of the requests due
    (more than chance alone does to a queue); from six seconds on the slope of the requests under way must lie above zero with its
    95 % interval, too, its spread after Newey and West (Econometrica 1987), which allows for seconds that resemble each other.
    """
    if len(step.in_flight) < 2 or not step.duration_s:
        return None
    unsent = step.outcomes.unsent or 0
    growth = step.in_flight[-1] + unsent - step.in_flight[0]
    mean = math.fsum(step.in_flight) / len(step.in_flight)
    if growth <= max(LEAST_GROWTH, 0.1 * mean, 4 * math.sqrt(step.due)):
        return None
    capped = max(step.in_flight) >= CAP_REACHED * step.connections  # a queue that stands at the cap has no slope
    if len(step.in_flight) > SLOPE_SECONDS and not capped:
        slope, spread = _slope(step.in_flight)
        if slope - 1.96 * spread <= 0:
            return None
    return growth / step.duration_s


def knee(points: Sequence[CurvePoint]) -> tuple[float, float, float] | None:
    """The rate with the most power, goodput over mean latency (Kleinrock, ICC 1979), with the rates beside it; None below three.

    Beyond it latency grows by a larger share than goodput. Only stable steps count; steps of one rate are averaged.
    """
    by_rate: dict[float, list[float]] = {}
    for point in points:
        latency = point.step.latency_ok
        if point.stable and latency is not None and latency.mean_us:
            by_rate.setdefault(point.step.rate_per_s, []).append(point.step.goodput_per_s / latency.mean_us)
    rates = sorted(by_rate)
    if len(rates) < 3:
        return None
    best = max(range(len(rates)), key=lambda place: math.fsum(by_rate[rates[place]]) / len(by_rate[rates[place]]))
    return rates[best], rates[max(0, best - 1)], rates[min(len(rates) - 1, best + 1)]


@dataclass(frozen=True)
class Overload:
    """The effect of an offered rate beyond capacity, and how long it was felt afterwards. Latencies in µs; None: not known."""

    capacity_per_s: float
    factor: float
    goodput_per_s: float
    retention: float
    """Goodput under overload over capacity."""
    p99_good_us: float | None
    shed: int | None
    shed_p99_us: float | None
    not_ok_share: float
    recovery_s: float | None
    """Seconds from the end of the overload until the objective's deadlines held again for good; None: not within `watched_s`."""
    watched_s: float


def overload(capacity_per_s: float, during: RateStep, after: RateStep, seconds: Sequence[Second], ended_s: float,
             objective: Objective) -> Overload:  # fmt: skip
    """Describe an overload by two steps, above and below capacity, and the window's `seconds`.

    The overload ends at `ended_s` of the window.
    """
    good = during.latency_ok
    recovery = recovered_s([one for one in seconds if one.second >= ended_s], after.rate_per_s, objective)
    return Overload(
        capacity_per_s=capacity_per_s,
        factor=during.rate_per_s / capacity_per_s,
        goodput_per_s=during.goodput_per_s,
        retention=during.goodput_per_s / capacity_per_s,
        p99_good_us=None if good is None or good.count * 0.01 < LEAST_TAIL else good.p99_us,
        shed=during.outcomes.shed,
        shed_p99_us=_shed_p99(during),
        not_ok_share=during.outcomes.not_ok / during.due if during.due else 0.0,
        recovery_s=recovery,
        watched_s=after.duration_s,
    )


def recovered_s(seconds: Sequence[Second], rate_per_s: float, objective: Objective) -> float | None:
    """Seconds from the end of an overload to the end of its last bad second.

    A second is bad with an error, a percentile beyond a deadline or a lack of answers. It lacks answers where they are under half
    of its rate by more than chance. Without a deadline only errors and answers count. None when the last second is still bad.
    """
    wrong = [place for place, one in enumerate(seconds, 1) if _bad_second(one, rate_per_s, objective)]
    if not seconds or (wrong and wrong[-1] == len(seconds)):
        return None
    return float(wrong[-1]) if wrong else 0.0


@lru_cache(maxsize=512)
def counts(packed: str) -> tuple[tuple[float, int], ...]:
    """(µs, how often) of an HdrHistogram V2 text, ascending; a value is the upper end of its bucket."""
    shape, heap = hdr.decode(packed)
    return tuple((float(shape.end_of(place)), int(heap[place])) for place in heap.nonzero()[0].tolist())


# ---------------------------------------------------------------- small things


def _clause(step: RateStep, clause: Clause, of_server: bool) -> StepWord:
    """KEPT, MISSED or UNKNOWN. `of_server`: what the generator never sent is left out, and time runs from the send."""
    wrong, due = bad(step, clause), step.due
    if of_server:
        unsent = step.outcomes.unsent or 0
        wrong, due = step.outcomes.not_ok - unsent + _later(step.service, clause.deadline_us), step.due - unsent
    if due == 0:
        return StepWord.UNKNOWN
    from scipy.special import bdtr, bdtrc

    enough = due * clause.allowed >= LEAST_TAIL
    if wrong <= due * clause.allowed:
        return StepWord.KEPT if enough or bdtr(wrong, due, clause.allowed) <= DOUBT else StepWord.UNKNOWN
    return StepWord.MISSED if enough or bdtrc(wrong - 1, due, clause.allowed) <= DOUBT else StepWord.UNKNOWN


def _generators_fault(step: RateStep, objective: Objective) -> str | None:
    """The reason why a miss is the generator's and not the server's; None when the server missed by its own doing.

    Where all connections were in use, or a stall of the server was long enough for that, the server had them: a wait for one is
    its doing. Otherwise a server that keeps its objective counted from the moment at which requests were sent has missed it only
    by the generator's lag. A generator that lags by more than the deadline sends in bursts, which are not the load that was asked
    for.
    """
    share, most = step.busiest_thread_share, thresholds.standard().checks.generator.void
    if share is not None and most is not None and share > most:
        return f"the generator was the limit: its busiest thread was {share:.0%} busy"
    if step.in_flight and max(step.in_flight) >= CAP_REACHED * step.connections:
        return None
    if stalls.holds_all(step.gaps, step.rate_per_s, step.connections, thresholds.standard().rules):
        return None  # between two counts of a second, too
    lag_us, deadline_us = step.send_lag.p99_us if step.send_lag else None, objective.deadline_us
    slept = lag_us is not None and deadline_us is not None and lag_us > deadline_us
    if not slept and any(_clause(step, clause, of_server=True) is not StepWord.KEPT for clause in objective.clauses):
        return None
    late = "" if lag_us is None else f", p99 of its lag {lag_us / 1000:.1f} ms"
    return f"the generator sent too late (never sent: {step.outcomes.unsent or 0:,}{late})"


def _stalled(step: RateStep) -> str:
    """Say that the server stalled, as the end of a sentence; nothing where it did not."""
    found = stalls.of_step(step, thresholds.standard().rules)
    return f"; {stalls.stall_words(found)}" if found else ""


def _later(latency: Latency | None, deadline_us: float | None) -> int:
    """Count the good answers that came after a deadline."""
    if deadline_us is None or latency is None or latency.v2 is None or not latency.count:
        return 0
    return sum(count for value_us, count in counts(latency.v2) if value_us > deadline_us * 1.001)


def _shed_p99(step: RateStep) -> float | None:
    """p99 of the 503s: all answers' histogram without the good ones', known when nothing else failed in the step."""
    outcomes = step.outcomes
    if not outcomes.shed or outcomes.shed * 0.01 < LEAST_TAIL or not _only_shed(outcomes):
        return None
    if step.latency_all is None or step.latency_ok is None or step.latency_all.v2 is None or step.latency_ok.v2 is None:
        return None
    good = dict(counts(step.latency_ok.v2))
    rank, seen = math.ceil(0.99 * outcomes.shed), 0
    for value_us, count in counts(step.latency_all.v2):
        seen += count - good.get(value_us, 0)
        if seen >= rank:
            return value_us
    return None


def _only_shed(outcomes: Outcomes) -> bool:
    """True if all requests that ended without a good answer were refused with 503. What was never sent has no latency."""
    ended = outcomes.not_ok - (outcomes.unsent or 0) - (outcomes.in_flight or 0)
    return ended == outcomes.shed


def _bad_second(one: Second, rate_per_s: float, objective: Objective) -> bool:
    lacks = one.ok < 0.5 * rate_per_s - 2 * math.sqrt(rate_per_s)
    return bool(one.not_ok) or lacks or any(_is_late(one, clause) for clause in objective.clauses)


def _is_late(one: Second, clause: Clause) -> bool:
    """True if a second misses a deadline for certain: by the highest known percentile that is not above the clause's own."""
    reached_us = one.p99_us if clause.allowed <= 0.01 else one.p50_us if clause.allowed <= 0.5 else None
    return clause.deadline_us is not None and reached_us is not None and reached_us > clause.deadline_us


def _slope(values: Sequence[float]) -> tuple[float, float]:
    """Slope of values a second apart, by least squares, and its standard error.

    The error is that of Newey and West, with a Bartlett window.
    """
    count = len(values)
    places = [place - (count - 1) / 2 for place in range(count)]
    square = math.fsum(place * place for place in places)
    mean = math.fsum(values) / count
    slope = math.fsum(place * value for place, value in zip(places, values, strict=True)) / square
    moments = [place * (value - mean - slope * place) for place, value in zip(places, values, strict=True)]
    lags = int(4 * (count / 100) ** (2 / 9))
    total = math.fsum(moment * moment for moment in moments)
    for lag in range(1, lags + 1):
        weight = 1 - lag / (lags + 1)
        total += 2 * weight * math.fsum(moments[at] * moments[at - lag] for at in range(lag, count))
    return slope, math.sqrt(max(0.0, total)) / square
