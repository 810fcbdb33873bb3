"""The statements that the database was asked, held against what the acknowledged answers need of it. Pure.

Commits alone prove little: a server that answers from memory can pad them with `SELECT 1`. So the statements themselves count.
Where the database counts them (`pg_stat_statements`), their number is exact. Everywhere else the backends' last statements are
sampled. The share of the declared ones is then an estimate, and the audit uses the upper end of Wilson's interval.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from fairground.judge.thresholds import Rules
from fairground.model import (
    AuditLine,
    DatabaseUse,
    DatabaseWork,
    Evidence,
    Finding,
    Outcomes,
    Result,
    Severity,
    TableNeed,
    Workload,
)
from fairground.model.work import WRITES, TableWork
from fairground.stats.intervals import share_interval

DECLARED = "declared"
MOST_TEXTS = 50
MOST_PARTS = 4
"""Statements of one message, at most; more of them, or a block of a procedural language, commit more than once for one answer."""
SHOWN_CHARACTERS = 120
OTHERS = "(other statements)"
LEAST_SAMPLES = 20
"""With fewer samples of backends at work nobody knows what takes their time."""
Z_99 = 2.326
"""One-sided quantile of the normal distribution."""
NAMES = {
    "transaction": "the beginning or end of a transaction",
    "reset": "a reset of the connection",
    "ping": "a ping of the connection",
    "catalog": "a look into the catalogue",
    "merged": "one statement in place of several",
    "lock": "a lock that is taken or let go of",
    "other": "a statement that no answer needs",
}
"""Kind of an undeclared statement → what it is, in words."""
MERGING = frozenset({"with", "case", "from", "select", "union", "values", "or", "in", "any"})
"""Words by which one statement does the work of several, where the declared ones have none of them."""
CONTROL = ("transaction", "reset", "lock")
"""These stand around a statement, and say nothing of whether it ran."""
GAPS = ("idle", "idle in transaction", "Client:ClientRead")
"""What a backend does whose statement is over, until the next one comes."""
WORD = re.compile(r"[a-z_][a-z_0-9]*")
CONSTANT = re.compile(r"'(?:[^']|'')*'|\$\d+|\b\d+(?:\.\d+)?\b|\b(?:true|false)\b")
KINDS = (
    ("transaction", re.compile(r"begin|start transaction|commit|rollback|end\b|abort|savepoint|release")),
    ("reset", re.compile(r"discard|reset|set |close|unlisten|deallocate|show |select pg_advisory_unlock_all")),
    ("lock", re.compile(r"select pg_(?:try_)?advisory_(?:xact_)?(?:un)?lock|lock ")),
    ("ping", re.compile(r"(?:select ?\??|values ?\(\?\))?$")),
    ("catalog", re.compile(r".*\b(?:pg_catalog|pg_type|pg_attribute|pg_class|information_schema)\b")),
)


@cache
def normalise(statement: str) -> str:
    """The statement in lower case with `?` for constants and parameters, without comments, quotes of names and aliases.

    What is left is the same for the text that a driver sends and the text that `pg_stat_statements` keeps.
    """
    text = re.sub(r"--[^\n]*|/\*.*?\*/", " ", statement, flags=re.DOTALL)
    text = CONSTANT.sub("?", text.lower()).replace('"', "")
    text = re.sub(r"\bextract ?\( ?\w+ from\b|\bextract ?\( ?\? from\b", "extract(? from", text)
    text = re.sub(r"\s*([(),;=])\s*", r"\1", re.sub(r"\s+", " ", text))
    text = re.sub(r"(?<=[(,=])-\?", "?", re.sub(r" as \w+\b(?!\()", "", text))
    text = re.sub(r"\?::\w+(?:\(\?\))?", "?", text)
    return text.strip(" ;")


def tally(samples: Mapping[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    """Samples of (what a backend did, its last statement), by normalised statement and what was done; the rarest ones as one."""
    by_text: dict[str, Counter[str]] = {}
    for (doing, statement), count in samples.items():
        by_text.setdefault(normalise(statement), Counter())[doing] += count
    order = sorted(by_text, key=lambda text: (-by_text[text].total(), text))
    kept = {text: dict(by_text[text]) for text in order[:MOST_TEXTS]}
    if len(order) > MOST_TEXTS:
        kept[OTHERS] = dict(sum((by_text[text] for text in order[MOST_TEXTS:]), Counter()))
    return kept


def kind(statement: str, workload: Workload) -> str:
    """`declared` where one part of a normalised statement is what the workload's answers need, else a key of `NAMES`.

    It is when it begins with the same word and has all words of the declared one: an object mapper may write more of them. That a
    statement reads less than it seems to (`LIMIT 0`) is for the counters of tables and the ledgers to find.
    """
    parts = statement.split(";")
    if len(parts) > MOST_PARTS or statement.startswith("do "):
        return "other"
    spoken = [WORD.findall(part) for part in parts]
    needed = [WORD.findall(normalise(one)) for one in workload.audit.statements]
    if workload.audit.statements_per_answer > 1 and any(_is_merged(words, needed) for words in spoken):
        return "merged"
    for declared in needed:
        if any(words[:1] == declared[:1] and set(declared) <= set(words) for words in spoken):
            return DECLARED
    kinds = [next((name for name, form in KINDS if form.match(part)), "other") for part in parts]
    return next((one for one in kinds if one not in CONTROL), kinds[0])


def _is_merged(words: Sequence[str], needed: Sequence[Sequence[str]]) -> bool:
    """True if one statement does what several are declared for: it has their words, and one that joins them, or a verb twice."""
    verbs = {declared[0] for declared in needed if declared}
    known = {word for declared in needed for word in declared}
    has_all = any(set(declared) <= set(words) for declared in needed)
    joins = bool((MERGING - known) & set(words)) or any(words.count(verb) > 1 for verb in verbs)
    return has_all and joins


def lines(workload: Workload, result: Result, database: DatabaseUse, rules: Rules) -> tuple[AuditLine, ...]:
    """The audit's lines on tables, functions and statements; what the database does not tell has none, and `unknown` says so."""
    life, work, good = result.life or result.window, database.work, result.done
    found = [*_most_commits(workload, database, life, rules)]
    if work is not None:
        found += [*_table_lines(workload, work, life, good, rules), *_function_lines(workload, work, good)]
    needed = workload.audit.statements_per_answer
    if workload.audit.statements and (calls := _calls(work)) is not None:
        done = sum(count for text, count in calls.items() if kind(text, workload) == DECLARED)
        sentence = f"at least {needed:g} of the declared statements run for each good answer"
        found.append(AuditLine("statements", sentence, done, math.floor(good * needed), None))
        found += _returned_lines(workload, work, good)
    elif database.commits is None:
        pass  # they were lost with a crash
    elif workload.audit.statements and good and (share := _most_likely_share(workload, database, rules)) is not None:
        seen = _work_samples(workload, database)
        common = max(seen, key=lambda text: seen[text]) or "(an empty statement)"
        sentence = (
            f"declared statements behind each good answer, at most, by {sum(seen.values()):,} samples of what the backends were"
            f" last asked between two statements, mostly `{common[:SHOWN_CHARACTERS]}`"
        )
        most = share * (database.commits or 0) / good
        found.append(AuditLine("statements", sentence, round(most, 3), rules.statement_least, None))
    return tuple(found)


def findings(workload: Workload, result: Result, database: DatabaseUse, rules: Rules) -> tuple[Finding, ...]:
    """Notes on what was asked that no answer needs, with its share.

    Others are on tables that were read more often than needed, and on what could not be seen.
    """
    good = result.done
    if not good or not workload.uses_database:
        return ()
    found = [*_undeclared(workload, database, rules), *_unknown(workload, database, rules)]
    if database.work is not None:
        found += [*_scans(workload, database.work, good, rules), *_unindexed(workload, database.work, good, rules)]
    return tuple(found)


def busiest(database: DatabaseUse) -> tuple[str, float] | None:
    """The statement that took most of the database's time, and its share; None where nobody saw it.

    By the time that `pg_stat_statements` counted, else by the samples of backends that were running.
    """
    if database.work is not None and database.work.statements:
        spent: Mapping[str, float] = _summed((text, one.time_us) for text, one in database.work.statements.items())
    else:
        spent = {text: float(doing["running"]) for text, doing in database.statements.items() if doing.get("running")}
    total = sum(spent.values())
    if not total:
        return None
    text = max(spent, key=lambda one: spent[one])
    counted = database.work is not None and bool(database.work.statements)
    return (text, spent[text] / total) if counted or total >= LEAST_SAMPLES else None


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


def read_whole(workload: Workload, work: DatabaseWork | None, good: int, rules: Rules) -> ReadWhole | None:
    """The table of which most rows are read beyond what answers need; None where none is, or nobody knows.

    Small tables are read whole by choice of the planner, so that many rows beyond the need are asked for.
    """
    found = []
    for name, table in work.tables.items() if work is not None and good else ():
        need = workload.audit.tables.get(name, TableNeed(0.0))
        needed, rows = max(need.rows, need.scans), table.rows / good
        many = table.rows >= rules.table_rows_least * max(table.scans, 1)  # else many scans read a row or two each
        if many and rows > rules.table_rows_note * max(needed, 1.0) and rows - needed >= rules.table_rows_least:
            share = None if table.sequential_rows is None else table.sequential_rows / table.rows
            found.append(ReadWhole(name, rows, needed, share))
    return max(found, key=lambda one: one.rows_per_answer, default=None)


# ---------------------------------------------------------------- what is counted


def _most_commits(workload: Workload, database: DatabaseUse, life: Outcomes, rules: Rules) -> Iterable[AuditLine]:
    """The line on far more commits than requests. They pay for answers that come from elsewhere.

    Pings, resets and connecting are allowed for, and so is a statement that reads a table: a query for each row is honest.
    """
    each = workload.audit.most_commits_per_answer or rules.paid_most * workload.audit.commits_per_answer
    if each and database.commits is not None:
        scans = sum(table.scans for table in database.work.tables.values()) if database.work is not None else 0
        most = math.ceil(each * life.total) + rules.paid_free * (1 + (database.sessions or 0)) + scans
        sentence = f"at most {each:g} commits for each request, {rules.paid_free} for each connection"
        sentence += ", and one for each scan of a table"
        yield AuditLine("commits-most", sentence, database.commits, 0, most)


def _table_lines(workload: Workload, work: DatabaseWork, life: Outcomes, good: int, rules: Rules) -> Iterable[AuditLine]:
    for name, need in workload.audit.tables.items():
        table = work.tables.get(name)
        sentence = f"at least {need.scans:g} scan of `{name}` for each good answer"
        yield AuditLine(f"scans-{name}", sentence, table.scans if table else None, math.floor(good * need.scans), None)
        if need.rows:
            many = rules.paid_most * need.rows
            most = math.ceil(many * (life.total + rules.paid_free))
            sentence = f"at least {need.rows:g} rows of `{name}` read for each good answer, and at most {many:g} for each request"
            yield AuditLine(f"rows-{name}", sentence, table.rows if table else None, math.floor(good * need.rows), most)
        for way in WRITES:
            if (needed := float(getattr(need, way))) > 0:
                yield _written_line(name, way, needed, table, life, good, rules)


def _written_line(
    name: str, way: str, needed: float, table: TableWork | None, life: Outcomes, good: int, rules: Rules
) -> AuditLine:
    """The line on rows that were written in one of the ways. What was rolled back is counted by the database, too."""
    many = rules.paid_most * needed
    sentence = f"at least {needed:g} rows of `{name}` {way} for each good answer, and at most {many:g} for each request"
    most = math.ceil(many * (life.total + rules.paid_free))
    return AuditLine(f"{way}-{name}", sentence, getattr(table, way) if table else None, math.floor(good * needed), most)


def _returned_lines(workload: Workload, work: DatabaseWork | None, good: int) -> Iterable[AuditLine]:
    """The line on rows that came back: a portal that is fetched in part reads its table whole, and returns a few of them."""
    needed = sum(need.rows for need in workload.audit.tables.values())
    if needed and work is not None and work.statements is not None:
        rows = sum(one.rows for text, one in work.statements.items() if kind(normalise(text), workload) == DECLARED)
        sentence = f"at least {needed:g} rows returned by the declared statements for each good answer"
        yield AuditLine("rows-returned", sentence, rows, math.floor(good * needed), None)


def _function_lines(workload: Workload, work: DatabaseWork, good: int) -> Iterable[AuditLine]:
    for name, calls in workload.audit.functions.items() if work.functions is not None else ():
        sentence = f"at least {calls:g} call of `{name}` for each good answer"
        yield AuditLine(f"calls-{name}", sentence, (work.functions or {}).get(name, 0), math.floor(good * calls), None)


def _calls(work: DatabaseWork | None) -> Mapping[str, float] | None:
    """Normalised statement → calls, where the database counts them."""
    if work is None or work.statements is None:
        return None
    return _summed((text, one.calls) for text, one in work.statements.items())


def _summed(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for text, value in pairs:
        total[normalise(text)] = total.get(normalise(text), 0) + value
    return total


# ---------------------------------------------------------------- what is sampled


def _samples(database: DatabaseUse) -> dict[str, int]:
    return {text: sum(doing.values()) for text, doing in database.statements.items()}


def _work_samples(workload: Workload, database: DatabaseUse) -> dict[str, int]:
    """The samples that tell how often a statement was asked, without those of statements that only stand around others.

    Samples weigh time. So one that sleeps, waits for a lock or reads for long before the declared statement would hide that one.
    What an undeclared statement counts is the moments after it, and no more than as many in which it ran: it pays for answers
    that come from elsewhere only where it takes little time.
    """
    found = {}
    for text, doing in database.statements.items():
        if (what := kind(text, workload)) in CONTROL:
            continue
        after = sum(count for state, count in doing.items() if state in GAPS)
        count = sum(doing.values()) if what == DECLARED else after + min(after, doing.get("running", 0))
        if count:
            found[text] = count
    return found


def _most_likely_share(workload: Workload, database: DatabaseUse, rules: Rules) -> float | None:
    """The upper end of the interval of the declared statements' share; None with too few samples."""
    samples = _work_samples(workload, database)
    total = sum(samples.values())
    if total < rules.statement_samples:
        return None
    share = sum(count for text, count in samples.items() if kind(text, workload) == DECLARED) / total
    return share_interval(share, total, Z_99)[1]


# ---------------------------------------------------------------- what is said of the rest


def _undeclared(workload: Workload, database: DatabaseUse, rules: Rules) -> Iterable[Finding]:
    calls = _calls(database.work)
    counts: Mapping[str, float] = _samples(database) if calls is None else calls
    total = sum(counts.values())
    if total < rules.statement_samples:
        return
    by_kind: dict[str, dict[str, float]] = {}
    for text, count in counts.items():
        by_kind.setdefault(kind(text, workload), {})[text] = count
    if workload.audit.statements_per_answer > 1:
        by_kind.pop("transaction", None)
    for name, words in NAMES.items():
        texts = by_kind.get(name, {})
        share = sum(texts.values()) / total
        if share >= rules.statement_share_note:
            most = max(texts, key=lambda text: texts[text]) or "(an empty statement)"
            of = "statements" if calls is not None else "backends' last statements"
            sentence = f"{share:.0%} of the {of} were {words}: {most[:SHOWN_CHARACTERS]}"
            evidence: Evidence = {"share": round(share, 4), "of": int(total), "statement": most[:300]}
            yield Finding(f"statement-{name}", Severity.NOTE, sentence, evidence)


def _scans(workload: Workload, work: DatabaseWork, good: int, rules: Rules) -> Iterable[Finding]:
    """Notes on tables that were scanned more often than the answers need.

    That is so of a query for each row of another table.
    """
    for name, table in work.tables.items():
        need = workload.audit.tables.get(name, TableNeed(0.0)).scans
        scans = table.scans / good
        if scans > rules.table_scans_note * max(need, 1.0):
            rows = table.rows / table.scans
            sentence = (
                f"`{name}` was scanned {scans:.1f} times for each good answer, which needs {need:g}; a scan read {rows:.1f} rows"
            )
            evidence = {"scans_per_answer": round(scans, 3), "rows_per_scan": round(rows, 3), "needed": need}
            yield Finding(f"scans-{name}", Severity.NOTE, sentence, evidence)


def _unindexed(workload: Workload, work: DatabaseWork, good: int, rules: Rules) -> Iterable[Finding]:
    """A note on a table that is read from end to end although an answer needs a row or two."""
    found = read_whole(workload, work, good, rules)
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


def _unknown(workload: Workload, database: DatabaseUse, rules: Rules) -> Iterable[Finding]:
    """One note on all that the audit had to leave out."""
    missing = []
    if workload.audit.statements and _calls(database.work) is None and _most_likely_share(workload, database, rules) is None:
        missing.append(f"the statements (fewer than {rules.statement_samples:g} samples)")
    if workload.audit.functions and (database.work is None or database.work.functions is None):
        missing.append("the calls of functions (`track_functions` is off)")
    if workload.audit.tables and database.work is None:
        missing.append("the scans of tables")
    if missing:
        sentence = f"the audit did not hold {' and '.join(missing)} against the answers: the database did not tell"
        yield Finding("statements-unknown", Severity.NOTE, sentence)
