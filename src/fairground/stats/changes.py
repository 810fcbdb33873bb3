"""What changed between two runs that measured the same cells: each cell's change beside those of all the others. Pure.

A later day moves all numbers of a machine a little, and none by a known amount. So what two runs have in common is taken out, and what
is left is held against how much it scatters over the cells. A cell has changed when it stands out of that scatter.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from fairground.stats.differences import holm

LEAST_SHARED = 6
"""Cells that two runs must share: below, their scatter is not known."""
PRACTICAL = 0.03
"""A change that nobody needs to know of, as a share."""
LEAST_SPREAD = 0.005
"""A scatter below half a percent is chance, not knowledge."""
EFFICIENCY = 0.37
"""Of the median absolute deviation where values are normal: of so much use is each value beyond the first."""

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Change:
    """One cell: `ratio` is after over before, without what all cells did; its 95 % interval; p among all cells (Holm)."""

    ratio: float
    low: float
    high: float
    p_holm: float

    @property
    def called(self) -> bool:
        """It stands out, and is of a size that matters."""
        return self.p_holm < 0.05 and abs(math.log(self.ratio)) > math.log1p(PRACTICAL)


@dataclass(frozen=True)
class Shift(Generic[Key]):
    """From one run to the next: `common` is what all cells did (after over before), `spread` the scatter around it (log)."""

    common: float
    spread: float
    changes: Mapping[Key, Change]


def shift(before: Mapping[Key, float], after: Mapping[Key, float]) -> Shift[Key] | None:
    """What happened from `before` to `after`, rates above zero by cell; None where they share fewer than `LEAST_SHARED` cells.

    The middle is the median of the log ratios and the spread 1.4826 times their median absolute deviation, so that cells that did
    change move neither. t has 0.37 · (n − 1) degrees of freedom, one at least.
    Source: Rousseeuw & Croux, "Alternatives to the median absolute deviation", JASA 1993 (efficiency); Holm 1979.
    """
    shared = [key for key in before if key in after]
    if len(shared) < LEAST_SHARED:
        return None
    from scipy.special import stdtr, stdtrit

    logs = {key: math.log(after[key] / before[key]) for key in shared}
    middle = statistics.median(logs.values())
    spread = max(LEAST_SPREAD, 1.4826 * statistics.median(abs(one - middle) for one in logs.values()))
    freedom = max(1.0, EFFICIENCY * (len(shared) - 1))
    half = float(stdtrit(freedom, 0.975)) * spread
    apart = {key: one - middle for key, one in logs.items()}
    p_values = holm([2 * float(stdtr(freedom, -abs(one) / spread)) for one in apart.values()])
    changes = {
        key: Change(math.exp(one), math.exp(one - half), math.exp(one + half), p)
        for (key, one), p in zip(apart.items(), p_values, strict=True)
    }
    return Shift(math.exp(middle), spread, changes)
