"""Few repetitions of many stacks: what their spreads have in common makes each of them surer. Pure.

Two blocks of one stack say next to nothing of its own spread. But a run measures dozens of cells, and their spreads are much
alike. Each one's variance is drawn towards what all have in common, as far as the variances themselves agree: the moderated t of
Smyth, "Linear models and empirical Bayes methods for assessing differential expression", Statistical Applications in Genetics and
Molecular Biology 2004.

That is done twice, for workloads differ more than stacks do: deadlocks make rates of `transfer` ten times as noisy as those of
the rest. The variance that a field's stacks share is drawn towards that of all fields, and each stack's towards its field's. A
variance beyond what its prior foretells in nine of ten cases is not made smaller: a stack of two modes has its own.

How much the variances agree is itself uncertain, and is taken a standard error lower. `tests/stats/test_fit.py` has simulations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

LEAST_ROWS = 6
"""Fewer variances say nothing of what variances have in common."""
LEAST_FIELDS = 3
"""Fewer fields say nothing of how fields differ: their stacks are taken together."""
LIKELY = 0.9
"""A variance beyond what its prior foretells in so many cases is not made smaller: calm stacks must not calm a noisy one."""


@dataclass(frozen=True)
class Variance:
    """A variance of logarithms that was found with so many degrees of freedom; with none it is not known."""

    value: float
    freedom: float


@dataclass(frozen=True)
class Spreads:
    """What one field's residuals say: the variance that its stacks share, and that of each stack."""

    shared: Variance
    stacks: tuple[Variance, ...]

    @property
    def independent(self) -> tuple[Variance, ...]:
        """The known variances of the stacks. Of two stacks the residuals are each other's, so that they have one."""
        known = tuple(one for one in self.stacks if one.freedom)
        return (self.shared,) if len(known) == 2 else known


@dataclass(frozen=True)
class Prior:
    """The variance that the stacks of a run have in common, worth `freedom` degrees of freedom (infinite: they all agree).

    `most`: with so many degrees of freedom it is known itself; none of the variances that borrow from it is surer than that.
    """

    variance: float
    freedom: float
    most: float


def priors(fields: Sequence[Spreads]) -> tuple[Prior | None, ...]:
    """What the variances of each field's stacks have in common, in the fields' order; None where too little is known.

    Fewer than LEAST_FIELDS fields share one prior. Of more, a field's own variance is moderated by that of all fields. No stack's
    variance is surer than its field's.
    """
    together = prior([one for field in fields for one in field.independent])
    varying = {index: field for index, field in enumerate(fields) if field.shared.freedom and field.shared.value}
    if together is None or len(varying) < LEAST_FIELDS:
        return tuple(together for _ in fields)
    common = _in_common([field.shared for field in varying.values()], together.most)
    levels = {index: _moderated(field.shared, common) for index, field in varying.items()}
    ratios = [
        Variance(one.value / levels[index].value, one.freedom) for index, field in varying.items() for one in field.independent
    ]
    agreement = _in_common(ratios, together.most).freedom
    made = {index: Prior(level.value, agreement, level.freedom) for index, level in levels.items()}
    return tuple(made.get(index, together) for index in range(len(fields)))


def prior(known: Sequence[Variance]) -> Prior | None:
    """What variances have in common, all taken alike; None for fewer than LEAST_ROWS, and where most do not vary at all."""
    typical = sorted(one.value for one in known)[len(known) // 2] if known else 0.0
    if len(known) < LEAST_ROWS or not typical:
        return None
    return _in_common(known, math.fsum(one.freedom for one in known))


def _in_common(known: Sequence[Variance], most: float) -> Prior:
    """The prior of variances with their degrees of freedom.

    Moments of the logarithms of the variances (Smyth 2004, section 6.2). Their excess spread is taken a standard error larger.
    """
    from scipy.special import digamma, polygamma

    least = 1e-5 * sorted(one.value for one in known)[len(known) // 2]
    halves = [one.freedom / 2 for one in known]
    logs = [
        math.log(max(one.value, least)) - float(digamma(half)) + math.log(half) for one, half in zip(known, halves, strict=True)
    ]
    mean = math.fsum(logs) / len(logs)
    seen = math.fsum((value - mean) ** 2 for value in logs) / (len(logs) - 1)
    by_chance = math.fsum(float(polygamma(1, half)) for half in halves) / len(known)
    apart = seen - by_chance + max(seen, by_chance) * math.sqrt(2 / (len(logs) - 1))
    if apart <= 0:
        pooled = math.fsum(one.value * one.freedom for one in known) / math.fsum(one.freedom for one in known)
        return Prior(pooled, math.inf, most)
    freedom = 2 * _inverse_trigamma(apart)
    return Prior(math.exp(mean + float(digamma(freedom / 2)) - math.log(freedom / 2)), freedom, most)


def _moderated(own: Variance, common: Prior) -> Variance:
    """A variance drawn towards the common one, with the degrees of freedom that it has then."""
    if math.isinf(common.freedom):
        return Variance(common.variance, max(own.freedom, common.most))
    freedom = common.freedom + own.freedom
    value = (common.freedom * common.variance + own.freedom * own.value) / freedom
    return Variance(value, max(own.freedom, min(freedom, common.most)))


def of(own: Variance, common: Prior | None) -> Variance:
    """A stack's variance as the run knows it: its own, or moderated by a prior. One beyond it is not made smaller."""
    if common is None:
        return own
    found = _moderated(own, common)
    if own.freedom and own.value > common.variance * _likely(own.freedom, common.freedom):
        return Variance(own.value, found.freedom)
    return found


@cache
def _likely(freedom: float, others: float) -> float:
    """What LIKELY of all ratios of a variance to its prior are below, by the F distribution."""
    from scipy.special import chdtri, fdtri

    if math.isinf(others):
        return float(chdtri(freedom, 1 - LIKELY)) / freedom
    return float(fdtri(freedom, others, LIKELY))


def _inverse_trigamma(value: float) -> float:
    """The x whose trigamma is `value` (above 0), by Newton's method. Source: Smyth 2004, appendix."""
    from scipy.special import polygamma

    if value > 1e7:
        return 1 / math.sqrt(value)
    if value < 1e-6:
        return 1 / value
    at = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(polygamma(1, at))
        step = trigamma * (1 - trigamma / value) / float(polygamma(2, at))
        at += step
        if -step / at < 1e-8:
            break
    return at
