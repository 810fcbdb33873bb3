"""Published tables, and ours beside them. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairground.claims.cells import Untestable, cell_of
from fairground.claims.numbers import share_or_count, values
from fairground.claims.statement import RATIO_METRICS, Term
from fairground.model import Cell, PublishedTable, Suite, Trial, Verdict
from fairground.stats.differences import rank_correlation, rank_p
from fairground.stats.fit import Fit, FitPoint

LEAST_ROWS = 6
"""Three rows have the same order by chance in one of six cases, and six in one of 720."""

BesideRow = tuple[Cell | None, str | None]
"""The cell of ours beside a row, and its stack where that is only the nearest one; None: no cell with a number."""


@dataclass(frozen=True)
class TableRow:
    """One row of a published table, published and measured; None where no trial of it has a number."""

    stack: str
    published: float
    measured: float | None
    nearest: str | None = None
    """The stack whose number `measured` is, where the published thing itself was not run; None: its own."""


@dataclass(frozen=True)
class TableReading:
    """A published table beside ours; `correlation` is Kendall's tau-b of the rows whose stacks were measured themselves.

    `p` is that of no order in common. Both are None for fewer than LEAST_ROWS, whose order is often the same by chance.
    """

    table: PublishedTable
    rows: tuple[TableRow, ...]
    correlation: float | None
    p: float | None = None

    @property
    def measured(self) -> int:
        """The number of rows whose stacks were measured themselves."""
        return sum(row.measured is not None and row.nearest is None for row in self.rows)


def published_value(term: Term, tables: Iterable[PublishedTable]) -> float | None:
    """The published number that a term means: its metric, and exactly its stack, workload and marks. None: there is none."""
    stack, *marks = term.words
    fitting = [one for one in tables if one.metric == term.metric and set(one.marks.split()) == set(marks)]
    return next((one.values[stack] for one in fitting if stack in one.values), None)


def published_window_s(term: Term, value: float, tables: Iterable[PublishedTable]) -> float | None:
    """The seconds in which a published number of a count was counted; None where no table of its metric has it."""
    fitting = (one for one in tables if one.metric == term.metric and value in one.values.values())
    return next((one.window_s for one in fitting), None)


def read_tables(suite: Suite, trials: Sequence[Trial]) -> tuple[TableReading, ...]:
    """The suite's tables with our means beside their numbers.

    What the machine did to all of a block is taken out: one row may have blocks that another lacks.
    """
    counted = [trial for trial in trials if trial.verdict is not Verdict.VOID]
    beside = [(table, [_cell_beside(table, suite, stack, counted) for stack in table.values]) for table in suite.tables]
    cells = dict[str, set[Cell]]()
    for table, found in beside:
        if table.metric in RATIO_METRICS:
            cells.setdefault(table.metric, set()).update(cell for cell, _ in found if cell is not None)
    levels = {metric: _levels(metric, some, counted) for metric, some in cells.items()}
    return tuple(_read(table, found, levels.get(table.metric or "", {}), counted) for table, found in beside)


def _read(
    table: PublishedTable, beside: Sequence[BesideRow], levels: Mapping[Cell, float], trials: Sequence[Trial]
) -> TableReading:
    rows = tuple(
        TableRow(stack, value, None if cell is None else levels[cell] if cell in levels else _mean(table, cell, trials), nearest)
        for (stack, value), (cell, nearest) in zip(table.values.items(), beside, strict=True)
    )
    both = [(row.published, row.measured) for row in rows if row.measured is not None and row.nearest is None]
    theirs, ours = [one for one, _ in both], [other for _, other in both]
    if len(both) < LEAST_ROWS:
        return TableReading(table, rows, None)
    return TableReading(table, rows, rank_correlation(theirs, ours), rank_p(theirs, ours))


def _cell_beside(table: PublishedTable, suite: Suite, stack: str, trials: Sequence[Trial]) -> BesideRow:
    marks = (*table.marks.split(), *table.also.get(stack, "").split())
    own, nearest = _cell_of(table, suite, (stack, *marks), trials), suite.nearest.get(stack)
    if own is not None or nearest is None:
        return own, None
    return _cell_of(table, suite, (nearest, *marks), trials), nearest


def _cell_of(table: PublishedTable, suite: Suite, words: tuple[str, ...], trials: Sequence[Trial]) -> Cell | None:
    """The cell of ours that the words mean; None where it has no number."""
    if table.metric is None:
        return None
    try:
        cell = cell_of(Term(table.metric, words), suite, trials)
    except Untestable:
        return None
    if table.metric in RATIO_METRICS:
        return cell if values(Term(table.metric, words), cell, trials) else None
    return cell if any(one.cell == cell and share_or_count(table.metric, one) is not None for one in trials) else None


def _levels(metric: str, cells: Iterable[Cell], trials: Sequence[Trial]) -> Mapping[Cell, float]:
    """The geometric mean of each cell, as if all had been in the same blocks."""
    known = {cell: values(Term(metric, ()), cell, trials) for cell in cells}
    fit = Fit(FitPoint(cell, block, 0, math.log(value)) for cell, some in known.items() for block, value in some.items())
    return {cell: math.exp(math.fsum(logs.values()) / len(logs)) for cell, logs in fit.levels.items()}


def _mean(table: PublishedTable, cell: Cell, trials: Sequence[Trial]) -> float:
    """The mean of shares and counts, which may be zero."""
    here = [(trial, share_or_count(table.metric or "", trial)) for trial in trials if trial.cell == cell]
    told = [value * _as_long(table, trial) for trial, value in here if value is not None]
    return math.fsum(told) / len(told)


def _as_long(table: PublishedTable, trial: Trial) -> float:
    """The factor by which the published window is longer than the trial's. A count grows with it, a share does not."""
    if table.window_s is None or trial.result is None or not trial.result.window_s:
        return 1.0
    return table.window_s / trial.result.window_s
