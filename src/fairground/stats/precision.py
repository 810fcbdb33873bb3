"""The width at which an interval decides, and how much more is needed for that. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fairground.stats.differences import estimate_of
from fairground.stats.fit import Estimate
from fairground.stats.intervals import student

MOST = 1_000_000
"""This many values are as good as never."""


@dataclass(frozen=True)
class RoundsNeed:
    """The need of an undecided comparison: `more` rounds (or blocks) beyond those that there are, `more_s` seconds in all.

    They would settle `margin`; `settled` is the least margin that is settled already, None with too few rounds for any. Both are
    shares. `more` is None where no number of rounds is in sight.
    """

    margin: float
    settled: float | None
    more: int | None
    more_s: float | None


def deciding_width(margin: float) -> float:
    """The half-width of a log-ratio's interval that leaves no third word for a margin (0.01 is 1 %).

    An interval no wider than the margin lies inside ± margin, or it does not reach 1: half of log(1 + margin) on each side.
    """
    return math.log1p(margin) / 2


def values_needed(spread: float, half: float, confidence: float) -> int | None:
    """The number of values of a standard deviation `spread` that give Student's t interval a half-width of `half` (same unit).

    At least 2; None beyond MOST. The spread is taken to be known; it is not, so the number is rough. ValueError for a width of 0.
    """
    if half <= 0:
        raise ValueError("an interval cannot be without a width")
    low, high = 2, MOST
    if student(high - 1, (1 + confidence) / 2) * spread / math.sqrt(high) > half:
        return None
    while low < high:
        count = (low + high) // 2
        if student(count - 1, (1 + confidence) / 2) * spread / math.sqrt(count) <= half:
            high = count
        else:
            low = count + 1
    return low


def more_to_decide(found: Estimate | None, margin: float, tested: int = 1, floor: float = 0.0) -> int | None:
    """The number of blocks that an undecided comparison lacks, if its ratio and its spread stay what they are. At least 1.

    Beyond the margin the interval must let go of 1, held to the number of comparisons that are `tested` together; inside, it must
    fit into the margin. What the noise `floor` hides can do nothing else: it narrows with more blocks, too, nobody knows by how
    much. None where nothing is estimated, and where no number is in sight.
    """
    if found is None:
        return None
    middle, bound = abs(found.middle), math.log1p(margin)
    half, confidence = (middle, 1 - 0.05 / tested) if middle > bound else (deciding_width(margin), 0.95)
    if is_hidden(found, floor):
        half = min(half, bound - middle)
    needed = values_needed(found.spread, half, confidence) if half > 0 else None
    return None if needed is None else max(1, needed - found.blocks)


def is_hidden(found: Estimate, floor: float) -> bool:
    """True if the noise between identical stacks, as it is known, hides this ratio, however narrow its interval is."""
    return abs(found.middle) <= math.log1p(floor)


def need(ratios: Sequence[float], margin: float, least: int, each_s: float | None, tested: int) -> RoundsNeed | None:
    """Tell what these ratios lack until they settle a margin, one more for each `each_s` seconds; None for fewer than two.

    `least` rounds are needed in any case, and one is always missing: who asks was not decided. `tested`: the comparisons that are
    called together. Their number counts where the interval will let go of 1, and not where it will fit into the margin.
    """
    found = estimate_of(ratios)
    if found is None:
        return None
    count, confidence = found.blocks, 1 - 0.05 / tested if abs(found.middle) > deciding_width(margin) else 0.95
    interval = found.interval(1 - 0.05 / tested)  # settled is what any of both words could be said of
    needed = values_needed(found.spread, deciding_width(margin), confidence)
    more = None if needed is None else max(1, least - count, needed - count)
    seconds = None if more is None or each_s is None else more * each_s
    return RoundsNeed(margin, None if count < least else math.expm1(interval.high - interval.low), more, seconds)
