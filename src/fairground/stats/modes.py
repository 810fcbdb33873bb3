"""Whether values fall into two groups: starts of a server that runs in one of two ways until it ends. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy

    Table: TypeAlias = numpy.ndarray[tuple[int, int], numpy.dtype[numpy.float64]]

LEAST_IN_GROUP = 2
"""A single value apart is an outlier and no mode."""
LEAST_VALUES, MOST_VALUES = 6, 200
"""With fewer values there is no saying; for more, the bound would take long to draw."""
CHANCE = 0.01
"""The share of samples of one normal distribution that are split by mistake."""
DRAWS = 20_000
"""So many normal samples give the bound for one size of sample."""


@dataclass(frozen=True)
class Modes:
    """Two groups of values. `low` and `high` are places in the sequence that was given; their means are in its unit."""

    low: tuple[int, ...]
    high: tuple[int, ...]
    low_mean: float
    high_mean: float


def two_modes(values: Sequence[float]) -> Modes | None:
    """Whether `values` (any unit; logarithms, where ratios are meant) are of two groups rather than one normal distribution.

    The cut of the sorted values with the least squares inside both groups is taken. It counts where the squares between the
    groups over those inside are more than chance gives in CHANCE of normal samples of this size. Source: Engelman & Hartigan,
    "Percentage points of a test for clusters", JASA 1969. Their table is drawn anew, with a fixed seed, for groups of two and
    more. None for fewer than LEAST_VALUES or more than MOST_VALUES values. ValueError when one is not finite.
    """
    if not all(math.isfinite(value) for value in values):
        raise ValueError("modes need finite values")
    if not LEAST_VALUES <= len(values) <= MOST_VALUES:
        return None
    import numpy

    order = sorted(range(len(values)), key=lambda place: values[place])
    sample = numpy.asarray([[values[place] for place in order]])
    ratios = _separations(sample)[0]
    best = int(numpy.argmax(ratios))
    if not ratios[best] > _bound(len(values)):
        return None
    cut = best + LEAST_IN_GROUP
    low, high = sorted(order[:cut]), sorted(order[cut:])
    return Modes(tuple(low), tuple(high), _mean([values[place] for place in low]), _mean([values[place] for place in high]))


@cache
def _bound(count: int) -> float:
    """The separation that CHANCE of normal samples of this size exceed."""
    import numpy

    drawn = numpy.sort(numpy.random.default_rng(1).standard_normal((DRAWS, count)), axis=1)
    return float(numpy.quantile(_separations(drawn).max(axis=1), 1 - CHANCE))


def _separations(ordered: Table) -> Table:
    """Squares between both groups over those inside, for each allowed cut (columns) of each sorted sample (rows)."""
    import numpy

    count = ordered.shape[1]
    centred = ordered - ordered.mean(axis=1, keepdims=True)
    sizes = numpy.arange(LEAST_IN_GROUP, count - LEAST_IN_GROUP + 1)
    sums = numpy.cumsum(centred, axis=1)[:, sizes - 1]
    between = sums**2 * (1 / sizes + 1 / (count - sizes))
    inside = (centred**2).sum(axis=1, keepdims=True) - between
    tiny = numpy.finfo(float).eps * (centred**2).sum(axis=1, keepdims=True)
    with numpy.errstate(invalid="ignore", divide="ignore"):
        return numpy.asarray(numpy.nan_to_num(between / numpy.maximum(inside, tiny), nan=0.0))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
