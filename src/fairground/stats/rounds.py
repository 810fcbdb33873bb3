"""What rounds of pairs say of two arms. Pure.

The unit of evidence is the round: both servers are started afresh for it, and what differs from start to start is real.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fairground.model.pair import Pair
from fairground.model.window import Window
from fairground.stats import control, differences
from fairground.stats.control import Paced, Point
from fairground.stats.differences import Difference

JUDGED_ROUNDS = 5
"""With fewer rounds nothing is called: an interval of so few starts is too wide to be of use."""


@dataclass(frozen=True)
class Decision:
    """What the rounds say of B against A. `rate`: goodput, B over A. `cost`: server CPU per answer, A over B (more is better)."""

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
    rate_paced: Paced | None = None
    cost_paced: Paced | None = None
    """The same ratios without the machine's pace, where that is of use. No word rests on them: see `control`."""

    @property
    def half_width(self) -> float | None:
        """Half the width of the cost's interval as a share, or the rate's where no CPU is known."""
        interval = self.cost.ratio or self.rate.ratio
        return None if interval is None else math.sqrt(interval.high / interval.low) - 1


def decide(pairs: Sequence[Pair], floor: float = 0.0, practical: float = 0.01) -> Decision:
    """The words on rate and on CPU per answer, from the mean log-ratio of each round's sound pairs."""
    sound = [pair for pair in pairs if pair.void is None]
    rates, costs = _by_round(sound, _faster), _by_round(sound, _cheaper)
    differing = [differences.of_pairs(ratios, floor, practical) for ratios in (rates, costs)]
    if len(rates) < JUDGED_ROUNDS:
        differing = [replace(one, word=differences.Word.INCONCLUSIVE) for one in differing]
    rate, cost = differing
    failed = _failed([pair.a for pair in sound]), _failed([pair.b for pair in sound])
    paced = _paced(sound, _faster), _paced(sound, _cheaper)
    return Decision(len(rates), len(sound), len(pairs) - len(sound), rate, cost, tuple(rates), tuple(costs), failed, *paced)


def _faster(pair: Pair) -> float | None:
    return _ratio(pair.b.rate_per_s, pair.a.rate_per_s)


def _cheaper(pair: Pair) -> float | None:
    return _ratio(pair.a.cpu_us_per_answer, pair.b.cpu_us_per_answer)


def _paced(pairs: Sequence[Pair], ratio: Callable[[Pair], float | None]) -> Paced | None:
    """The ratio without the machine's pace; None where a pair lacks one of both values, for it would be of other pairs then."""
    points: dict[int, list[Point]] = {}
    for pair in pairs:
        value, generator = ratio(pair), _ratio(pair.b.generator_us_per_answer, pair.a.generator_us_per_answer)
        if value is None or generator is None:
            return None
        points.setdefault(pair.round, []).append((math.log(value), math.log(generator)))
    return control.paced(list(points.values()))


def _failed(windows: Sequence[Window]) -> float | None:
    sent = sum(window.ok + window.not_ok for window in windows)
    return sum(window.not_ok for window in windows) / sent if sent else None


def _by_round(pairs: Sequence[Pair], ratio: Callable[[Pair], float | None]) -> list[float]:
    logs: dict[int, list[float]] = {}
    for pair in pairs:
        if (value := ratio(pair)) is not None:
            logs.setdefault(pair.round, []).append(math.log(value))
    return [math.exp(math.fsum(values) / len(values)) for values in logs.values()]


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above and below else None
