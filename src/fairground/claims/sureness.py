"""Grade the verdict on an estimated ratio, and foretell whether a fresh run repeats it. Pure.

A verdict asks where a whole interval lies. It is clear where an interval of 99.5 % says the same as one of 95 %. A fresh run's
estimate scatters about the truth as this one does, so the two differ by the root of two times the error: what this run shows
at z = 2.0 a fresh one shows in less than half of all cases.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from fairground.claims.verdict import ClaimVerdict, VerdictGrade
from fairground.stats.fit import Estimate
from fairground.stats.intervals import student

DECIDED, CLEAR = 0.05, 0.005
"""How often an interval that decides, and one that is clear about it, may miss the truth."""

SAME = 0.15
"""`~` holds when the interval lies within this share of equality."""

TIED = 0.05
"""`<` and `>` are a tie when the whole interval lies within this share of equality: no further block will change that."""

POWER = 0.80
"""A forecast of blocks decides in so many of the cases in which the truth is what it looks like."""

MOST_BLOCKS = 200

LOOKS = {1: 0.05, 2: 0.0294, 3: 0.0221, 4: 0.0182}
"""How often an interval may miss that is looked at so many times, to miss in 5 % of all runs.

Source: Pocock, "Group sequential methods in the design and analysis of clinical trials", Biometrika 1977.
"""


@dataclass(frozen=True)
class SureVerdict:
    """A verdict with its grade, how likely a fresh run repeats it, and about how many blocks would decide it."""

    verdict: ClaimVerdict
    grade: VerdictGrade | None = None
    again: float | None = None
    needs: int | None = None


def decide(op: str, found: Estimate, rivals: int = 1, miss: float = DECIDED) -> SureVerdict:
    """The verdict on a logarithm that a claim holds against 0, and how sure it is."""
    verdict = verdict_of(op, found, rivals, miss)
    if verdict is ClaimVerdict.INCONCLUSIVE:
        return SureVerdict(verdict, needs=blocks_needed(op, found, rivals, miss))
    foretold = again(op, verdict, found, miss_of(verdict, rivals, miss))
    return SureVerdict(verdict, grade_of(partial(_compared, op, found), verdict, rivals, miss), foretold)


def verdict_of(op: str, found: Estimate, rivals: int = 1, miss: float = DECIDED) -> ClaimVerdict:
    """The verdict alone.

    A claim about the first of all does not hold as soon as one rival says so: of many equal ones, one would by chance. So that
    answer is held to their number. That it holds needs all of them, and is not.
    """
    return correct(partial(_compared, op, found), rivals, miss)


def correct(at: Callable[[float], ClaimVerdict], rivals: int, miss: float) -> ClaimVerdict:
    """Hold what does not hold to the number of rivals. `at` gives the verdict of an interval that may miss so often."""
    verdict = at(miss)
    return ClaimVerdict.INCONCLUSIVE if at(miss_of(verdict, rivals, miss)) is not verdict else verdict


def miss_of(verdict: ClaimVerdict, rivals: int, miss: float) -> float:
    """The share of all cases in which the interval behind such a verdict may miss the truth."""
    return miss / rivals if verdict is ClaimVerdict.FAILS else miss


def grade_of(at: Callable[[float], ClaimVerdict], verdict: ClaimVerdict, rivals: int, miss: float) -> VerdictGrade:
    """Grade a verdict: it is clear where a stricter interval gives the same."""
    sure = correct(at, rivals, miss * CLEAR / DECIDED) is verdict
    return VerdictGrade.CLEAR if sure else VerdictGrade.LEANING


def _compared(op: str, found: Estimate, miss: float) -> ClaimVerdict:
    """Tell where the whole interval lies."""
    ours = found.interval(1 - miss)
    if op == "~":
        bound = math.log1p(SAME)
        if -bound <= ours.low and ours.high <= bound:
            return ClaimVerdict.HOLDS
        return ClaimVerdict.FAILS if ours.high < -bound or ours.low > bound else ClaimVerdict.INCONCLUSIVE
    bound = math.log1p(TIED)
    if -bound <= ours.low and ours.high <= bound:
        return ClaimVerdict.TIE
    if ours.low > 0 or ours.high < 0:
        return ClaimVerdict.HOLDS if (ours.low > 0) == (op in (">", ">=")) else ClaimVerdict.FAILS
    return ClaimVerdict.INCONCLUSIVE


def is_so(op: str, value: float, bound: float) -> bool:
    """Tell whether a number is to a bound as the operator says."""
    told = {"<": value < bound, "<=": value <= bound, ">": value > bound, ">=": value >= bound}
    return told.get(op, math.isclose(value, bound, rel_tol=SAME, abs_tol=1e-9))


def again(op: str, verdict: ClaimVerdict, found: Estimate, miss: float = DECIDED) -> float:
    """Foretell how likely a fresh run of the same length has this verdict.

    What is far enough from equality to be noticed is too far on average, so it counts as nearer by 1/z² of itself (James & Stein,
    "Estimation with quadratic loss", 1961).
    """
    near = verdict is ClaimVerdict.TIE or (op == "~" and verdict is ClaimVerdict.HOLDS)
    if not near and found.middle:
        found = replace(found, middle=found.middle * max(0.0, 1 - (found.error / found.middle) ** 2))
    half = student(found.freedom, 1 - miss / 2) * found.error
    return _chance(op, verdict, half, replace(found, error=math.sqrt(2) * found.error))


def blocks_needed(op: str, found: Estimate, rivals: int = 1, miss: float = DECIDED) -> int | None:
    """About so many blocks of this spread would decide, in POWER of all cases; None where it is too close to call.

    A tie decides, too: equal stacks need as many blocks as make the interval fit into one.
    """
    fresh = range(found.blocks + 1, MOST_BLOCKS + 1)
    place = bisect_left(fresh, POWER, key=lambda blocks: _decided(op, found, blocks, rivals, miss))
    return fresh[place] if place < len(fresh) else None


def _decided(op: str, found: Estimate, blocks: int, rivals: int, miss: float) -> float:
    """Compute how likely so many blocks decide, where middle and spread are what they look like."""
    truth = replace(found, error=found.spread / math.sqrt(blocks), freedom=math.inf)
    halves = {one: student(math.inf, 1 - miss_of(one, rivals, miss) / 2) * truth.error for one in ClaimVerdict if one.decided}
    return math.fsum(_chance(op, verdict, half, truth) for verdict, half in halves.items())


def _chance(op: str, verdict: ClaimVerdict, half: float, law: Estimate) -> float:
    """Compute how likely a value of that law has a verdict, if its interval reaches `half` to each side."""
    same, tied = math.log1p(SAME) - half, math.log1p(TIED) - half
    if op == "~":
        apart = math.log1p(SAME) + half
        sides = {ClaimVerdict.HOLDS: _between(law, -same, same), ClaimVerdict.FAILS: 1 - _between(law, -apart, apart)}
        return sides.get(verdict, 0.0)
    if verdict is ClaimVerdict.TIE:
        return _between(law, -tied, tied)
    beyond = max(half, tied)
    above = (verdict is ClaimVerdict.HOLDS) == (op in (">", ">="))
    return _between(law, beyond, math.inf) if above else _between(law, -math.inf, -beyond)


def _between(law: Estimate, low: float, high: float) -> float:
    """Compute how likely a value that scatters about the middle by the error lies between two bounds."""
    from scipy.special import stdtr

    if low >= high:
        return 0.0
    if not law.error:
        return float(low <= law.middle <= high)
    below, above = (float(stdtr(law.freedom, (bound - law.middle) / law.error)) for bound in (low, high))
    return above - below
