"""The work that a database did for one arm, as it counted it. None: it did not count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

WRITES = ("inserted", "updated", "deleted")
"""The ways in which rows of a table are written, as `TableWork` counts them. One that is rolled back is counted, too."""


@dataclass(frozen=True)
class TableWork:
    """The work that was done on one table."""

    scans: int
    """Sequential and index scans."""
    rows: int
    """Rows that they read."""
    sequential_rows: int | None = None
    """Those of them that sequential scans read; None: nobody told them apart."""
    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    def since(self, before: TableWork) -> TableWork:
        """The work that was done after `before`."""
        sequential = (self.sequential_rows, before.sequential_rows)
        known = None if sequential[0] is None or sequential[1] is None else sequential[0] - sequential[1]
        written = (getattr(self, kind) - getattr(before, kind) for kind in WRITES)
        return TableWork(self.scans - before.scans, self.rows - before.rows, known, *written)


@dataclass(frozen=True)
class StatementWork:
    """The counts of `pg_stat_statements` for one statement, constants taken out."""

    calls: int
    rows: int
    time_us: float
    """Time in its execution, waits included."""


@dataclass(frozen=True)
class DatabaseWork:
    """Counters of one arm's database between two moments."""

    tables: Mapping[str, TableWork]
    functions: Mapping[str, int] | None = None
    """Function → calls, where the server tracks functions."""
    statements: Mapping[str, StatementWork] | None = None
    """Statement → what was counted of it, where the server has `pg_stat_statements`."""

    def since(self, before: DatabaseWork) -> DatabaseWork:
        """The work that was counted after `before`."""
        tables = {name: one.since(before.tables.get(name, TableWork(0, 0, 0))) for name, one in self.tables.items()}
        functions = statements = None
        if self.functions is not None:
            functions = {name: calls - (before.functions or {}).get(name, 0) for name, calls in self.functions.items()}
        if self.statements is not None:
            statements = {
                text: StatementWork(one.calls - was.calls, one.rows - was.rows, one.time_us - was.time_us)
                for text, one in self.statements.items()
                for was in [(before.statements or {}).get(text, StatementWork(0, 0, 0.0))]
                if one.calls > was.calls
            }
        return DatabaseWork(tables, functions, statements)
