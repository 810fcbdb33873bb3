"""Claims about shares, counts and diagnoses: what happened in trials, and how sure that makes a sentence. Pure.

Counts are rates. Of an event that happened once in ten seconds a fresh run may see none, or five. So a count has the interval of
Poisson's law, made wider where trials differ by more than that law allows. That there are some is shown by one of them; how
likely a fresh run sees some depends on how many there were.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean, stdev

from fairground.claims.statement import COUNT_METRICS, Statement
from fairground.claims.sureness import CLEAR, DECIDED, SAME, SureVerdict, again, correct, decide, grade_of, is_so, miss_of
from fairground.claims.verdict import ClaimVerdict, VerdictGrade
from fairground.stats.fit import Estimate
from fairground.stats.intervals import Interval, significant

LONG_S = 30.0
"""Seconds of load after which a count of 0 says that there are none, where one look at one stack decides.

What comes three times in as long stays away in 5 % of all cases, which is DECIDED.
"""

RARE = 0.001
"""A share of answers below which there are none to speak of."""

LEAST_TRIALS = 3
"""Fewer trials say nothing of a diagnosis: two of two agree by chance in half of all cases."""

SHARES_SD, SHARES_FREEDOM = 0.5, 30
"""Of the logarithm of one trial's share, at the least: shares of errors differ by half from trial to trial."""

JEFFREYS = 0.5
"""What is added to a count that is the only thing known (Jeffreys 1946)."""


@dataclass(frozen=True)
class EventTrial:
    """A trial's share or count, the events behind it, their requests, and the seconds of load."""

    value: float
    events: float
    requests: float
    loaded_s: float


def poisson(events: float, miss: float = DECIDED) -> tuple[float, float]:
    """The interval of a Poisson count. Source: Garwood, "Fiducial limits for the Poisson distribution", Biometrika 1936."""
    from scipy.special import gammaincinv

    low = float(gammaincinv(events, miss / 2)) if events else 0.0
    return low, float(gammaincinv(events + 1, 1 - miss / 2))


def dispersion(counts: Sequence[float]) -> float:
    """Tell how much more counts differ than Poisson's law allows, by Pearson's chi-square; at least 1."""
    mean = fmean(counts) if counts else 0.0
    if len(counts) < 2 or not mean:
        return 1.0
    return max(1.0, math.fsum((one - mean) ** 2 for one in counts) / mean / (len(counts) - 1))


def rate(trials: Sequence[EventTrial], window_s: float, miss: float = DECIDED) -> Interval:
    """Events in a window of so many seconds, with Poisson's interval."""
    counts = [one.events for one in trials]
    apart, loaded_s = dispersion(counts), math.fsum(one.loaded_s for one in trials)
    low, high = poisson(math.fsum(counts) / apart, miss)
    scale = window_s / loaded_s
    return Interval(math.fsum(counts) * scale, low * apart * scale, high * apart * scale, len(trials), 1 - miss)


def decide_events(statement: Statement, trials: Sequence[EventTrial], rivals: int = 1, miss: float = DECIDED) -> SureVerdict:
    """The verdict on shares or counts. Trials without an answer to count are none of these.

    What chance may have done is held to `rivals` and `miss` as a ratio is, but for a share of 0. That one event shows some is no
    chance.
    """
    bound, factor = statement.right.factor, statement.left.factor
    if bound == 0:  # `~ 0` is `<= 0`, and `parse` refuses the others
        return _some_or_none(statement, trials, rivals, miss)
    if statement.terms[0].metric in COUNT_METRICS:
        at = partial(_counted, statement.op, trials, factor, bound)
        verdict = correct(at, rivals, miss)
        return SureVerdict(verdict, None if verdict is ClaimVerdict.INCONCLUSIVE else grade_of(at, verdict, rivals, miss))
    return _shares(statement, trials, rivals, miss)


def _silent_s(op: str, rivals: int, miss: float) -> float:
    """The seconds of load after which a count of 0 decides: it stays 0 by chance as rarely as LONG_S allows of one stack."""
    verdict = ClaimVerdict.FAILS if op == ">" else ClaimVerdict.HOLDS
    return LONG_S * math.log(miss_of(verdict, rivals, miss)) / math.log(DECIDED)


def _some_or_none(statement: Statement, trials: Sequence[EventTrial], rivals: int, miss: float) -> SureVerdict:
    """Tell whether there are some, or none: one event shows that there are some.

    A count has to stay at 0 for long, whichever of the two was claimed; a share is of so many answers that 0 is known.
    """
    counts = [one.events for one in trials]
    happened = math.fsum(counts) / dispersion(counts)
    counted = statement.terms[0].metric in COUNT_METRICS
    loaded_s, requests = (math.fsum(values) for values in zip(*((one.loaded_s, one.requests) for one in trials), strict=True))
    if not happened and counted and loaded_s < _silent_s(statement.op, rivals, miss):
        return SureVerdict(ClaimVerdict.INCONCLUSIVE)
    verdict = ClaimVerdict.HOLDS if (happened > 0) == (statement.op == ">") else ClaimVerdict.FAILS
    clear = (miss if happened else miss_of(verdict, rivals, miss)) * CLEAR / DECIDED
    if happened:
        none_again = 0.5 ** (happened + JEFFREYS)  # the predictive law of a Poisson count with a prior of Jeffreys
        return SureVerdict(verdict, _grade(none_again < clear), 1 - none_again)
    looked = loaded_s / LONG_S if counted else requests * RARE
    return SureVerdict(verdict, _grade(poisson(0.0, 2 * clear)[1] < looked), none_again_after(looked))


def none_again_after(looked: float) -> float:
    """Foretell how likely a fresh run sees none, where this one saw none. `looked`: its length over that in which one is rare.

    Either the event never happens, or at a rate with a prior of Jeffreys. Before anything was seen both are as likely. Without
    the first, no number of trials makes a law likely. Source: Jeffreys, "Theory of Probability", 1939.
    """
    once, twice = (1 / math.sqrt(1 + times * looked) for times in (1, 2))
    return (1 + twice) / (1 + once)


def _counted(op: str, trials: Sequence[EventTrial], factor: float, bound: float, miss: float) -> ClaimVerdict:
    """Hold a mean count against a bound, by Poisson's interval."""
    counts = [one.events for one in trials]
    apart, scale = dispersion(counts), factor * dispersion(counts) / len(counts)
    low, high = (scale * end for end in poisson(math.fsum(counts) / apart, miss))
    sides = {">": (low > bound, high <= bound), ">=": (low >= bound, high < bound),
             "<": (high < bound, low >= bound), "<=": (high <= bound, low > bound)}  # fmt: skip
    holds, fails = sides.get(
        op, (bound * (1 - SAME) <= low and high <= bound * (1 + SAME), high < bound * (1 - SAME) or low > bound * (1 + SAME))
    )
    return ClaimVerdict.HOLDS if holds else ClaimVerdict.FAILS if fails else ClaimVerdict.INCONCLUSIVE


def _shares(statement: Statement, trials: Sequence[EventTrial], rivals: int, miss: float) -> SureVerdict:
    """Hold shares of some trials against a bound: each must agree.

    How sure that is, the logarithms of shares over the bound say: an answer more or less is half a one, and trials differ by
    SHARES_SD at least. Where one of several rivals is to refute a claim, that interval must, too.
    """
    op, bound, factor = statement.op, statement.right.factor, statement.left.factor
    agreed = [is_so(op, factor * one.value, bound) for one in trials]
    verdict = ClaimVerdict.HOLDS if all(agreed) else ClaimVerdict.FAILS if not any(agreed) else ClaimVerdict.INCONCLUSIVE
    if verdict is ClaimVerdict.INCONCLUSIVE:
        return SureVerdict(verdict)
    logs = [math.log(factor * (one.events + JEFFREYS) / (one.requests + 1) / bound) for one in trials]
    sd = max(SHARES_SD, stdev(logs) if len(logs) > 1 else 0.0)
    found = Estimate(fmean(logs), sd / math.sqrt(len(logs)), SHARES_FREEDOM, len(logs))
    sure = decide(op, found, rivals, miss)
    if verdict is ClaimVerdict.FAILS and rivals > 1 and sure.verdict is not verdict:
        return SureVerdict(ClaimVerdict.INCONCLUSIVE)
    clear = sure.verdict is verdict and sure.grade is VerdictGrade.CLEAR
    return SureVerdict(verdict, _grade(clear), again(op, verdict, found, miss_of(verdict, rivals, miss)))


def decide_word(word: str, found: Sequence[str], rivals: int = 1, miss: float = DECIDED) -> SureVerdict:
    """The verdict on a diagnosis: whether most trials name it, as surely as so few can say."""
    count, agreed = len(found), sum(one == word for one in found)
    at = partial(_most, agreed, count)
    verdict = correct(at, rivals, miss)
    if verdict is ClaimVerdict.INCONCLUSIVE:
        return SureVerdict(verdict)
    alike = [k for k in range(count + 1) if correct(partial(_most, k, count), rivals, miss) is verdict]
    return SureVerdict(verdict, grade_of(at, verdict, rivals, miss), math.fsum(_chance(k, count, agreed) for k in alike))


def _most(agreed: int, count: int, miss: float) -> ClaimVerdict:
    """Tell whether more than half of all trials would agree, at so small a risk."""
    from scipy.special import betainc

    if count < LEAST_TRIALS:
        return ClaimVerdict.INCONCLUSIVE
    fewer = float(betainc(agreed + JEFFREYS, count - agreed + JEFFREYS, 0.5))
    if miss <= fewer <= 1 - miss:
        return ClaimVerdict.INCONCLUSIVE
    return ClaimVerdict.HOLDS if fewer < 0.5 else ClaimVerdict.FAILS


def _trials_asked(some: bool, rivals: int, miss: float) -> int:
    """Count the trials that decide where all of them name a reason, or none does."""
    count = LEAST_TRIALS
    while correct(partial(_most, count if some else 0, count), rivals, miss) is ClaimVerdict.INCONCLUSIVE:
        count += 1
    return count


def _chance(k: int, count: int, agreed: int) -> float:
    """Compute how likely `k` of so many fresh trials agree, where `agreed` of as many did."""
    from scipy.special import betaln

    yes, no = agreed + JEFFREYS, count - agreed + JEFFREYS
    return math.comb(count, k) * math.exp(float(betaln(k + yes, count - k + no) - betaln(yes, no)))


def _grade(sure: bool) -> VerdictGrade:
    return VerdictGrade.CLEAR if sure else VerdictGrade.LEANING


def events_sentence(
    statement: Statement, trials: Sequence[EventTrial], verdict: ClaimVerdict, rivals: int = 1, miss: float = DECIDED
) -> str:
    """Say what was counted: of counts their sum, and the rate with its interval where there were some."""
    metric, factor, count = statement.terms[0].metric, statement.left.factor, len(trials)
    low, high = factor * min(one.value for one in trials), factor * max(one.value for one in trials)
    shares = metric not in COUNT_METRICS
    written = [f"{value:.2%}" if shares else f"{value:,.0f}" for value in (low, high)]
    words = written[0] if written[0] == written[1] else f"{written[0]} to {written[1]}"
    words += f" in {count} trial{'s' if count > 1 else ''}"
    if shares:
        return words
    loaded_s = math.fsum(one.loaded_s for one in trials)
    if any(one.events for one in trials):
        found = rate(trials, 10.0, miss)
        ends = " to ".join(significant(end) for end in (found.low, found.high))
        return f"{words}: {significant(found.middle)} in 10 s ({ends})"
    words += f", in {loaded_s:.3g} s of load"
    if verdict is ClaimVerdict.INCONCLUSIVE:
        words += f"; none in {math.ceil(_silent_s(statement.op, rivals, miss))} s would decide it"
    return words


def diagnosis_sentence(word: str, found: Sequence[str], rivals: int = 1, miss: float = DECIDED) -> str:
    """Say what the trials name, and how many are needed where there are fewer."""
    told = ", ".join(f"{word} in {count} of {len(found)}" for word, count in Counter(found).most_common())
    least = _trials_asked(word in found, rivals, miss)
    few = f"; {least} are asked for" if len(found) < least else ""
    return f"the lab's diagnosis: {told} trial{'s' if len(found) > 1 else ''}{few}"
