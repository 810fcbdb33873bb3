"""The report of a server's conduct: every case tried, one finding each."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from fairground.contract.case import Case, CaseKind
from fairground.contract.exchange import CaseOutcome, Target, perform
from fairground.contract.expected import NO_NUMBER, AskDatabase, Number, ask, number_of
from fairground.contract.judge import AnswerJudge
from fairground.contract.procedures import NEEDS_TOLD, carry_out
from fairground.contract.stage import NotStaged, Stage
from fairground.contract.wire import Trouble
from fairground.model import ContractError, Finding, LabError, MachineError, Severity
from fairground.model.contract import Contract

AskRow = Callable[[str, tuple[str, int]], Mapping[str, str]]
"""Gives the first row of a contract's table, column → value, where a server at this address is asked for some of it."""


@dataclass(frozen=True)
class Terms:
    """The terms on which a server is tried. `skip`: workloads that it does not do, each with the reason.

    `is_told`: whether it learns what a `$name` stands for. `rows`: gives cells of tables that cases name, asked anew for each.
    """

    skip: Mapping[str, str] = field(default_factory=dict)
    is_told: Callable[[str], bool] = lambda _: True
    rows: AskRow | None = None


@dataclass(frozen=True)
class Report:
    """One finding per case, in their order: NOTE when right (or skipped), WARN when it could not be tried, REJECT when wrong.

    `bodies` holds, for each case with a good answer, the last body that was found right.
    """

    findings: tuple[Finding, ...]
    bodies: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """True if nothing was wrong."""
        return not self.wrong

    @property
    def wrong(self) -> frozenset[str]:
        """The ids of the cases that went wrong."""
        return frozenset(one.id.removeprefix("case:") for one in self.findings if one.severity is Severity.REJECT)


def run(
    cases: Sequence[Case],
    *,
    address: tuple[str, int],
    contract: Contract,
    names: Mapping[str, object] | None = None,
    probe: AskDatabase | None = None,
    stage: Stage | None = None,
    only: Collection[str] | None = None,
    terms: Terms | None = None,
) -> Report:
    """Try `cases` (or those named by `only`) on the server at `address`. A bad server is a finding, never an exception.

    `names` are what `$names` in the cases stand for: numbers at the data's scale, and the paths of this server.
    Cases of workloads alone that `terms` skip are not tried, nor those that hold the server to what it is not told. Procedures
    come last, since they start the server anew through `stage`. One that follows a failed case never meets the server that
    failed it.
    """
    unknown = set(only or ()) - {case.id for case in cases}
    if unknown:
        raise LabError(f"unknown case `{min(unknown)}`", hint=f"cases: {', '.join(case.id for case in cases)}")
    chosen = [case for case in cases if only is None or case.id in only]
    findings: list[Finding] = []
    bodies: dict[str, bytes] = {}
    failed = False
    values = {**contract.numbers_at(1), **contract.paths, **(names or {})}
    known, terms = AnswerJudge(contract, probe), terms or Terms()
    for written in sorted(chosen, key=lambda case: case.kind is CaseKind.PROCEDURE):
        case = written.fill(values)
        reason = _untried(case, probe, stage, terms)
        if reason is not None:
            findings.append(reason)
            continue
        started_s = time.monotonic()
        target = Target(*address, known, started_s + case.timeout_s)
        try:
            seen = _with_rows(case, target, probe, stage, failed, terms.rows)
        except NotStaged as lacking:
            findings.append(Finding(f"case:{case.id}", Severity.WARN, f"not tried: {lacking.message}"))
            continue
        findings.append(_finding(case, seen, time.monotonic() - started_s))
        failed = seen.wrong is not None or (failed and case.kind is not CaseKind.PROCEDURE)
        if seen.wrong is None and seen.body is not None:
            bodies[case.id] = seen.body
    return Report(tuple(findings), bodies)


def _untried(case: Case, probe: AskDatabase | None, stage: Stage | None, terms: Terms) -> Finding | None:
    """The finding of a case that is not tried, or None."""
    if case.workloads and all(workload in terms.skip for workload in case.workloads):
        return Finding(f"case:{case.id}", Severity.NOTE, f"skipped: {terms.skip[case.workloads[0]]}", {"skipped": 1})
    if (name := NEEDS_TOLD.get(case.procedure or "")) is not None and not terms.is_told(name):
        return Finding(f"case:{case.id}", Severity.NOTE, f"skipped: the server is not told `${name}`", {"skipped": 1})
    if case.kind is CaseKind.PROCEDURE and stage is None:
        return Finding(f"case:{case.id}", Severity.WARN, "not tried: it needs the server's process and database, not a URL alone")
    if case.asks_database and probe is None or case.tables and terms.rows is None:
        return Finding(f"case:{case.id}", Severity.WARN, "not tried: it needs the database to look into")
    return None


def _with_rows(
    case: Case, target: Target, probe: AskDatabase | None, stage: Stage | None, failed: bool, rows: AskRow | None
) -> CaseOutcome:
    """Carry the case out with a row of each table that it names: `:column` in its statements is of that row, too."""
    cells = dict[str, str]()
    try:
        for table in case.tables:
            assert rows is not None, "without rows the case is not tried"
            cells |= {f"{table}.{column}": value for column, value in rows(table, (target.host, target.port)).items()}
        sent = {name.partition(".")[2]: value for name, value in cells.items()}
        known = replace(target.known, sent={**target.known.sent, **sent})
        return _tried(case.with_cells(cells), replace(target, known=known), probe, stage, failed)
    except (NotStaged, MachineError, ContractError):
        raise  # that is no server's doing
    except LabError as error:
        return CaseOutcome(f"could not be carried out: {error.message}")


def _tried(case: Case, target: Target, probe: AskDatabase | None, stage: Stage | None, failed: bool) -> CaseOutcome:
    """Carry the case out and compare the database before and after. `failed`: the server that runs has failed a case."""
    sent = target.known.sent
    before = {sql: _number(probe, sql, sent) for sql in case.database}
    for sql, number in before.items():
        if number is None and failed:
            return CaseOutcome(f"in the database `{sql}` gives no number any more")
        if number is None:
            said = f"`{sql}` gives no single number, for the case `{case.id}` of the contract `{case.contract}`"
            raise ContractError(said, "select one number, such as count(*)")
    if case.before and probe is not None:
        ask(probe, case.before, sent)
    try:
        if case.kind is CaseKind.PROCEDURE:
            assert stage is not None and case.procedure is not None
            seen = carry_out(case, target, stage, anew=failed)
        else:
            seen = perform(case, target)
    except Trouble as trouble:
        return CaseOutcome(trouble.sentence)
    finally:
        if case.after and probe is not None:
            ask(probe, case.after, sent)
    for sql, moves in case.database.items():
        was, now = before[sql], _number(probe, sql, sent, was_right=True)
        moved = None if was is None or now is None else Fraction(now) - Fraction(was)
        if moved != moves and seen.wrong is None:
            how = "gives no number any more"
            if moved is not None:
                how = f"should have moved by {moves}, and moved by {moved if moved.denominator == 1 else float(moved)}"
            return replace(seen, wrong=f"in the database `{sql}` {how}")
    return seen


def _number(probe: AskDatabase | None, sql: str, sent: Mapping[str, object], was_right: bool = False) -> Number | None:
    """The number that a statement gives; None where it gives none, or is refused now although it `was_right` before."""
    assert probe is not None
    try:
        ((value,),) = ask(probe, sql, sent)
        return number_of(value)
    except NO_NUMBER:
        return None
    except ContractError:
        if not was_right:
            raise
        return None


def _finding(case: Case, seen: CaseOutcome, took_s: float) -> Finding:
    evidence = {**seen.evidence, "took_ms": round(took_s * 1000)}
    if seen.wrong is None:
        return Finding(f"case:{case.id}", Severity.NOTE, case.title, evidence)
    return Finding(f"case:{case.id}", Severity.WARN if case.warns else Severity.REJECT, f"{case.title}: {seen.wrong}", evidence)
