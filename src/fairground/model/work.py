"""The work that a database did for one arm, as it counted it. None: it did not count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

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
    index_entries: int = 0
    """Entries that indexes gave. Where one holds all that is asked for, that is what was read, and no row was."""

    @property
    def most_read(self) -> int:
        """The most rows that may have been read: each entry that an index gave counts as one.

        An index may hold all that is asked for, and then no row is read. Two indexes may each give an entry for the same row.
        """
        return max(self.rows, (self.sequential_rows or 0) + self.index_entries)

    def since(self, before: TableWork) -> TableWork:
        """The work that was done after `before`."""
        known = difference(before.sequential_rows, self.sequential_rows)
        written = (getattr(self, kind) - getattr(before, kind) for kind in (*WRITES, "index_entries"))
        return TableWork(self.scans - before.scans, self.rows - before.rows, known, *written)

    def __add__(self, other: TableWork) -> TableWork:
        sequential = (self.sequential_rows, other.sequential_rows)
        known = None if sequential[0] is None or sequential[1] is None else sequential[0] + sequential[1]
        written = (getattr(self, kind) + getattr(other, kind) for kind in (*WRITES, "index_entries"))
        return TableWork(self.scans + other.scans, self.rows + other.rows, known, *written)


def difference(before: int | None, after: int | None) -> int | None:
    """The count between two readings; None where one of them is missing."""
    return None if before is None or after is None else after - before


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

    def join_tables(self, in_place: Mapping[str, str]) -> DatabaseWork:
        """The same work, as if it had been done on the table that another stands in place of: the other → that one."""
        tables = dict[str, TableWork]()
        for name, one in self.tables.items():
            joined = in_place.get(name, name)
            tables[joined] = tables[joined] + one if joined in tables else one
        return replace(self, tables=tables)

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
