"""Scales of charts: values to pixels, linear or logarithmic, and the round values that an axis names. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

RATIOS = (1 / 3, 0.5, 2 / 3, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0)
RATIO_NAMES = {1 / 3: "⅓", 0.5: "½", 2 / 3: "⅔"}
_NEAR = 1e-9
"""Two values nearer than this share are one: a power of ten is not exact."""


@dataclass(frozen=True)
class Scale:
    """A map of values from `low` to `high` onto pixels from `start_px` to `end_px`; a logarithmic one needs `low` above 0."""

    low: float
    high: float
    start_px: float
    end_px: float
    log: bool = False

    def px(self, value: float) -> float:
        """The place of a value; one beyond an end stands at that end."""
        low, high, at = (math.log(each) if self.log else each for each in (self.low, self.high, self.clip(value)))
        return self.start_px + (at - low) / (high - low) * (self.end_px - self.start_px)

    def clip(self, value: float) -> float:
        """The value of the scale that is nearest to `value`."""
        return min(self.high, max(self.low, value))

    def is_inside(self, value: float) -> bool:
        """True where a value has a place of its own."""
        return self.low <= value <= self.high


def linear_ticks(high: float, at_most: int) -> tuple[float, ...]:
    """Multiples of 1, 2 or 5 × 10ⁿ from 0 up to `high`, the finest `at_most` of them. ValueError unless `high` is above 0."""
    if not 0 < high < math.inf or at_most < 2:
        raise ValueError(f"no ticks from 0 to {high} with at most {at_most}")
    power = math.floor(math.log10(high / at_most))
    steps = (base * 10.0**exponent for exponent in (power, power + 1, power + 2) for base in (1, 2, 5))
    step = next(step for step in steps if high / step * (1 + _NEAR) < at_most)
    return tuple(float(f"{step * place:.12g}") for place in range(int(high / step * (1 + _NEAR)) + 1))


def log_ticks(low: float, high: float) -> tuple[float, ...]:
    """Powers of ten from `low` to `high`, with twice and five times each where that is two decades or less."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    bases = (1, 2, 5) if high <= 100 * low * (1 + _NEAR) else (1,)
    every = (float(f"{base}e{power}") for power in powers for base in bases)
    return tuple(tick for tick in every if low * (1 - _NEAR) <= tick <= high * (1 + _NEAR))


def whole_decades(values: Iterable[float]) -> tuple[float, float]:
    """The powers of ten around `values`, which are above 0; at least one decade."""
    known = list(values)
    low = math.floor(math.log10(min(known)) + _NEAR)
    high = max(low + 1, math.ceil(math.log10(max(known)) - _NEAR))
    return float(f"1e{low}"), float(f"1e{high}")


def ratio_scale(reach: float, width_px: float, edge_px: float) -> Scale:
    """A logarithmic scale with 1 in its middle. `reach` is how far it goes to both sides, as a logarithm."""
    return Scale(math.exp(-reach), math.exp(reach), edge_px, width_px - edge_px, log=True)


def ratio_ticks(scale: Scale, room_px: float) -> tuple[tuple[float, str], ...]:
    """(place in px, name) of ratios at least `room_px` apart; 1 first, and then what is nearest to it."""
    shown: dict[float, str] = {}
    for ratio in sorted(RATIOS, key=lambda ratio: (abs(math.log(ratio)), ratio)):
        place = scale.px(ratio)
        if scale.is_inside(ratio) and all(abs(place - other) >= room_px for other in shown):
            shown[place] = RATIO_NAMES.get(ratio, f"{ratio:g}")
    return tuple(sorted(shown.items()))


def spread(tops: Sequence[float], gap: float, bottom: float) -> list[float]:
    """Move sorted positions apart to at least `gap`, downwards first, then back up from `bottom`."""
    placed: list[float] = []
    for top in tops:
        placed.append(max(top, placed[-1] + gap) if placed else top)
    for place in range(len(placed) - 1, -1, -1):
        ceiling = bottom if place == len(placed) - 1 else placed[place + 1] - gap
        placed[place] = min(placed[place], ceiling)
    return placed
