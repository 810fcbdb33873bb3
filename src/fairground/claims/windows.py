"""The ratio of a statement from whole windows: its value in each block, and how that value itself scatters. Pure.

Terms of one trial move together. A rate times a mean latency is the number of connections, whatever the machine did; the bytes of
an answer do not scatter at all. So the spread is that of the statement's own value from block to block, and never what its terms
would give if each scattered by itself.

A value from two blocks says little of its own spread. So its variance is drawn towards what all trials of the same kind show of
the same quantity, as those of a run are (`stats.moderated`). A quantity is what a statement asks of one trial: a rate, or a rate
times a latency.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairground.claims.cells import Untestable
from fairground.claims.numbers import values, why_none
from fairground.claims.statement import Product, Statement, Term
from fairground.model import Cell, Trial
from fairground.stats import moderated
from fairground.stats.fit import Estimate, Fit, FitPoint
from fairground.stats.moderated import Prior, Variance

ASSUMED_SD, ASSUMED_FREEDOM = 0.10, 30
"""Of one trial, where nothing was measured twice: what trials of a few seconds on a small shared machine show."""

Quantity = tuple[tuple[str, int], ...]
"""What a statement asks of one trial: metrics with their powers."""


Way = tuple[str, str, float]
"""Workload, generator and length of window."""


@dataclass(frozen=True)
class WindowRatio:
    """A statement's left side over its right side; `assumed` where its spread is no measured one."""

    estimate: Estimate
    assumed: bool = False


def ratio(statement: Statement, cells: Mapping[Term, Cell], seen: WindowSpreads) -> WindowRatio:
    """The logarithm of the left side over the right side. Raises Untestable."""
    logs = [math.log(one) for one in by_block(statement, cells, seen.trials)]
    blocks, middle = len(logs), math.fsum(logs) / len(logs)
    own = _variance(logs)
    common = _common(_quantities(statement, cells), seen)
    if common is None and not own.freedom:
        sd = ASSUMED_SD * math.sqrt(len(set(cells.values())))
        return WindowRatio(Estimate(middle, sd / math.sqrt(blocks), ASSUMED_FREEDOM, blocks), assumed=True)
    found = moderated.of(own, common)
    return WindowRatio(Estimate(middle, math.sqrt(found.value / blocks), found.freedom, blocks))


def by_block(statement: Statement, cells: Mapping[Term, Cell], trials: Sequence[Trial]) -> list[float]:
    """The left side over the right side in each block that has all of the cells. Raises Untestable."""
    found = {term: values(term, cells[term], trials) for term in statement.terms}
    blocks = set.intersection(*(set(one) for one in found.values()))
    if not blocks:
        lacking = next((term for term in statement.terms if not found[term]), None)
        raise Untestable(
            f"{lacking} has no number: {why_none(cells[lacking], trials)}" if lacking else "no block has all of its cells"
        )
    return [product(statement.left, found, block) / product(statement.right, found, block) for block in sorted(blocks)]


def product(one: Product, known: Mapping[Term, Mapping[int, float]], block: int) -> float:
    """The value of one side in one block."""
    above = math.prod(known[term][block] for term in one.above)
    below = math.prod(known[term][block] for term in one.below)
    return one.factor * above / below


def _quantities(statement: Statement, cells: Mapping[Term, Cell]) -> dict[Cell, Quantity]:
    """The quantity that the statement asks of each of its cells."""
    powers = dict[Cell, dict[str, int]]()
    sides = ((statement.left, 1), (statement.right, -1))
    signed = [(term, sign) for side, sign in sides for term in side.above]
    signed += [(term, -sign) for side, sign in sides for term in side.below]
    for term, sign in signed:
        ours = powers.setdefault(cells[term], {})
        ours[term.metric] = ours.get(term.metric, 0) + sign
    return {cell: tuple(sorted((name, power) for name, power in ours.items() if power)) for cell, ours in powers.items()}


def _common(asked: Mapping[Cell, Quantity], seen: WindowSpreads) -> Prior | None:
    """The prior that trials of the same kinds give the statement's variance.

    It is the sum over the statement's cells, which are trials of their own.

    Where the statement divides trials of one way by each other, what a block did to all of them cancels.
    """
    summed = dict[Way, dict[str, int]]()
    for cell, quantity in asked.items():
        ours = summed.setdefault(_way(cell), {})
        for metric, power in quantity:
            ours[metric] = ours.get(metric, 0) + power
    parts = [seen.prior_of(_way(cell), quantity, not any(summed[_way(cell)].values())) for cell, quantity in asked.items()]
    known = [one for one in parts if one is not None]
    if len(known) < len(parts):
        return None
    return Prior(math.fsum(one.variance for one in known), min(one.freedom for one in known), min(one.most for one in known))


class WindowSpreads:
    """The trials of a run, and what those of one way show of the spread of a quantity: each is asked for by many claims."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        self.trials = trials
        self._known = dict[tuple[Way, Quantity, bool], Prior | None]()

    def prior_of(self, way: Way, quantity: Quantity, cancels: bool) -> Prior | None:
        """The variance of a quantity that cells of a way share, without what blocks did where that `cancels`."""
        if quantity and quantity[0][1] < 0:  # what is turned over scatters as much
            quantity = tuple((name, -power) for name, power in quantity)
        key = (way, quantity, cancels)
        if key not in self._known:
            self._known[key] = self._shown(way, quantity, cancels)
        return self._known[key]

    def _shown(self, way: Way, quantity: Quantity, cancels: bool) -> Prior | None:
        points = list(_points(quantity, [trial for trial in self.trials if _way(trial.cell) == way]))
        if cancels:
            known = list(Fit(points).spreads.independent.values()) if points else []
        else:
            logs = dict[Cell, list[float]]()
            for point in points:
                logs.setdefault(point.name, []).append(point.log)
            known = [_variance(some) for some in logs.values()]
        known = [one for one in known if one.freedom]
        if not known:
            return None
        freedom = math.fsum(one.freedom for one in known)
        pooled = Prior(math.fsum(one.value * one.freedom for one in known) / freedom, freedom, freedom)
        return moderated.prior(known) or pooled


def _points(quantity: Quantity, trials: Iterable[Trial]) -> Iterable[FitPoint[Cell]]:
    """The logarithm of the quantity in each trial that has it."""
    for trial in trials:
        log = 0.0
        for metric, power in quantity:
            value = values(Term(metric, ()), trial.cell, [trial]).get(trial.block)
            if value is None:
                break
            log += power * math.log(value)
        else:
            yield FitPoint(trial.cell, trial.block, 0, log)


def _variance(logs: Sequence[float]) -> Variance:
    """The variance of values about their mean."""
    if len(logs) < 2:
        return Variance(0.0, 0.0)
    mean = math.fsum(logs) / len(logs)
    return Variance(math.fsum((log - mean) ** 2 for log in logs) / (len(logs) - 1), len(logs) - 1)


def _way(cell: Cell) -> Way:
    """The properties that make trials spread alike.

    A thousand requests wander more than seconds do, and a short window more than a long one.
    """
    return cell.workload, cell.load.generator, cell.load.window_s
