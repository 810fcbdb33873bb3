"""The audit: what the database holds after a trial, against what was acknowledged."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar

import psycopg

from fairground.contract.expected import NO_NUMBER, Number, number_of
from fairground.judge import answers, crash, statements, thresholds
from fairground.judge.thresholds import Rules
from fairground.measure.arm import ArmWindow
from fairground.model import (
    AuditLine,
    ContractError,
    DatabaseUse,
    DatabaseWork,
    Fault,
    LedgerRow,
    Outcomes,
    Result,
    Workload,
)
from fairground.model.workload import GOOD
from fairground.postgres import Counters, Database

Found = TypeVar("Found")
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}

HANDED_IN_S = 2.0
"""What was counted in so much of a load may be handed in after it: a busy backend does so once a second, an idle one later."""


@dataclass(frozen=True)
class LoadEnd:
    """The counts since `Before`, read as the last load ended. `rate_per_s`: good answers a second until then, at most."""

    counters: Counters
    work: DatabaseWork
    rate_per_s: float


@dataclass(frozen=True)
class Before:
    """The values that the audit's statements found before the load: invariant id → value, ledger name → account → value."""

    values: Mapping[str, int]
    ledgers: Mapping[str, Mapping[str, int]]
    work: DatabaseWork | None = None
    counters: Counters | None = None
    end: LoadEnd | None = None
    """What is paid later pays for no answer of a load that only reads. None: nobody looked."""


def before(database: Database, workload: Workload) -> Before:
    """Ask every statement of the workload's audit before the first request of the load is sent.

    ContractError where one of them does not give what it should.
    """
    asked = workload.audit
    with database.keep_asking():
        values = {one.id: _said(_whole, database, one.sql, f"invariant `{one.id}`") for one in asked.invariants}
        ledgers = {one.name: _said(_whole_accounts, database, one.sql, f"ledger `{one.name}`") for one in asked.ledgers}
    return Before(values, ledgers, database.work(), database.counters())


def counters(database: Database, was: Before | None) -> Counters:
    """Return what the database counted since `was`, all of it where nothing was read then.

    All sessions are among it: pools open them before.
    """
    now, then = database.counters(), None if was is None else was.counters
    if then is None:
        return now
    commits, rollbacks = now.commits - then.commits, now.rollbacks - then.rollbacks
    return replace(now, commits=commits, rollbacks=rollbacks, rows_read=now.rows_read - then.rows_read)


def work(database: Database, was: Before | None, workload: Workload) -> DatabaseWork | None:
    """Return what the database counted since `was`; None where nothing was read then, or nothing can be read now."""
    try:
        if was is None or was.work is None:
            return None
        return database.work().since(was.work).join_tables(workload.tables_in_place)
    except psycopg.Error:
        return None


def with_end(
    was: Before | None,
    database: Database,
    workload: Workload,
    results: Sequence[Result],
    windows: Iterable[ArmWindow],
    fault: Fault | None = None,
) -> Before | None:
    """Note what the database has counted, as a load has just ended.

    A transaction that is open is counted when it ends, so that nobody knows where there are some, or after a `fault`. Who
    writes is held to the moment of each write.
    """
    if was is None or workload.audit.writes or not workload.uses_database:
        return was
    # What is handed in late is of the last second, which may have had far more answers than the mean of its load.
    rates = [one.goodput_per_s for one in results] + [float(second.ok) for one in results for second in one.seconds]
    rates += [one.ok / one.window_s for one in windows if one.window_s]
    end = None
    with suppress(psycopg.Error):
        is_known = fault is None and not database.count_backends("idle in transaction")
        if is_known and (done := work(database, was, workload)) is not None:
            end = LoadEnd(counters(database, was), done, max(rates, default=0.0))
    return replace(was, end=end)


def _hold_early(
    found: Sequence[AuditLine], workload: Workload, result: Result, use: DatabaseUse, end: LoadEnd, rules: Rules
) -> list[AuditLine]:
    """The lines, held against what was counted by the end of the load, but for what is handed in later."""
    counted = end.counters
    then = replace(use, commits=counted.commits, rollbacks=counted.rollbacks, rows_read=counted.rows_read, work=end.work)
    early = (*answers.work_lines(workload, result, then), *statements.lines(workload, result, then, rules))
    late = HANDED_IN_S * end.rate_per_s / result.done if result.done and end.rate_per_s else 1.0
    return list(answers.hold_early(found, early, min(1.0, late)))


def lines(
    database: Database,
    workload: Workload,
    result: Result,
    use: DatabaseUse,
    was: Before,
    rules: Rules | None = None,
    most_lost: int | None = None,
) -> tuple[AuditLine, ...]:
    """Every line of the audit with its arithmetic. A statement that fails is a line with nothing found, which does not hold.

    `most_lost`: acknowledged writes that the database may have lost by itself. None: it may have lost none.
    """
    life = result.life or result.window
    unknown = None if result.uncounted_most is None else life.unknown + result.uncounted_most
    rules = rules or thresholds.standard().rules
    found = list(answers.work_lines(workload, result, use)) if use.commits is not None else []
    found += statements.lines(workload, result, use, rules)
    if was.end is not None and use.commits is not None:
        found = _hold_early(found, workload, result, use, was.end, rules)
    for invariant in workload.audit.invariants:
        names = {"before": was.values[invariant.id], "acknowledged": result.done}
        names |= {f"good.{name}": one.done for name, one in result.requests.items()}
        # A generator that drops requests at its end cannot say how many good answers there were, only the least.
        above = invariant.may_exceed or (result.uncounted_most != 0 and invariant.counts_answers)
        value, sentence = _if_there(_value, database, invariant.sql), invariant.sentence
        if value is not None and not isinstance(value, int):  # within bounds, too, it is none that they allow
            value, sentence = None, f"{sentence}; {value} is no whole number"
        expected = evaluate(invariant.equals, names)
        line = answers.invariant_line(invariant.id, sentence, value, expected, unknown, above)
        if GOOD.search(invariant.equals):
            least, most = bounds_of(invariant.equals, names, result)
            line = replace(line, expected_min=least, expected_max=most)
        elif above and invariant.counts_answers:
            line = _widen(line, invariant.equals, names, unknown)
        if most_lost is not None and invariant.counts_answers:
            fewer, more = _swing(invariant.equals, names, -most_lost)
            line = crash.loss_line(line, expected, -fewer, more)
        found.append(line)
    if result.ledgers is None:
        return tuple(found)
    for ledger in workload.audit.ledgers:
        rows, after = result.ledgers.get(ledger.name, {}), _if_there(_accounts, database, ledger.sql)
        if after is None:
            sentence = f"the rows that the entries name can be read ({ledger.name}); rows that moved otherwise"
            found.append(AuditLine(f"ledger-{ledger.name}", sentence, None, 0, 0))
        else:
            line = answers.ledger_line(ledger.name, rows, was.ledgers[ledger.name], after)
            entries = max(sum(entry.name == ledger.name for entry in one.ledger) for one in workload.requests)
            found.append(line if most_lost is None else crash.loss_ledger(line, most_lost * entries))
    return tuple(found)


def join_results(results: Sequence[Result]) -> Result:
    """All results as one: outcomes and ledgers added up, unknown ones unknown. What belongs to one window is the first one's.

    Where one of them keeps no ledger, all of them together have none.
    """
    life = functools.reduce(Outcomes.join, (one.life or one.window for one in results))
    ledgers: dict[str, dict[str, LedgerRow]] = {}
    for one in results:
        for name, rows in (one.ledgers or {}).items():
            ours = ledgers.setdefault(name, {})
            for account, row in rows.items():
                was = ours.get(account, LedgerRow(0, 0, 0, 0))
                ours[account] = LedgerRow(*(getattr(was, key) + getattr(row, key) for key in LedgerRow.__dataclass_fields__))
    known = all(one.ledgers is not None for one in results)
    refused, requests = sum(one.refused for one in results), dict(results[0].requests)
    for one in results[1:]:
        for name, of in one.requests.items():
            was_of = requests.get(name, of)
            joined = replace(was_of, life=was_of.life.join(of.life), refused=was_of.refused + of.refused)
            requests[name] = joined if name in requests else of
    return replace(results[0], life=life, ledgers=ledgers if known else None, refused=refused, requests=requests)


def _widen(line: AuditLine, expression: str, names: Mapping[str, int], unknown: int | None) -> AuditLine:
    """The line with room for requests of unknown outcome, each of which moves the expression as a good answer does.

    Where nobody knows how many there were, there is no bound on the side to which they move it.
    """
    expected = evaluate(expression, names)
    fewer, more = _swing(expression, names, 1 if unknown is None else unknown)
    if unknown is not None:
        return replace(line, expected_min=expected + fewer, expected_max=expected + more)
    least = expected if line.found is None or not fewer else min(expected, line.found)
    return replace(line, expected_min=least, expected_max=None if more else expected)


def bounds_of(expression: str, names: Mapping[str, int], result: Result) -> tuple[int, int]:
    """The least and the most that an expression may be: requests of a mix whose fate is unknown may have been carried out.

    It is linear in each of them, so that the ends of each decide. Those in no count may have been of any request.
    """
    least, most = dict(names), dict(names)
    for name, one in result.requests.items():
        doubtful = names[f"good.{name}"] + one.life.unknown
        here = evaluate(expression, {**names, f"good.{name}": doubtful}) - evaluate(expression, names)
        (most if here > 0 else least)[f"good.{name}"] = doubtful
    fewer, more = _swing(expression, names, result.uncounted_most or 0)
    return evaluate(expression, least) + fewer, evaluate(expression, most) + more


def _swing(expression: str, names: Mapping[str, int], answers: int) -> tuple[int, int]:
    """Compute how far an expression may fall and rise with this many good answers more, or fewer below 0.

    Nobody knows to which request of a mix they were, so that the one which moves it furthest decides.
    """
    expected = evaluate(expression, names)
    counts = [name for name in names if name == "acknowledged" or name.startswith("good.")]
    moves = [evaluate(expression, {**names, name: names[name] + answers}) - expected for name in counts]
    return min(0, *moves), max(0, *moves)


def evaluate(expression: str, names: Mapping[str, int]) -> int:
    """The value of an expression of integers, names, `+`, `-` and `*`; the manifest has seen to it that it is one."""
    text = GOOD.sub(lambda found: f"({names[found[0]]})", expression)
    return _evaluate(ast.parse(text, mode="eval").body, names)


def _evaluate(node: ast.expr, names: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand, names)
        case ast.BinOp(left=left, op=operation, right=right):
            return int(OPERATORS[type(operation)](_evaluate(left, names), _evaluate(right, names)))
    raise ValueError(f"`{ast.unparse(node)}` is not integer arithmetic")


def _if_there(read: Callable[[Database, str], Found], database: Database, statement: str) -> Found | None:
    """Return what a statement finds; None where a server dropped what it reads, or emptied it so that a sum is NULL."""
    try:
        return read(database, statement)
    except (psycopg.Error, *NO_NUMBER):
        return None


def _said(read: Callable[[Database, str], Found], database: Database, statement: str, whose: str) -> Found:
    """Return what a statement finds where nothing was asked of a server yet: then it is the contract's own mistake."""
    try:
        return read(database, statement)
    except NO_NUMBER:
        said = f"the {whose} gives no whole number before the load: `{' '.join(statement.split())[:120]}`"
        raise ContractError(said, "./fairground check --contract NAME tries its statements") from None


def _value(database: Database, statement: str) -> Number:
    return number_of(database.query(statement)[0][0])


def _accounts(database: Database, statement: str) -> dict[str, Number]:
    return {account: number_of(value) for account, value in database.query(statement, keyed=True)}


def _whole(database: Database, statement: str) -> int:
    return _require_whole(_value(database, statement))


def _whole_accounts(database: Database, statement: str) -> dict[str, int]:
    return {account: _require_whole(value) for account, value in _accounts(database, statement).items()}


def _require_whole(value: Number) -> int:
    if not isinstance(value, int):
        raise ValueError(f"{value} is no whole number")
    return value
