"""Numbers in, numbers out: intervals, ratios, percentile curves, steadiness, rounding. Imports nothing of the lab.

Every function is pure. scipy and numpy are imported where they are used: they are slow to load and most commands need neither.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

FEW_TAIL_SAMPLES, LEAST_TAIL_SAMPLES = 100, 10
"""The rule for percentiles wherever one is shown: with fewer samples beyond it than the first it is marked, and no curve goes on;
with fewer than the second it is not shown."""


@dataclass(frozen=True)
class Interval:
    """A middle value with its two-sided confidence interval, over `count` independent values."""

    middle: float
    low: float
    high: float
    count: int
    confidence: float

    def exp(self) -> Interval:
        """The interval of values whose logarithms this one is of: of a geometric mean, or of a ratio.

        Speeds vary by factors, not by sums, so their logarithms are nearer to normal.
        """
        return Interval(math.exp(self.middle), math.exp(self.low), math.exp(self.high), self.count, self.confidence)

    def inverse(self) -> Interval:
        """The interval of the ratio the other way round."""
        return Interval(1 / self.middle, 1 / self.high, 1 / self.low, self.count, self.confidence)


@cache
def student(freedom: float, share: float) -> float:
    """The quantile of Student's t below which `share` of it lies, with so many degrees of freedom. A page asks for few, often."""
    from scipy.special import stdtrit  # a hundredth of the import time of scipy.stats

    return float(stdtrit(freedom, share))


def t_interval(values: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """Student's t interval of the mean of `values` (any unit): mean ± t · s/√n with n − 1 degrees of freedom.

    None for fewer than two values: one value has no spread. ValueError when a value is not finite or confidence is not in (0, 1).
    Source: Student, "The probable error of a mean", Biometrika 1908; trials as the unit as in Georges et al., OOPSLA 2007.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not `{confidence}`")
    if not all(math.isfinite(value) for value in values):
        raise ValueError("an interval needs finite values")
    if len(values) < 2:
        return None
    mean, error = mean_and_error_of(values)
    half = student(len(values) - 1, (1 + confidence) / 2) * error
    return Interval(mean, mean - half, mean + half, len(values), confidence)


def mean_and_error_of(values: Sequence[float]) -> tuple[float, float]:
    """The mean of at least two values (any unit), and its standard error s/√n."""
    count = len(values)
    mean = math.fsum(values) / count
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1)) / math.sqrt(count)


def ratio_interval(numerators: Sequence[float], denominators: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """Interval of the ratio numerator / denominator (no unit) over pairs: the i-th values of both were measured in one block.

    t interval of the mean log-ratio, so what a block did to both cancels, and swapping the arms inverts the result exactly.
    None for fewer than two pairs; ValueError for unequal lengths or values not above zero.
    Source: paired design as in Kalibera & Jones, "Rigorous benchmarking in reasonable time", ISMM 2013.
    """
    if len(numerators) != len(denominators):
        raise ValueError(f"pairs need equal lengths, not {len(numerators)} and {len(denominators)}")
    logs_above, logs_below = logarithms_of(numerators), logarithms_of(denominators)
    logs = t_interval([above - below for above, below in zip(logs_above, logs_below, strict=True)], confidence)
    return None if logs is None else logs.exp()


def share_interval(share: float, count: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's interval of a share that `count` samples show, from 0 to 1; `z` normal deviations wide (1.96: 95 %, two-sided).

    It stays inside 0 and 1 and needs no large sample. Source: Wilson, "Probable inference", JASA 1927.
    """
    spread = z * z / count
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(share * (1 - share) / count + spread / count / 4)
    return max(0.0, middle - half), min(1.0, middle + half)


def geometric_mean(values: Sequence[float]) -> float:
    """exp of the mean logarithm, in the unit of `values`. ValueError when there is none or one is not above zero."""
    logs = logarithms_of(values)
    if not logs:
        raise ValueError("the mean of no values does not exist")
    return math.exp(math.fsum(logs) / len(logs))


def percentile_curve(
    values: Sequence[float], counts: Sequence[int], beyond: int = 0, steps_per_decade: int = 8
) -> tuple[tuple[float, float], ...]:
    """Points (x, value) of a histogram's percentiles, x = 1 / (1 − p): 2 is the median, 100 is p99, 1000 is p99.9.

    `values` (any unit) occur `counts` times each, in any order, repeats allowed: histograms are added by joining their lists.
    `beyond` more samples lie above every value (requests without a good answer): they shift the percentiles and end the curve.
    The percentile at x is the smallest value with at least ⌈(1 − 1/x) · n⌉ samples at or below it (nearest rank). The curve
    has `steps_per_decade` points per factor of ten and stops before fewer than FEW_TAIL_SAMPLES lie at or beyond the percentile.
    Empty when there are fewer than so many samples. ValueError for unequal lengths or a negative count.
    """
    if len(values) != len(counts):
        raise ValueError(f"values and counts need equal lengths, not {len(values)} and {len(counts)}")
    if beyond < 0 or any(count < 0 for count in counts):
        raise ValueError("a count cannot be negative")
    import numpy

    order = numpy.argsort(numpy.asarray(values, dtype=float), kind="stable")
    ordered = numpy.asarray(values, dtype=float)[order]
    heaped = numpy.cumsum(numpy.asarray(counts, dtype=numpy.int64)[order])
    answered = int(heaped[-1]) if len(heaped) else 0
    total = answered + beyond
    points: list[tuple[float, float]] = []
    for step in range(steps_per_decade * 9):
        x = 10 ** (step / steps_per_decade)
        rank = max(1, math.ceil((1 - 1 / x) * total - 1e-9))
        if total / x < FEW_TAIL_SAMPLES or rank > answered:
            break
        points.append((x, float(ordered[int(numpy.searchsorted(heaped, rank))])))
    return tuple(points)


def percentile(values: Sequence[float], counts: Sequence[int], share: float) -> float | None:
    """The percentile of a histogram, by nearest rank.

    It is the smallest of `values` (any unit, any order) with at least ⌈share · n⌉ of the `counts` at or below it. None for
    an empty histogram. ValueError for unequal lengths or a share outside (0, 1].
    """
    if len(values) != len(counts):
        raise ValueError(f"values and counts need equal lengths, not {len(values)} and {len(counts)}")
    if not 0 < share <= 1:
        raise ValueError(f"a share lies above 0 and at most at 1, not at `{share}`")
    import numpy

    order = numpy.argsort(numpy.asarray(values, dtype=float), kind="stable")
    heaped = numpy.cumsum(numpy.asarray(counts, dtype=numpy.int64)[order])
    if not len(heaped) or not heaped[-1]:
        return None
    rank = max(1, math.ceil(share * int(heaped[-1]) - 1e-9))
    return float(values[int(order[int(numpy.searchsorted(heaped, rank))])])


def steady(per_second: Sequence[float], last: int, tolerance: float, drift: float) -> bool:
    """Tell whether a warm-up has settled, from its goodput per second, oldest first.

    True when the `last` values all lie within `tolerance` of their mean and do not march one way by more than `drift` of it
    (each above, or each below, the one before). False for fewer values, and for a mean of zero: nothing has started yet.
    It is a rule of thumb for short warm-ups after Georges et al., "Statistically rigorous Java performance evaluation",
    OOPSLA 2007 (spread of the last k iterations under a threshold); the drift rule is ours, since a ramp can pass a spread test.
    A settled warm-up is no promise: Barrett et al., OOPSLA 2017, found later changes in most programs.
    """
    if last < 2:
        raise ValueError(f"steadiness needs at least two values, not `{last}`")
    if len(per_second) < last:
        return False
    recent = per_second[-last:]
    mean = math.fsum(recent) / last
    if mean <= 0 or any(abs(value - mean) > tolerance * mean for value in recent):
        return False
    return not (rising(recent, drift) or rising(recent[::-1], drift))


def rising(values: Sequence[float], drift: float) -> bool:
    """True if each value lies above the one before, and the whole rise exceeds `drift` of their mean."""
    steps = itertools.pairwise(values)
    return all(after > before for before, after in steps) and values[-1] - values[0] > drift * math.fsum(values) / len(values)


def slope_interval(values: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """Student's t interval of the slope of `values` (any unit) over their positions, in their unit per position.

    Least squares with n − 2 degrees of freedom; the residuals are taken for independent. None for fewer than four values.
    ValueError when a value is not finite or confidence is not in (0, 1). Source: Draper & Smith, Applied Regression Analysis.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not `{confidence}`")
    if not all(math.isfinite(value) for value in values):
        raise ValueError("an interval needs finite values")
    count = len(values)
    if count < 4:
        return None
    middle, mean = (count - 1) / 2, math.fsum(values) / count
    spread = math.fsum((place - middle) ** 2 for place in range(count))
    slope = math.fsum((place - middle) * (value - mean) for place, value in enumerate(values)) / spread
    rest = math.fsum((value - mean - slope * (place - middle)) ** 2 for place, value in enumerate(values))
    half = student(count - 2, (1 + confidence) / 2) * math.sqrt(rest / (count - 2) / spread)
    return Interval(slope, slope - half, slope + half, count, confidence)


def significant(value: float, digits: int = 3) -> str:
    """Write `value` to `digits` significant digits as text, thousands separated by commas, never in exponent form.

    1912.4 → "1,910", 0.041234 → "0.0412", 9.1 → "9.10", 0 → "0", −5.0 → "−5.00" (a true minus sign).
    ValueError when the value is not finite or `digits` is below 1.
    """
    if not math.isfinite(value):
        raise ValueError(f"`{value}` cannot be written as a number")
    if digits < 1:
        raise ValueError(f"at least one digit is needed, not `{digits}`")
    if value == 0:
        return "0"
    exponent = int(f"{abs(value):.{digits - 1}e}".split("e")[1])
    decimals = digits - 1 - exponent
    text = f"{round(abs(value), decimals):,.{max(0, decimals)}f}"
    return f"−{text}" if value < 0 else text


def brief(value: float, digits: int = 3) -> str:
    """Write `value` as `significant` does, without zeros that only fill: 3 → "3", 12.50 → "12.5", 76350 → "76,400"."""
    text = significant(value, digits)
    return text.rstrip("0").rstrip(".") if "." in text else text


def logarithms_of(values: Sequence[float]) -> list[float]:
    """Take natural logarithms; ValueError for a value that is not finite and above zero."""
    if any(value <= 0 or not math.isfinite(value) for value in values):
        raise ValueError("a ratio needs finite values above zero")
    return [math.log(value) for value in values]
