"""The statements that the database was asked, held against what the acknowledged answers need of it. Pure.

Commits alone prove little: a server that answers from memory can pad them with `SELECT 1`. So the statements themselves count.
Where the database counts them (`pg_stat_statements`), their number is exact. Everywhere else the backends' last statements are
sampled. The share of the declared ones is then an estimate, and the audit uses the upper end of Wilson's interval.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from fairground.judge import needs, tables
from fairground.judge.needs import RequestCount
from fairground.judge.thresholds import Rules
from fairground.model import (
    AuditLine,
    DatabaseUse,
    DatabaseWork,
    Evidence,
    Finding,
    Needs,
    Result,
    Severity,
    Workload,
)
from fairground.stats.intervals import share_interval

DECLARED = "declared"
MOST_TEXTS = 50
KEPT_TEXTS = 4096
"""This many texts are kept beside what they are normalised to: a server may write its numbers into each of its statements."""
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
    "hidden": "a prepared statement or a cursor by its name",
    "other": "a statement that no answer needs",
    "computed": "a declared one in which the database makes texts or JSON that the contract leaves to the server",
}
"""Kind of a statement that is not as it was declared → what it is, in words."""
MERGING = frozenset({"with", "case", "from", "select", "union", "values", "or", "in", "any"})
"""Words by which one statement does the work of several, where the declared ones have none of them."""
OWN_WORDS = {"insert": frozenset({"values", "select", "from"}), "select": frozenset({"from"})}
"""Verb → those of MERGING that one whole statement has by itself, and that a declared beginning lacks."""
COMPUTING = re.compile(
    r"\b(translate|(?:regexp_)?replace|overlay|upper|lower|initcap|format|concat(?:_ws)?|string_agg|to_char|encode|md5"
    r"|(?:row_|array_)?to_jsonb?|jsonb?_(?:object_?|array)?agg|jsonb?_(?:build_)?(?:object|array))\("
)
"""A call with which a database makes a text or JSON of rows, in place of the server."""
PREPARED = re.compile(r"\s*prepare\s+\S+?\s*(?:\([^)]*\)\s*)?\sas\s+", re.IGNORECASE)
"""The beginning of a counted statement that was prepared by SQL: `pg_stat_statements` counts its executions by that text."""
CONTROL = ("transaction", "reset", "lock")
"""These stand around a statement, and say nothing of whether it ran."""
GAPS = ("idle", "idle in transaction", "Client:ClientRead")
"""What a backend does whose statement is over, until the next one comes."""
WORD = re.compile(r"[a-z_][a-z_0-9]*")
CONSTANT = re.compile(r"\$\d+|\b\d+(?:\.\d+)?\b|\b(?:true|false)\b")
QUOTED = re.compile(
    r"(?P<comment>--[^\n]*|/\*)|(?P<text>(?<!\w)[eE]'(?:[^'\\]|''|\\.)*(?:'|$)|'(?:[^']|'')*(?:'|$)"
    r"|(?<!\w)\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?(?:\$(?P=tag)\$|$))"
    r'|"(?P<name>(?:[^"]|"")*)(?:"|$)',
    re.DOTALL,
)
"""What begins a comment, a constant text, or the name in quotes: whichever comes first, the others are no such inside of it."""
COMMENT_EDGE = re.compile(r"/\*|\*/")
KINDS = (
    ("transaction", re.compile(r"begin|start transaction|commit|rollback|end\b|abort|savepoint|release")),
    ("reset", re.compile(r"discard|reset|set |close|unlisten|deallocate|show |select pg_advisory_unlock_all")),
    ("lock", re.compile(r"select pg_(?:try_)?advisory_(?:xact_)?(?:un)?lock|lock ")),
    ("ping", re.compile(r"(?:select ?\??|values ?\(\?\))?$")),
    ("hidden", re.compile(r"(?:execute|fetch|move|declare) ")),
    ("catalog", re.compile(r".*\b(?:pg_catalog|pg_type|pg_attribute|pg_class|information_schema)\b")),
)


@lru_cache(KEPT_TEXTS)
def normalise(statement: str) -> str:
    """The statement in lower case with `?` for constants and parameters, without comments, quotes of names and aliases.

    What is left is the same for the text that a driver sends and the text that `pg_stat_statements` keeps.
    """
    text = CONSTANT.sub("?", _unquoted(statement).lower())
    text = re.sub(r"\bextract ?\( ?\w+ from\b|\bextract ?\( ?\? from\b", "extract(? from", text)
    text = re.sub(r"\s*([(),;=])\s*", r"\1", re.sub(r"\s+", " ", text))
    text = re.sub(r"(?<=[(,=])-\?", "?", re.sub(r" as \w+\b(?!\()", "", text))
    text = re.sub(r"\?::\w+(?:\(\?\))?", "?", text)
    text = re.sub(r" with(?:out)? time zone\b", "", text)
    return text.strip(" ;")


def _unquoted(statement: str) -> str:
    """The statement without comments, which nest, with `?` for texts, and each name in quotes as one word."""
    parts, at = [], 0
    while found := QUOTED.search(statement, at):
        parts.append(statement[at : found.start()])
        at = found.end()
        if found["comment"] is not None:
            parts.append(" ")
            at = _end_of_comment(statement, at) if found["comment"] == "/*" else at
        else:
            parts.append("?" if found["text"] is not None else re.sub(r"\W", "_", found["name"]))
    return "".join((*parts, statement[at:]))


def _end_of_comment(statement: str, start: int) -> int:
    """The place behind a comment, of which the beginning is before `start`."""
    depth = 1
    for edge in COMMENT_EDGE.finditer(statement, start):
        depth += 1 if edge.group() == "/*" else -1
        if not depth:
            return edge.end()
    return len(statement)


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
    spoken, is_merged = [WORD.findall(part) for part in parts], False
    for request in workload.requests:
        needed = [WORD.findall(normalise(one)) for one in request.need.statements]
        if request.need.statements_per_answer > 1 and any(_is_merged(words, needed) for words in spoken):
            is_merged = True
        elif any(words[:1] == declared[:1] and set(declared) <= set(words) for declared in needed for words in spoken):
            return DECLARED
    if is_merged:
        return "merged"
    kinds = [next((name for name, form in KINDS if form.match(part)), "other") for part in parts]
    return next((one for one in kinds if one not in CONTROL), kinds[0])


def _computes(statement: str, workload: Workload) -> bool:
    """True if a statement has calls of COMPUTING that no declared one has."""
    declared = " ".join(normalise(one) for request in workload.requests for one in request.need.statements)
    return not set(COMPUTING.findall(statement)) <= set(COMPUTING.findall(declared))


def _is_merged(words: Sequence[str], needed: Sequence[Sequence[str]]) -> bool:
    """True if one statement does what several are declared for: it has their words, and one that joins them, or a verb twice."""
    verbs = {declared[0] for declared in needed if declared}
    known = {word for declared in needed for word in declared}
    has_all = any(set(declared) <= set(words) for declared in needed)
    own = OWN_WORDS.get(words[0], frozenset()) if words else frozenset()
    if any(declared[:1] == words[:1] and set(declared) <= set(words) and not own & set(declared) for declared in needed):
        known |= own  # one of them is declared by its beginning
    joins = bool((MERGING - known) & set(words)) or any(words.count(verb) > 1 for verb in verbs)
    return has_all and joins


def lines(workload: Workload, result: Result, database: DatabaseUse, rules: Rules) -> tuple[AuditLine, ...]:
    """The audit's lines on tables, functions and statements; what the database does not tell has none, and `unknown` says so."""
    counts, work = needs.counts_of(workload, result), database.work
    found = [*_most_commits(counts, database, rules)]
    if work is not None:
        found += [*tables.table_lines(counts, work, rules), *tables.function_lines(counts, work)]
    asked = any(one.request.need.statements for one in counts)
    if asked and (calls := _calls(work)) is not None:
        done = sum(count for text, count in calls.items() if kind(text, workload) == DECLARED)
        sentence = needs.words(counts, _statements, "declared statement") if workload.is_mix else _statements_words(counts)
        found.append(AuditLine("statements", sentence, done, needs.least(counts, _statements), None))
        found += _returned_lines(workload, counts, work)
    elif database.commits is None:
        pass  # they were lost with a crash
    elif asked and result.done and (share := _most_likely_share(workload, database, rules)) is not None:
        seen = _work_samples(workload, database)
        common = max(seen, key=lambda text: seen[text]) or "(an empty statement)"
        sentence = (
            f"declared statements behind each good answer, at most, by {sum(seen.values()):,} samples of what the backends were"
            f" last asked between two statements, mostly `{common[:SHOWN_CHARACTERS]}`"
        )
        behind = [one for one in counts if one.request.need.statements]
        transactions = needs.transactions_of(behind, database) or 0
        most = share * transactions / (sum(one.good for one in behind) or result.done)
        found.append(AuditLine("statements", sentence, round(most, 3), rules.statement_least, None))
    return tuple(found)


def _statements(need: Needs) -> float:
    return need.statements_per_answer if need.statements else 0.0


def _statements_words(counts: Sequence[RequestCount]) -> str:
    return f"at least {_statements(counts[0].request.need):g} of the declared statements run for each good answer"


def findings(workload: Workload, result: Result, database: DatabaseUse, rules: Rules) -> tuple[Finding, ...]:
    """Notes on what was asked that no answer needs, with its share.

    Others are on tables that were read more often than needed, and on what could not be seen.
    """
    good = result.done
    if not good or not workload.uses_database:
        return ()
    found = [*_undeclared(workload, database, rules), *_unknown(workload, database, rules)]
    if database.work is not None:
        counts = needs.counts_of(workload, result)
        found += [*tables.scan_findings(counts, database.work, rules), *tables.unindexed_findings(counts, database.work, rules)]
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


# ---------------------------------------------------------------- what is counted


def _most_commits(counts: Sequence[RequestCount], database: DatabaseUse, rules: Rules) -> Iterable[AuditLine]:
    """The line on far more commits than requests. They pay for answers that come from elsewhere.

    Pings, resets and connecting are allowed for, and so is a statement that reads a table: a query for each row is honest.
    In a mix an answer that asks the database and needs no commit may make as many as one that needs one.
    Where rollbacks count as commits, they are held to the bound as well.
    """

    def bound_of(need: Needs) -> float:
        return need.most_commits_per_answer or rules.paid_most * need.commits_per_answer

    def each(need: Needs) -> float:
        return bound_of(need) or (rules.paid_most if need.statements or need.tables or need.functions else 0.0)

    if any(one.request.needs is None for one in counts) or not any(bound_of(one.request.need) for one in counts):
        return
    if database.commits is not None:
        scans = sum(table.scans for table in database.work.tables.values()) if database.work is not None else 0
        most = needs.most(counts, each, 0) + rules.paid_free * (1 + (database.sessions or 0)) + scans
        sentence = f"at most {each(counts[0].request.need):g} commits for each request, {rules.paid_free} for each connection"
        if len(counts) > 1:
            sentence = (
                f"at most, for each request: {needs.words_of_mix(counts, each, 'commit')}; {rules.paid_free} for each connection"
            )
        sentence += ", and one for each scan of a table"
        rollbacks = database.rollbacks or 0 if any(one.may_roll_back for one in counts) else 0
        yield AuditLine("commits-most", sentence, database.commits + rollbacks, 0, most)


def _returned_lines(workload: Workload, counts: Sequence[RequestCount], work: DatabaseWork | None) -> Iterable[AuditLine]:
    """The line on rows that came back: a portal that is fetched in part reads its table whole, and returns a few of them."""

    def each(need: Needs) -> float:  # an aggregate or a join reads more rows than an answer holds
        return min(need.rows_per_answer, sum(one.rows for one in need.tables.values()))

    if any(each(one.request.need) for one in counts) and work is not None and work.statements is not None:
        rows = sum(one.rows for text, one in work.statements.items() if kind(_counted(text), workload) == DECLARED)
        sentence = needs.words(counts, each, "row returned by the declared statements")
        if len(counts) == 1:
            sentence = f"at least {each(counts[0].request.need):g} rows returned by the declared statements for each good answer"
        yield AuditLine("rows-returned", sentence, rows, needs.least(counts, each), None)


def _calls(work: DatabaseWork | None) -> Mapping[str, float] | None:
    """Normalised statement → calls, where the database counts them."""
    if work is None or work.statements is None:
        return None
    return _summed((text, one.calls) for text, one in work.statements.items())


def _summed(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for text, value in pairs:
        total[_counted(text)] = total.get(_counted(text), 0) + value
    return total


def _counted(text: str) -> str:
    """The normalised statement of a text that the database counts executions by."""
    return normalise(text[found.end() :] if (found := PREPARED.match(text)) else text)


# ---------------------------------------------------------------- what is sampled


def _samples(database: DatabaseUse) -> dict[str, int]:
    return {text: sum(doing.values()) for text, doing in database.statements.items()}


def _work_samples(workload: Workload, database: DatabaseUse) -> dict[str, int]:
    """The samples that tell how often a statement was asked, without those of statements that only stand around others.

    Samples weigh time. So one that sleeps, waits for a lock or reads for long before the declared statement would hide that one.
    What an undeclared statement counts is the moments after it, and no more than as many in which it ran: it pays for answers
    that come from elsewhere only where it takes little time. A name alone tells nothing, where scans of tables do.
    """
    found, scans_tell = {}, database.work is not None and _scans_tell(workload)
    for text, doing in database.statements.items():
        if (what := kind(text, workload)) in CONTROL or what == "hidden" and scans_tell:
            continue
        after = sum(count for state, count in doing.items() if state in GAPS)
        count = sum(doing.values()) if what == DECLARED else after + min(after, doing.get("running", 0))
        if count:
            found[text] = count
    return found


def _scans_tell(workload: Workload) -> bool:
    """True if each request that declares statements declares scans of a table: these are counted, whatever the texts show."""
    asking = [one.need for one in workload.requests if one.need.statements]
    return all(any(table.scans for table in need.tables.values()) for need in asking)


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
    """Note each kind of statement that is not as it was declared, with its share."""
    calls = _calls(database.work)
    counts: Mapping[str, float] = _samples(database) if calls is None else calls
    total = sum(counts.values())
    if total < rules.statement_samples:
        return
    by_kind: dict[str, dict[str, float]] = {}
    for text, count in counts.items():
        by_kind.setdefault(kind(text, workload), {})[text] = count
    if any(one.need.statements_per_answer > 1 for one in workload.requests):
        by_kind.pop("transaction", None)
    by_kind["computed"] = {text: count for text, count in by_kind.get(DECLARED, {}).items() if _computes(text, workload)}
    for name, words in NAMES.items():
        texts = by_kind.get(name, {})
        share = sum(texts.values()) / total
        if share >= rules.statement_share_note:
            most = max(texts, key=lambda text: texts[text]) or "(an empty statement)"
            of = "statements" if calls is not None else "backends' last statements"
            sentence = f"{share:.0%} of the {of} were {words}: {most[:SHOWN_CHARACTERS]}"
            evidence: Evidence = {"share": round(share, 4), "of": int(total), "statement": most[:300]}
            yield Finding(f"statement-{name}", Severity.NOTE, sentence, evidence)


def _unknown(workload: Workload, database: DatabaseUse, rules: Rules) -> Iterable[Finding]:
    """One note on all that the audit had to leave out."""
    missing, wanted = [], [one.need for one in workload.requests]
    asked, counted = any(one.statements for one in wanted), _calls(database.work) is not None
    if asked and not counted and _most_likely_share(workload, database, rules) is None:
        missing.append(f"the statements (fewer than {rules.statement_samples:g} samples)")
    if any(one.functions for one in wanted) and (database.work is None or database.work.functions is None):
        missing.append("the calls of functions (`track_functions` is off)")
    if any(one.tables for one in wanted) and database.work is None:
        missing.append("the scans of tables")
    if missing:
        sentence = f"the audit did not hold {' and '.join(missing)} against the answers: the database did not tell"
        yield Finding("statements-unknown", Severity.NOTE, sentence)
