"""Make few repetitions of many stacks surer by what their spreads have in common. Pure.

Two blocks of one stack say next to nothing of its own spread. But a run measures dozens of cells, and their spreads are much
alike. Each one's variance is drawn towards what others have in common, as far as the variances themselves agree: the moderated t
of Smyth, "Linear models and empirical Bayes methods for assessing differential expression", Statistical Applications in Genetics
and Molecular Biology 2004.

What a variance is drawn towards depends on its workload and on its stack, as Smyth's prior does on covariates in later work
(Sartor et al., BMC Bioinformatics 2006). Deadlocks make rates of a workload ten times as noisy as those of the rest, and a stack
that compiles itself while it runs is so on every workload. So a prior is the product of what a field's stacks share and of what
a stack's fields share. Both are themselves drawn towards what all have in common.

A variance beyond what its prior foretells in nine of ten cases is not made smaller: a stack of two modes has its own. How much
the variances agree is itself uncertain, and is taken a standard error lower. `tests/stats/test_fit.py` has simulations.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, numpy.dtype[Any]]

LEAST_ROWS = 6
"""Fewer variances say nothing of what variances have in common."""
LEAST_FIELDS = 3
"""Fewer fields say nothing of how fields differ: their stacks are taken together."""
LEAST_STACKS = 3
"""Fewer stacks say nothing of how stacks differ: only fields do."""
PASSES = 5
"""This many turns find levels and shares to a per cent."""
WORTH, WORTHS = (0.5, 200.0), 60
"""The degrees of freedom that a prior may be worth, besides infinitely many: from, to, and so many of them."""
AGREEING = 0.5
"""Logarithms of likelihoods that are nearer to the largest one agree with the variances: a standard error away."""
LEAST_SHARE = 1e-9
"""A variance of nothing counts as such a share of a typical one."""
NEWTON_STEPS, CLOSE = 25, 1e-6
"""Steps of at most a factor of e, to the most likely variance; the last of them is smaller than so much of it."""
LIKELY = 0.9
"""A variance beyond what its prior foretells in so many cases is not made smaller: calm stacks must not calm a noisy one."""


@dataclass(frozen=True)
class Variance:
    """A variance of logarithms that was found with so many degrees of freedom; with none it is not known."""

    value: float
    freedom: float


Cells = Mapping[tuple[int, Hashable], Variance]
"""Variances by the place of their field and the name of their stack."""
CERTAIN = Variance(1.0, math.inf)
"""The share of a stack of which nothing else is known."""


@dataclass(frozen=True)
class Spreads:
    """The variances of one field's residuals: the one that its stacks share, and that of each stack."""

    shared: Variance
    stacks: Mapping[Hashable, Variance]

    @property
    def independent(self) -> Mapping[Hashable, Variance]:
        """The known variances of the stacks. Of two stacks the residuals are each other's: they have one, of both names."""
        known = {name: one for name, one in self.stacks.items() if one.freedom}
        return {frozenset(known): self.shared} if len(known) == 2 else known


@dataclass(frozen=True)
class Prior:
    """The variance that others have in common, worth `freedom` degrees of freedom (infinite: they all agree).

    `most`: with so many degrees of freedom it is known itself; none of the variances that borrow from it is surer than that.
    """

    variance: float
    freedom: float
    most: float


@dataclass(frozen=True)
class Effects:
    """The variance that those of each key have in common, and how many of their degrees of freedom that took."""

    of: Mapping[Hashable, Variance]
    taken: float


def priors(fields: Sequence[Spreads]) -> tuple[Mapping[Hashable, Prior], ...]:
    """The prior of each field's stacks, in the fields' order; empty where too little is known.

    Fewer than LEAST_FIELDS fields share one prior. Of more, a prior is that of its field, times that of its stack where there are
    LEAST_STACKS. No variance is surer than those of its field and its stack together.
    """
    known = {(place, name): one for place, field in enumerate(fields) for name, one in field.independent.items()}
    together = prior(list(known.values()))
    if together is None:
        return tuple({} for _ in fields)
    varying = {place for place, field in enumerate(fields) if field.shared.freedom and field.shared.value}
    if len(varying) < LEAST_FIELDS:
        return tuple(dict.fromkeys(field.stacks, together) for field in fields)
    levels, shares, agreement = _product({key: one for key, one in known.items() if key[0] in varying}, together.most)
    return tuple(
        {name: _joined(levels[place], shares.get(name, CERTAIN), agreement) for name in field.stacks}
        if place in varying
        else dict.fromkeys(field.stacks, together)
        for place, field in enumerate(fields)
    )


def prior(known: Sequence[Variance]) -> Prior | None:
    """The prior of variances, all taken alike; None for fewer than LEAST_ROWS, and where most do not vary at all."""
    typical = sorted(one.value for one in known)[len(known) // 2] if known else 0.0
    if len(known) < LEAST_ROWS or not typical:
        return None
    return _in_common(known, math.fsum(one.freedom for one in known))


def _product(known: Cells, most: float) -> tuple[Mapping[Hashable, Variance], Mapping[Hashable, Variance], float]:
    """Split variances into products of their field's level and their stack's share of it; tell how much they agree with those.

    Levels and shares are found by turns, each from the variances over the others (proportional fitting). A variance that is of
    two stacks at once says nothing of a single one's share.
    """
    shares = Effects({}, 0.0)
    of_one = {key: one for key, one in known.items() if not isinstance(key[1], frozenset)}
    for _ in range(PASSES):
        levels = _effects(known, 0, shares.of, most)
        if len({name for _, name in of_one}) >= LEAST_STACKS:
            shares = _effects(of_one, 1, levels.of, most)
    ratios = [_over(one, levels.of[place], shares.of.get(name, CERTAIN)) for (place, name), one in known.items()]
    return levels.of, shares.of, _in_common(ratios, most, levels.taken + shares.taken).freedom


def _effects(known: Cells, part: int, others: Mapping[Hashable, Variance], most: float) -> Effects:
    """The effects of one `part` of the key: what its variances share, over what `others` say of the rest; moderated by all."""
    found: dict[Hashable, list[Variance]] = {}
    for key, one in known.items():
        found.setdefault(key[part], []).append(_over(one, others.get(key[1 - part], CERTAIN)))
    pooled = {key: Variance(_mean(some), math.fsum(one.freedom for one in some)) for key, some in found.items()}
    common = _in_common(list(pooled.values()), most)
    taken = math.fsum(one.freedom / (one.freedom + common.freedom) for one in pooled.values())
    return Effects({key: _moderated(one, common) for key, one in pooled.items()}, taken)


def product(cells: Mapping[tuple[str, str | None], Variance]) -> tuple[dict[str, float], dict[str, float]]:
    """Split variances by workload and stack into the level of each workload, and each stack's share of it.

    A stack of None is that of two stacks at once: it says nothing of a single one's share.
    """
    keyed: dict[tuple[Any, Hashable], Variance] = {
        (workload, frozenset({workload}) if stack is None else stack): one for (workload, stack), one in cells.items()
    }
    of_one = {key: one for key, one in keyed.items() if not isinstance(key[1], frozenset)}
    most, shares = math.fsum(one.freedom for one in cells.values()), Effects({}, 0.0)
    for _ in range(PASSES):
        levels = _effects(keyed, 0, shares.of, most)
        shares = _effects(of_one, 1, levels.of, most) if of_one else shares
    return tuple({str(name): one.value for name, one in some.of.items()} for some in (levels, shares))  # type: ignore[return-value]


def agreement(ratios: Sequence[Variance]) -> float:
    """The degrees of freedom that a prior is worth which variances are so many times as large as."""
    return _in_common(ratios, math.inf).freedom


def pool(known: Sequence[Variance]) -> Variance:
    """Join variances into the one that they have together; that of none is unknown."""
    freedom = math.fsum(one.freedom for one in known)
    return Variance(_mean(known), freedom) if freedom else Variance(0.0, 0.0)


def _over(one: Variance, *others: Variance) -> Variance:
    """A variance as a share of others."""
    return Variance(one.value / math.prod(other.value for other in others), one.freedom)


def _mean(known: Sequence[Variance]) -> float:
    return math.fsum(one.value * one.freedom for one in known) / math.fsum(one.freedom for one in known)


def _joined(level: Variance, share: Variance, agreement: float) -> Prior:
    return Prior(level.value * share.value, agreement, 1 / (1 / level.freedom + 1 / share.freedom))


def _in_common(known: Sequence[Variance], most: float, taken: float = 0.0) -> Prior:
    """The prior of variances with their degrees of freedom; so many parameters were `taken` from them before, besides their mean.

    By Smyth's model a variance over the prior's is F distributed with its own and the prior's degrees of freedom. Of all that the
    prior may be worth, the least is taken whose likelihood is within AGREEING of the largest one. A few noisy variances say by it
    that there are some; logarithms, whose moments Smyth uses, are moved most by those that happen to be all but nothing.
    """
    import numpy
    from scipy.special import gammaln

    typical = sorted(one.value for one in known)[len(known) // 2] or max(one.value for one in known)
    values = numpy.array([max(one.value, LEAST_SHARE * typical) for one in known])
    own = numpy.array([one.freedom for one in known])
    worth = _worths()
    scale = _scales(values, own, worth)
    ratio = own * values / (worth * scale)
    likely = gammaln((own + worth) / 2) - gammaln(worth / 2) + own / 2 * numpy.log(ratio) - (own + worth) / 2 * numpy.log1p(ratio)
    pooled = _mean(known)
    alike = own / 2 * numpy.log(own * values / (2 * pooled)) - own * values / (2 * pooled)
    left = max(1.0, len(known) - 1 - taken) / max(1, len(known) - 1)
    likelihoods = left * numpy.append(likely.sum(axis=1), alike.sum())
    place = int(numpy.argmax(likelihoods >= likelihoods.max() - AGREEING))
    if place == WORTHS:
        return Prior(pooled, math.inf, most)
    return Prior(float(scale[place, 0]), float(worth[place, 0]), most)


@cache
def _worths() -> Array:
    """The degrees of freedom that a prior may be worth, in a column."""
    import numpy

    return numpy.geomspace(*WORTH, WORTHS)[:, None]


def _scales(values: Array, own: Array, worth: Array) -> Array:
    """The most likely variance for each worth of a prior: where the likelihood's slope is 0, by Newton's method in logarithms."""
    import numpy

    logs = numpy.full(worth.shape, math.log(float(numpy.median(values))))
    halves, own_halves, shares = (own + worth) / 2, own.sum() / 2, own * values / worth
    for _ in range(NEWTON_STEPS):
        ratio = shares * numpy.exp(-logs)
        beyond = 1 + ratio
        drawn = halves * ratio / beyond
        slope = drawn.sum(axis=1, keepdims=True) - own_halves
        bend = (drawn / beyond).sum(axis=1, keepdims=True)
        step = numpy.clip(slope / bend, -1, 1)
        logs = logs + step
        if numpy.abs(step).max() < CLOSE:
            break
    found: Array = numpy.exp(logs)
    return found


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
    if own.freedom and own.value > common.variance * likely(own.freedom, common.freedom, LIKELY):
        return Variance(own.value, found.freedom)
    return found


@cache
def likely(freedom: float, others: float, share: float) -> float:
    """The bound below which a `share` of all ratios of a variance to its prior lies, by the F distribution."""
    from scipy.special import chdtri, fdtri

    if math.isinf(others):
        return float(chdtri(freedom, 1 - share)) / freedom
    return float(fdtri(freedom, others, share))
