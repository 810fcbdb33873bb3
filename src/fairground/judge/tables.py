"""The work on tables and functions that the database counted, held against what good answers need. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from fairground.judge import needs
from fairground.judge.needs import RequestCount
from fairground.judge.thresholds import Rules
from fairground.model import AuditLine, DatabaseWork, Evidence, Finding, Needs, Severity, TableNeed
from fairground.model.work import WRITES


def table_lines(counts: Sequence[RequestCount], work: DatabaseWork, rules: Rules) -> Iterable[AuditLine]:
    for name in dict.fromkeys(name for one in counts for name in one.request.need.tables):
        table = work.tables.get(name)
        scans = _of_table(name, lambda need: need.scans)
        if len(counts) == 1 or any(scans(one.request.need) for one in counts):
            sentence = needs.words(counts, scans, f"scan of `{name}`")
            yield AuditLine(f"scans-{name}", sentence, table.scans if table else None, needs.least(counts, scans), None)
        if any(one.request.need.tables.get(name, TableNeed()).rows for one in counts):
            rows = _of_table(name, lambda need: need.rows)
            read = table.rows if table else None
            if table and table.rows < needs.least(counts, rows):  # an index may have held what was asked for
                read = table.most_read
            yield _bounded_line(f"rows-{name}", f"rows of `{name}` read", read, counts, rows, name, rules)
        for way in WRITES:
            written = _of_table(name, lambda need, way=way: float(getattr(need, way)))  # type: ignore[misc]
            if any(written(one.request.need) > 0 for one in counts):
                found = getattr(table, way) if table else None
                yield _bounded_line(f"{way}-{name}", f"rows of `{name}` {way}", found, counts, written, name, rules)


def _bounded_line(
    id: str, rows: str, found: int | None, counts: Sequence[RequestCount], each: needs.Each, table: str, rules: Rules
) -> AuditLine:
    """The line on rows that were read or written: what good answers need at least, and what requests may cause at most.

    What was rolled back is counted by the database, too. In a mix a request that names the table otherwise, or not at all, may
    do a little with it.
    """

    def may(need: Needs) -> float:
        others = [1.0, *(_read(one) for one in [need.tables.get(table, TableNeed())])] if len(counts) > 1 else [0.0]
        return rules.paid_most * (each(need) or max(others))

    most = needs.most(counts, may, rules.paid_free)
    if len(counts) == 1:
        need = counts[0].request.need
        sentence = f"at least {each(need):g} {rows} for each good answer, and at most {may(need):g} for each request"
    else:
        needed = needs.words_of_mix(counts, each, rows)
        sentence = f"at least, for each good answer: {needed}; and at most {rules.paid_most:g} times as many"
    return AuditLine(id, sentence, found, needs.least(counts, each), most)


def function_lines(counts: Sequence[RequestCount], work: DatabaseWork) -> Iterable[AuditLine]:
    if work.functions is None:
        return
    for name in dict.fromkeys(name for one in counts for name in one.request.need.functions):

        def each(need: Needs, name: str = name) -> float:
            return need.functions.get(name, 0.0)

        sentence = needs.words(counts, each, f"call of `{name}`")
        yield AuditLine(f"calls-{name}", sentence, work.functions.get(name, 0), needs.least(counts, each), None)


def scan_findings(counts: Sequence[RequestCount], work: DatabaseWork, rules: Rules) -> Iterable[Finding]:
    """Notes on tables that were scanned more often than the answers need.

    That is so of a query for each row of another table.
    """
    good = sum(one.good for one in counts)
    for name, table in work.tables.items() if good else ():
        need = needs.per_answer(counts, _of_table(name, lambda one: one.scans))
        scans = table.scans / good
        if scans > rules.table_scans_note * max(need, 1.0):
            rows = table.rows / table.scans
            sentence = (
                f"`{name}` was scanned {scans:.1f} times for each good answer, which needs {need:g}; a scan read {rows:.1f} rows"
            )
            evidence = {"scans_per_answer": round(scans, 3), "rows_per_scan": round(rows, 3), "needed": need}
            yield Finding(f"scans-{name}", Severity.NOTE, sentence, evidence)


def unindexed_findings(counts: Sequence[RequestCount], work: DatabaseWork, rules: Rules) -> Iterable[Finding]:
    """A note on a table that is read from end to end although an answer needs a row or two."""
    found = read_whole(counts, work, rules)
    if found is None:
        return
    evidence: Evidence = {
        "table": found.table,
        "rows_per_answer": round(found.rows_per_answer, 1),
        "needed": found.needed,
        "rows": work.tables[found.table].rows,
        "sequential_share": None if found.sequential_share is None else round(found.sequential_share, 4),
    }
    yield Finding(f"unindexed-{found.table}", Severity.NOTE, found.sentence, evidence)


@dataclass(frozen=True)
class ReadWhole:
    """A table of which far more rows are read for each answer than that needs. `how`: why, as far as the database tells."""

    table: str
    rows_per_answer: float
    needed: float
    sequential_share: float | None

    @property
    def how(self) -> str:
        if self.sequential_share is None or self.sequential_share >= 0.5:
            return "an index is missing, or is not used"
        return "an index is read that does not select them"

    @property
    def sentence(self) -> str:
        rows = f"{self.rows_per_answer:,.0f} rows of `{self.table}` were read for each good answer"
        return f"{rows}, which needs {self.needed:g}: {self.how}"


def read_whole(counts: Sequence[RequestCount], work: DatabaseWork | None, rules: Rules) -> ReadWhole | None:
    """The table of which most rows are read beyond what answers need; None where none is, or nobody knows.

    Small tables are read whole by choice of the planner, so that many rows beyond the need are asked for.
    """
    found, good = [], sum(one.good for one in counts)
    for name, table in work.tables.items() if work is not None and good else ():
        needed, rows = needs.per_answer(counts, _of_table(name, _read)), table.rows / good
        many = table.rows >= rules.table_rows_least * max(table.scans, 1)  # else many scans read a row or two each
        if many and rows > rules.table_rows_note * max(needed, 1.0) and rows - needed >= rules.table_rows_least:
            share = None if table.sequential_rows is None else table.sequential_rows / table.rows
            found.append(ReadWhole(name, rows, needed, share))
    return max(found, key=lambda one: one.rows_per_answer, default=None)


def _of_table(name: str, each: Callable[[TableNeed], float]) -> needs.Each:
    """Pick what an answer needs of one table."""
    return lambda need: each(need.tables[name]) if name in need.tables else 0.0


def _read(need: TableNeed) -> float:
    """Rows that are read: a scan reads one at least."""
    return max(need.rows, need.scans)
