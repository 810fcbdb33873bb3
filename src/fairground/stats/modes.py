"""Tell whether values fall into two groups: starts of a server that runs in one of two ways until it ends. Pure.

The starts of a run are judged beside the other stacks of their blocks, whose mean takes out what the machine did to all of them.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy

    Table: TypeAlias = numpy.ndarray[tuple[int, int], numpy.dtype[numpy.float64]]

Groups = tuple[tuple[int, ...], tuple[int, ...]]
"""The blocks of both groups of a stack's starts, the lower values first."""
LEAST_IN_GROUP = 2
"""A single value apart is an outlier and no mode."""
LEAST_VALUES, MOST_VALUES = 6, 200
"""With fewer values there is no saying; for more, the bound would take long to draw."""
CHANCE = 0.01
"""The share of samples of one normal distribution that are split by mistake."""
DRAWS = 20_000
"""This many normal samples give the bound for one size of sample."""
MODES_APART = 0.01
"""Modes that are nearer to each other, as a share, are of no practical interest."""


@dataclass(frozen=True)
class Modes:
    """Two groups of values. `low` and `high` are places in the sequence that was given; their means are in its unit."""

    low: tuple[int, ...]
    high: tuple[int, ...]
    low_mean: float
    high_mean: float


@dataclass(frozen=True)
class StartModes:
    """A stack whose starts are of two groups. `low` and `high` are blocks, their values geometric means (more is better)."""

    stack: str
    low: tuple[int, ...]
    high: tuple[int, ...]
    low_value: float
    high_value: float


def of_starts(levels: Mapping[str, Mapping[int, float]]) -> tuple[StartModes, ...]:
    """Find the stacks of one field whose starts are of two groups.

    `levels`: stack → block → value above zero, more is better. A start is held against the mean of the other stacks in its block.
    Of two stacks the ratio shows groups, and that one has them whose own values differ more. A stack that has them is left out of
    the means of the others. Stacks with fewer than LEAST_VALUES blocks in common with others say nothing; CHANCE is that of all
    stacks of the field together.
    """
    left = {stack: {block: math.log(value) for block, value in values.items()} for stack, values in levels.items()}
    chance, found = CHANCE / max(1, len(left)), list[StartModes]()
    while len(left) > 1:
        seen = [(stack, modes) for stack in left if (modes := _of_stack(stack, left, chance)) is not None]
        if not seen:
            break
        stack, (low, high) = max(seen, key=lambda one: _apart(left[one[0]], *one[1]))
        logs = left.pop(stack)
        low_value, high_value = (math.exp(statistics.fmean([logs[block] for block in group])) for group in (low, high))
        found.append(StartModes(stack, low, high, low_value, high_value))
    return tuple(found)


def _of_stack(stack: str, logs: Mapping[str, Mapping[int, float]], chance: float) -> Groups | None:
    """The blocks of both groups of a stack, the lower values first; None where it has none."""
    beside = [(statistics.fmean(values.values()), values) for name, values in logs.items() if name != stack]
    paces = {block: [values[block] - mean for mean, values in beside if block in values] for block in logs[stack]}
    blocks = [block for block, pace in paces.items() if pace]
    found = two_modes([logs[stack][block] - statistics.fmean(paces[block]) for block in blocks], chance)
    if found is None or found.high_mean - found.low_mean < MODES_APART:
        return None
    return tuple(blocks[place] for place in found.low), tuple(blocks[place] for place in found.high)


def _apart(logs: Mapping[int, float], low: Sequence[int], high: Sequence[int]) -> float:
    return statistics.fmean([logs[block] for block in high]) - statistics.fmean([logs[block] for block in low])


def two_modes(values: Sequence[float], chance: float = CHANCE) -> Modes | None:
    """Split `values` if they are of two groups rather than of one normal distribution.

    They have any unit, and are logarithms where ratios are meant.

    The cut of the sorted values with the least squares inside both groups is taken. It counts where the squares between the
    groups over those inside are more than is found in a share `chance` of normal samples of this size. Source: Engelman &
    Hartigan, "Percentage points of a test for clusters", JASA 1969. Their table is drawn anew, with a fixed seed, for groups of
    two and more. None for fewer than LEAST_VALUES or more than MOST_VALUES values. ValueError when one is not finite.
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
    if not ratios[best] > _bound(len(values), chance):
        return None
    cut = best + LEAST_IN_GROUP
    low, high = sorted(order[:cut]), sorted(order[cut:])
    return Modes(
        tuple(low),
        tuple(high),
        statistics.fmean([values[place] for place in low]),
        statistics.fmean([values[place] for place in high]),
    )


@cache
def _bound(count: int, chance: float) -> float:
    """The separation that a share `chance` of normal samples of this size exceed."""
    import numpy

    drawn = numpy.sort(numpy.random.default_rng(1).standard_normal((DRAWS, count)), axis=1)
    return float(numpy.quantile(_separations(drawn).max(axis=1), 1 - chance))


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
