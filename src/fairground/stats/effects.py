"""Judge a reason by its experiment: goodput of each changed arm over that of the arm as it was. Pure.

The unit of evidence is the start, as everywhere. The interval of a change is Student's t over the starts' log-ratios.
With several changes each is held to their number (Bonferroni), since one of them is enough to confirm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from fairground.model.experiment import AS_IT_WAS, ArmChange, Direction, Start, WhyAsked
from fairground.model.window import WindowTally
from fairground.stats import intervals
from fairground.stats.intervals import Interval

LEAST = 0.05
"""The least change of goodput, as a share, that makes a reason worth naming."""
LEAST_STARTS = 3
"""With fewer starts nothing is said: an interval of two is too wide to be of use."""


class Outcome(StrEnum):
    """The outcome of the experiment for the reason."""

    CONFIRMED = "confirmed"
    WITHDRAWN = "withdrawn"
    OPEN = "open"


@dataclass(frozen=True)
class ArmEffect:
    """One change: its goodput over that of the arm as it was. `ratio` is None for fewer than two sound starts."""

    change: ArmChange
    ratio: Interval | None
    starts: int


def effects(asked: WhyAsked, starts: Sequence[Start]) -> tuple[ArmEffect, ...]:
    """The effect of each change, in their order, over the starts that are sound."""
    changes = asked.experiment.changes
    sound = [start for start in starts if start.void is None]
    return tuple(_effect(change, sound, 1 - 0.05 / len(changes)) for change in changes)


def outcome(asked: WhyAsked, starts: Sequence[Start]) -> Outcome:
    """Judge the reason of an experiment.

    It is confirmed where one change surely moves goodput its way by `LEAST`; withdrawn where none does, and that refutes it.
    """
    found = effects(asked, starts)
    if any(one.ratio is None or one.starts < LEAST_STARTS for one in found):
        return Outcome.OPEN
    direction = asked.experiment.direction
    if any(least >= math.log1p(LEAST) for least, _ in _sides(found, direction)):
        return Outcome.CONFIRMED
    return Outcome.WITHDRAWN if is_without_effect(found, direction) and asked.experiment.refutes else Outcome.OPEN


def is_without_effect(found: Sequence[ArmEffect], direction: Direction) -> bool:
    """True if every change surely moves goodput its way by less than `LEAST`."""
    return all(most < math.log1p(LEAST) for _, most in _sides(found, direction))


def _sides(found: Sequence[ArmEffect], direction: Direction) -> list[tuple[float, float]]:
    return [_beyond(one.ratio, direction) for one in found if one.ratio is not None]


def _effect(change: ArmChange, sound: Sequence[Start], confidence: float) -> ArmEffect:
    pairs = [(rate(start.windows.get(change.label, ())), rate(start.windows.get(AS_IT_WAS, ()))) for start in sound]
    both = [(changed, plain) for changed, plain in pairs if changed and plain]
    ratio = intervals.ratio_interval([one for one, _ in both], [other for _, other in both], confidence)
    return ArmEffect(change, ratio, len(both))


def rate(windows: Sequence[WindowTally]) -> float | None:
    """Good answers a second over all windows of a start; None where there is none."""
    rates = [window.rate_per_s for window in windows if window.rate_per_s]
    return intervals.geometric_mean(rates) if rates else None


def _beyond(ratio: Interval, direction: Direction) -> tuple[float, float]:
    """Bounds of the change in the predicted direction, as logarithms: at least, and at most."""
    low, high = math.log(ratio.low), math.log(ratio.high)
    return (low, high) if direction is Direction.MORE else (-high, -low)
