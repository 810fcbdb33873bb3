"""The time that is left, by what is done. Pure.

It is told only where its doubt is within 30 %: a wrong time misleads, and none does not.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

CLOSE = 0.30
"""A forecast that may well be further off than this share of itself is none."""
DEVIATIONS = 2.0
TELLING = 3
"""This many tell how far off expectations are."""


def left_s(took_s: Sequence[float], rest: int) -> float | None:
    """Seconds that `rest` more will take. None where fewer than two are done, or where they differ so much that nobody can tell.

    Off by two standard deviations it is at most `CLOSE` wrong: those of the rest themselves, and of the mean that it rests on.
    """
    if rest == 0:
        return 0.0
    if len(took_s) < 2:
        return None
    mean, spread = statistics.fmean(took_s), statistics.stdev(took_s)
    doubt_s = DEVIATIONS * spread * math.sqrt(rest + rest**2 / len(took_s))
    return mean * rest if doubt_s <= CLOSE * mean * rest else None


def scaled_s(took_s: Sequence[float], expected_s: Sequence[float], rest_s: float) -> float | None:
    """Seconds of a rest: the expected `rest_s`, scaled by what was done against what was expected of it, one by one.

    This is for a rest of other kinds of work, each expected to take a time of its own. None where fewer than `TELLING` are done,
    or where the mean of their ratios may be off by more than `CLOSE` of itself.
    """
    ratios = [took / expected for took, expected in zip(took_s, expected_s, strict=True) if expected > 0]
    if len(ratios) < TELLING:
        return None
    doubt = DEVIATIONS * statistics.stdev(ratios) / math.sqrt(len(ratios))
    mean = statistics.fmean(ratios)
    return mean * rest_s if doubt <= CLOSE * mean else None
