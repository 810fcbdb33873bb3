"""Published tables, and ours beside them. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fairground.claims.cells import Untestable, cell_of
from fairground.claims.numbers import share_or_count, values
from fairground.claims.statement import RATIO_METRICS, Term
from fairground.model import PublishedTable, Suite, Trial, Verdict
from fairground.stats.differences import rank_correlation, rank_p
from fairground.stats.intervals import geometric_mean

LEAST_ROWS = 6
"""Three rows have the same order by chance in one of six cases, and six in one of 720."""


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
    """The suite's tables with our geometric means beside their numbers."""
    counted = [trial for trial in trials if trial.verdict is not Verdict.VOID]
    return tuple(_read(table, suite, counted) for table in suite.tables)


def _read(table: PublishedTable, suite: Suite, trials: Sequence[Trial]) -> TableReading:
    rows = tuple(_row(table, suite, stack, value, trials) for stack, value in table.values.items())
    both = [(row.published, row.measured) for row in rows if row.measured is not None and row.nearest is None]
    theirs, ours = [one for one, _ in both], [other for _, other in both]
    if len(both) < LEAST_ROWS:
        return TableReading(table, rows, None)
    return TableReading(table, rows, rank_correlation(theirs, ours), rank_p(theirs, ours))


def _row(table: PublishedTable, suite: Suite, stack: str, value: float, trials: Sequence[Trial]) -> TableRow:
    marks = (*table.marks.split(), *table.also.get(stack, "").split())
    own, nearest = _beside(table, suite, (stack, *marks), trials), suite.nearest.get(stack)
    if own is not None or nearest is None:
        return TableRow(stack, value, own)
    return TableRow(stack, value, _beside(table, suite, (nearest, *marks), trials), nearest)


def _beside(table: PublishedTable, suite: Suite, words: tuple[str, ...], trials: Sequence[Trial]) -> float | None:
    """Our number for a row: the geometric mean of its trials; of shares and counts, which may be zero, the mean."""
    if table.metric is None:
        return None
    term = Term(table.metric, words)
    try:
        cell = cell_of(term, suite, trials)
    except Untestable:
        return None
    if table.metric in RATIO_METRICS:
        found = list(values(term, cell, trials).values())
        return geometric_mean(found) if found else None
    here = [(trial, share_or_count(term.metric, trial)) for trial in trials if trial.cell == cell]
    told = [value * _as_long(table, trial) for trial, value in here if value is not None]
    return math.fsum(told) / len(told) if told else None


def _as_long(table: PublishedTable, trial: Trial) -> float:
    """The factor by which the published window is longer than the trial's. A count grows with it, a share does not."""
    if table.window_s is None or trial.result is None or not trial.result.window_s:
        return 1.0
    return table.window_s / trial.result.window_s
