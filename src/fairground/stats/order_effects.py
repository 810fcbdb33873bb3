"""Tell whether the order of a run's trials shows in its numbers, and on whom its void attempts fell (V22). Pure.

Order is random, so what it does cannot favour a stack over many blocks; it can widen every interval, and it tells that the
machine carries something over: heat, burst credits, a database that grows. A stack whose trials are void more often than the
others' keeps the numbers of its calmer moments only.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fairground.model import Run, Trial, Verdict
from fairground.stats.comparisons import Quantity, value_of
from fairground.stats.differences import PRACTICAL, holm
from fairground.stats.intervals import Interval, student

FEWEST_LEFT = 4
"""Degrees of freedom below which no effect of order is told."""
ALPHA = 0.05


@dataclass(frozen=True)
class OrderEffect:
    """The change of goodput with something of the order: a factor (1 is none) over its whole range, with its interval."""

    factor: Interval

    @property
    def shows(self) -> bool:
        """True if the interval leaves out 1, and the effect is larger than what is of practical interest."""
        apart = self.factor.low > 1 or self.factor.high < 1
        return apart and abs(math.log(self.factor.middle)) > math.log1p(PRACTICAL)


@dataclass(frozen=True)
class Voids:
    """Void attempts of one stack among all of its attempts; `p` that chance gives it so many, corrected for the stacks (Holm)."""

    stack: str
    void: int
    attempts: int
    p: float

    @property
    def shows(self) -> bool:
        """True if it has more than chance would give it."""
        return self.p < ALPHA


@dataclass(frozen=True)
class Campaign:
    """The effects that hold for a run as a whole. None where the run has too few trials to tell."""

    position: OrderEffect | None
    """From the first place of a block to its last."""
    carried: OrderEffect | None
    """After a trial that kept every processor busy, against one that kept none busy."""
    voids: tuple[Voids, ...]
    """The stacks with void attempts, least likely first."""
    attempts: int


def campaign(run: Run) -> Campaign:
    """The effects of order on goodput, and who had the void attempts."""
    everything = measured_order(run.everything)
    return Campaign(_effect(_places(everything)), _effect(_predecessors(everything)), _voids(everything), len(everything))


def measured_order(trials: Sequence[Trial]) -> list[Trial]:
    """Trials in the order in which they were measured, those of each host together.

    A round that was void is measured again as a whole, after all of its first attempts.
    """
    return sorted(trials, key=lambda trial: (trial.machine or "", trial.started_unix_s, trial.number))


Points = Sequence[tuple[Trial, float]]
"""Trials with a number, each beside what it is regressed on."""


def _places(everything: Sequence[Trial]) -> Points:
    """Each trial's place in its block, 0 the first and 1 the last."""
    found = []
    for block in sorted({trial.block for trial in everything}):
        ours = [trial for trial in everything if trial.block == block]
        found += [(trial, place / (len(ours) - 1)) for place, trial in enumerate(ours) if len(ours) > 1]
    return _numbered(found)


def _predecessors(everything: Sequence[Trial]) -> Points:
    """Each trial beside the share of the machine that the trial before it kept busy."""
    pairs = [(trial, before.host) for before, trial in itertools.pairwise(everything) if before.machine == trial.machine]
    return _numbered([(trial, host.busy_share) for trial, host in pairs if host is not None and host.busy_share is not None])


def _numbered(points: Points) -> Points:
    return [(trial, at) for trial, at in points if value_of(trial, Quantity.GOODPUT)]


def _effect(points: Points) -> OrderEffect | None:
    """The slope of log goodput on the number, each cell and each block with a level of its own; None where too little is left.

    Least squares with dummy variables, the two-way fixed-effects estimator; the cells' levels, of which there can be hundreds,
    are taken out by subtracting means (Frisch and Waugh). Student's t interval. Source: Wooldridge, Econometric Analysis of
    Cross Section and Panel Data, chapter 10.
    """
    import numpy

    cells = {key: number for number, key in enumerate(dict.fromkeys((trial.cell, trial.control) for trial, _ in points))}
    blocks = {block: number for number, block in enumerate(sorted({trial.block for trial, _ in points}))}
    if len(points) < len(cells) + len(blocks) + FEWEST_LEFT:
        return None
    belongs = numpy.array([cells[trial.cell, trial.control] for trial, _ in points])
    columns = numpy.zeros((len(points), 2 + len(blocks)))
    columns[:, 0] = [math.log(value_of(trial, Quantity.GOODPUT) or 1.0) for trial, _ in points]
    columns[:, 1] = [at for _, at in points]
    columns[numpy.arange(len(points)), [2 + blocks[trial.block] for trial, _ in points]] = 1
    means = numpy.zeros((len(cells), columns.shape[1]))
    numpy.add.at(means, belongs, columns)
    columns -= (means / numpy.bincount(belongs)[:, None])[belongs]
    both, design = columns[:, :2], columns[:, 2:]
    levels, _, rank, _ = numpy.linalg.lstsq(design, both)
    residual, place = (both - design @ levels).T
    spread, left = float(place @ place), len(points) - len(cells) - int(rank) - 1
    if spread < 1e-9 * len(points):
        return None
    slope = float(residual @ place) / spread
    rest = residual - slope * place
    half = student(left, 0.975) * math.sqrt(float(rest @ rest) / left / spread)
    return OrderEffect(Interval(math.exp(slope), math.exp(slope - half), math.exp(slope + half), len(points), 0.95))


def _voids(everything: Sequence[Trial]) -> tuple[Voids, ...]:
    """The void attempts of each stack that has some. `p` tells how likely so many are, dealt out at random (hypergeometric)."""
    attempts = Counter(trial.cell.stack for trial in everything)
    void = Counter(trial.cell.stack for trial in everything if trial.verdict is Verdict.VOID)
    if len(attempts) < 2:
        return ()
    chances = [_at_least(void[stack], count, void.total(), attempts.total()) for stack, count in attempts.items()]
    found = [Voids(stack, void[stack], attempts[stack], p) for stack, p in zip(attempts, holm(chances), strict=True)]
    return tuple(sorted((one for one in found if one.void), key=lambda one: (one.p, one.stack)))


def _at_least(found: int, drawn: int, marked: int, total: int) -> float:
    """The chance that `drawn` of `total` hold at least `found` of the `marked` ones: the tail of the hypergeometric distribution.

    Summed here, since `scipy.stats` takes a second to load.
    """
    numbers = range(max(found, drawn + marked - total), min(drawn, marked) + 1)
    logs = [_log_ways(marked, one) + _log_ways(total - marked, drawn - one) - _log_ways(total, drawn) for one in numbers]
    return min(1.0, math.fsum(map(math.exp, logs)))


def _log_ways(total: int, drawn: int) -> float:
    """The logarithm of the ways to draw so many of `total`."""
    return math.lgamma(total + 1) - math.lgamma(drawn + 1) - math.lgamma(total - drawn + 1)
