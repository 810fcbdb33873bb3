"""Compare two arms by rounds of pairs. Pure.

The unit of evidence is the round: both servers are started afresh for it, and what differs from start to start is real.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fairground.model.pair import WindowPair
from fairground.model.window import WindowTally
from fairground.stats import differences
from fairground.stats.differences import Difference
from fairground.stats.modes import MODES_APART, two_modes

JUDGED_ROUNDS = 5
"""With fewer rounds nothing is called: an interval of so few starts is too wide to be of use."""


@dataclass(frozen=True)
class ArmModes:
    """An arm (0: A, 1: B) whose starts are of two groups: its CPU per answer in the rounds `high` is above that in `low`.

    `apart` is by how much, as a share. `quantity` is goodput where no CPU is known. The groups are of the ratios of both arms, so
    the machine's pace makes none.
    """

    arm: int
    quantity: str
    low: tuple[int, ...]
    high: tuple[int, ...]
    apart: float


@dataclass(frozen=True)
class Decision:
    """A decision on B against A. `rate`: goodput, B over A. `cost`: server CPU per answer, A over B (more is better)."""

    rounds: int
    pairs: int
    void_pairs: int
    rate: Difference
    cost: Difference
    rates: tuple[float, ...]
    costs: tuple[float, ...]
    """The mean ratio of each round, in the same directions."""
    failed: tuple[float | None, float | None]
    """The share of each arm's requests that got no good answer, which count for neither quantity; None where none was sent."""
    modes: ArmModes | None = None
    effort: Difference | None = None
    """Instructions of the server per answer, A over B; None where they were not counted on both sides of every pair."""
    efforts: tuple[float, ...] = ()

    @property
    def half_width(self) -> float | None:
        """Half the width of the cost's interval as a share, or the rate's where no CPU is known."""
        interval = self.cost.ratio or self.rate.ratio
        return None if interval is None else math.sqrt(interval.high / interval.low) - 1


def decide(pairs: Sequence[WindowPair], practical: float) -> Decision:
    """The words on rate and on CPU per answer, from the mean log-ratio of each round's sound pairs."""
    sound = [pair for pair in pairs if pair.void is None]
    rates, costs, efforts = (_by_round(sound, ratio) for ratio in (_faster, _cheaper, _easier))
    differing = [differences.of_pairs(ratios, practical) for ratios in (rates, costs, efforts)]
    if len(rates) < JUDGED_ROUNDS:
        differing = [replace(one, word=differences.DifferenceWord.INCONCLUSIVE) for one in differing]
    rate, cost, effort = differing
    counted = bool(sound) and all(_easier(pair) is not None for pair in sound)
    failed = _failed([pair.a for pair in sound]), _failed([pair.b for pair in sound])
    found = Decision(
        rounds=len(rates),
        pairs=len(sound),
        void_pairs=len(pairs) - len(sound),
        rate=rate,
        cost=cost,
        rates=tuple(rates),
        costs=tuple(costs),
        failed=failed,
        modes=_modes(sound),
    )
    return replace(found, effort=effort, efforts=tuple(efforts)) if counted else found


def _faster(pair: WindowPair) -> float | None:
    return _ratio(pair.b.rate_per_s, pair.a.rate_per_s)


def _cheaper(pair: WindowPair) -> float | None:
    return _ratio(pair.a.cpu_us_per_answer, pair.b.cpu_us_per_answer)


def _easier(pair: WindowPair) -> float | None:
    return _ratio(pair.a.instructions_per_answer, pair.b.instructions_per_answer)


def _modes(pairs: Sequence[WindowPair]) -> ArmModes | None:
    """Find an arm that runs in one of two ways from start to start: that whose own level differs more between the groups."""
    by_cost = all(window.cpu_us_per_answer for pair in pairs for window in (pair.a, pair.b))
    levels: dict[int, list[tuple[float, float]]] = {}
    for pair in pairs:
        a, b = ((window.cpu_us_per_answer if by_cost else window.rate_per_s) for window in (pair.a, pair.b))
        if a and b:
            levels.setdefault(pair.round, []).append((math.log(a), math.log(b)))
    numbers = list(levels)
    means = [tuple(statistics.fmean(side) for side in zip(*levels[number], strict=True)) for number in numbers]
    found = two_modes([b - a for a, b in means])
    if found is None or found.high_mean - found.low_mean < MODES_APART:
        return None
    shifts = [
        statistics.fmean(means[place][arm] for place in found.high) - statistics.fmean(means[place][arm] for place in found.low)
        for arm in (0, 1)
    ]
    arm = 0 if abs(shifts[0]) > abs(shifts[1]) else 1
    groups = (found.low, found.high) if arm else (found.high, found.low)
    low, high = (tuple(numbers[place] for place in group) for group in groups)
    return ArmModes(arm, "CPU per answer" if by_cost else "goodput", low, high, math.expm1(found.high_mean - found.low_mean))


def _failed(windows: Sequence[WindowTally]) -> float | None:
    sent = sum(window.ok + window.not_ok for window in windows)
    return sum(window.not_ok for window in windows) / sent if sent else None


def _by_round(pairs: Sequence[WindowPair], ratio: Callable[[WindowPair], float | None]) -> list[float]:
    logs: dict[int, list[float]] = {}
    for pair in pairs:
        if (value := ratio(pair)) is not None:
            logs.setdefault(pair.round, []).append(math.log(value))
    return [math.exp(statistics.fmean(values)) for values in logs.values()]


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above and below else None
