"""A control variate for rounds of pairs: what the generator's own CPU per answer says of the machine's pace. Pure.

The generator does the same work for each answer of a workload. So its cost tells how fast the machine was in those turns, and
what of a ratio goes with it can be taken out (CUPED: Deng, Xu, Kohavi & Walker, WSDM 2013). That is right where the mean of the
control is known. Here it is known in one case only: the generator's work per answer is the same for both arms, so that the ratio
of its costs is 1 but for the pace. Arms that batch their answers in another way break this, and then the result is wrong by the
slope times the difference. So the result stands beside the plain ratio, and no word and no stop rests on it.

Deviations of each arm's generator from that arm's own mean over the run need no such condition, and are of no use. They sum to
nought, so the mean ratio stays what it was and is no surer; only its interval would shrink. A nominal 95 % interval then held the
truth in 74 of 100 simulated comparisons.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fairground.stats.intervals import Interval, student, t_interval

LEAST_PAIRS, LEAST_ROUNDS = 10, 5
"""With fewer the slope is too uncertain to be used."""
ENOUGH = 0.75
"""It is used where it leaves at most this part of the variance between rounds, in rounds that the slope was not fitted to."""

Point = tuple[float, float]
"""Of one pair of windows: the log-ratio of what is compared, and that of the generator's CPU per answer, B over A."""


@dataclass(frozen=True)
class Paced:
    """A ratio without the machine's pace. `generator`: its own cost per answer, B over A; but for the pace it is taken to be 1.

    `kept`: the part of the variance between rounds that is left, in rounds that the slope was not fitted to.
    """

    ratio: Interval
    slope: float
    generator: Interval
    kept: float


def paced(rounds: Sequence[Sequence[Point]], confidence: float = 0.95) -> Paced | None:
    """The mean ratio less slope × the generator's, over rounds of pairs; None where that is of no use or not allowed.

    One slope for both arms, by least squares over all pairs: the log-ratio of a pair has lost what slowed both arms alike, which
    two slopes would follow. A degree of freedom is given up for it. None for fewer than LEAST_PAIRS pairs or LEAST_ROUNDS rounds,
    where the interval of the generator's own ratio excludes 1, and where the variance stays above ENOUGH. No p value has a say.
    """
    filled = [some for some in rounds if some]
    pairs = [pair for some in filled for pair in some]
    if len(filled) < LEAST_ROUNDS or len(pairs) < LEAST_PAIRS:
        return None
    means = [_mean_point(some) for some in filled]
    generator = t_interval([control for _, control in means], confidence)
    kept, slope = _kept(filled, means), _slope(pairs)
    if generator is None or not generator.low <= 0 <= generator.high or kept is None or slope is None or kept > ENOUGH:
        return None
    return Paced(_interval(means, slope, confidence).exp(), slope, generator.exp(), kept)


def _interval(means: Sequence[Point], slope: float, confidence: float) -> Interval:
    """Student's t interval of the means less slope × control, with a degree of freedom fewer for the slope."""
    count, left = len(means), [value - slope * control for value, control in means]
    mean = math.fsum(left) / count
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in left) / (count - 2))
    half = student(count - 2, (1 + confidence) / 2) * spread / math.sqrt(count)
    return Interval(mean, mean - half, mean + half, count, confidence)


def _kept(rounds: Sequence[Sequence[Point]], means: Sequence[Point]) -> float | None:
    """The part of the variance of the rounds' means that is left when each is adjusted by the slope of all other rounds."""
    left = []
    for place, (value, control) in enumerate(means):
        slope = _slope([pair for other, some in enumerate(rounds) if other != place for pair in some])
        if slope is None:
            return None
        left.append(value - slope * control)
    before = _squares([value for value, _ in means])
    return _squares(left) / before if before else None


def _slope(pairs: Sequence[Point]) -> float | None:
    """Least squares of value on control; None where the control does not vary."""
    value_mean, control_mean = _mean_point(pairs)
    spread = math.fsum((control - control_mean) ** 2 for _, control in pairs)
    if not spread:
        return None
    return math.fsum((value - value_mean) * (control - control_mean) for value, control in pairs) / spread


def _mean_point(pairs: Sequence[Point]) -> Point:
    return math.fsum(value for value, _ in pairs) / len(pairs), math.fsum(control for _, control in pairs) / len(pairs)


def _squares(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)
