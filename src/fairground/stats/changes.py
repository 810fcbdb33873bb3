"""The changes between two runs that measured the same cells: each cell's change beside those of all the others. Pure.

A later day moves all numbers of a machine a little, and none by a known amount. So what two runs have in common is taken out.
What is left is held against how much it scatters over the cells, and against the cell's own intervals: some are noisier than
others. A cell has changed when it stands out of both.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from fairground.stats.differences import PRACTICAL, holm
from fairground.stats.intervals import Interval, student

LEAST_SHARED = 6
"""Cells that two runs must share: below, their scatter is not known."""
LEAST_SPREAD = 0.005
"""A scatter below half a percent is chance, not knowledge."""
EFFICIENCY = 0.37
"""Of the median absolute deviation where values are normal: of so much use is each value beyond the first."""

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class CellChange:
    """One cell: `ratio` is after over before, without what all cells did; its 95 % interval; p among all cells (Holm)."""

    ratio: float
    low: float
    high: float
    p_holm: float

    @property
    def called(self) -> bool:
        """True if it stands out, and is of a size that matters."""
        return self.p_holm < 0.05 and abs(math.log(self.ratio)) > math.log1p(PRACTICAL)


def changes_of(before: Mapping[Key, Interval], after: Mapping[Key, Interval]) -> dict[Key, CellChange]:
    """The changes of cells between two runs, by their rates (above zero); none where few cells are shared (LEAST_SHARED).

    The middle is the median of the log ratios and the spread 1.4826 times their median absolute deviation, so that cells that did
    change move neither. t has 0.37 · (n − 1) degrees of freedom, one at least. To its half-width comes that of the cell's own two
    intervals, as the root of the sum of squares. A cell whose own noise is not known (an interval of one value) has no change.
    Sources: Rousseeuw & Croux, "Alternatives to the median absolute deviation", JASA 1993 (efficiency); Zou & Donner,
    "Construction of confidence limits about effect measures", Statistics in Medicine 2008 (differences of intervals); Holm 1979.
    """
    shared = [key for key in before if key in after]
    if len(shared) < LEAST_SHARED:
        return {}
    from scipy.special import stdtr

    logs = {key: math.log(after[key].middle / before[key].middle) for key in shared}
    middle = statistics.median(logs.values())
    spread = max(LEAST_SPREAD, 1.4826 * statistics.median(abs(one - middle) for one in logs.values()))
    freedom = max(1.0, EFFICIENCY * (len(shared) - 1))
    quantile = student(freedom, 0.975)
    apart = {key: logs[key] - middle for key in shared if min(before[key].count, after[key].count) > 1}
    halves = {key: math.hypot(quantile * spread, _own(before[key], after[key], one > 0)) for key, one in apart.items()}
    p_values = holm([2 * float(stdtr(freedom, -abs(one) / halves[key] * quantile)) for key, one in apart.items()])
    return {
        key: CellChange(math.exp(one), math.exp(one - halves[key]), math.exp(one + halves[key]), p)
        for (key, one), p in zip(apart.items(), p_values, strict=True)
    }


def _own(before: Interval, after: Interval, rises: bool) -> float:
    """The half-width (log) of the difference of the cell's own two intervals, by their sides that face each other."""
    if rises:
        return math.hypot(math.log(before.high / before.middle), math.log(after.middle / after.low))
    return math.hypot(math.log(before.middle / before.low), math.log(after.high / after.middle))
