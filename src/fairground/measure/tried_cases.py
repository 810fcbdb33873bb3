"""Cases tried without a server: the database's own right answer is held against everything that a case says of one."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from fairground.contract import expected
from fairground.contract.case import Case, CaseStep, Disturbance, Request
from fairground.contract.wire import HttpAnswer
from fairground.measure.statement_trial import TEXTS, Spot, StatementTrial
from fairground.model import LabError
from fairground.model.contract import DataTable, names_in
from fairground.model.data import column_mistake
from fairground.model.source import Location, Source, nearest

SAFE = ("GET", "HEAD", "OPTIONS")
"""Methods that write nothing, unless a workload says otherwise."""


@dataclass(frozen=True)
class PlacedCase:
    """A case as it is written, with the places of its steps."""

    source: Source
    location: Location
    case: Case
    places: Sequence[Location]
    writes: bool
    """True if one of its workloads writes: then its answer may be there only afterwards."""


def try_case(trial: StatementTrial, placed: PlacedCase) -> None:
    """Try every statement of a case, and its right answers where the database alone knows them."""
    case, began = placed.case.fill(trial.values), len(trial.wrong)
    drawn = {column for table in case.tables for column in trial.columns.get(table, ())}
    for number, sql in enumerate(case.database):
        spot = Spot(placed.source, (*placed.location, "database", list(placed.case.database)[number]))
        if expected.find_names(sql, drawn):
            trial.prepare(spot, sql, drawn, columns=1)
        else:
            _number(trial, spot, sql)
    _around(trial, Spot(placed.source, (*placed.location, "before")), case.before, drawn)
    kept = set(drawn)
    read_only = not placed.writes
    for place, step in zip(placed.places, case.steps, strict=True):
        read_only = read_only and step.request.raw is None and step.request.method in SAFE
        _names(trial, Spot(placed.source, place), step)
        if len(trial.wrong) == began:  # of a case one mistake is told: others may follow from it
            _step(trial, Spot(placed.source, (*place, "expect")), case.id, step, kept, read_only)
        kept |= set(step.keep)
    _around(trial, Spot(placed.source, (*placed.location, "after")), case.after, drawn)


def try_requests(trial: StatementTrial, source: Source, tables: Mapping[str, DataTable]) -> None:
    """Try that columns have names of their own, and that requests name some that are there. Statements were tried before."""
    for name, table in tables.items():
        around, wrong = (column_mistake(trial.columns.get(one, ())) for one in (table.for_each, name))
        if wrong is not None and around is None:
            trial.refuse(Spot(source, ("data", name)), f"`data.{name}` {wrong}, in", "call it otherwise, as in `SELECT 1 AS one`")
        asked = table.request
        for text in (asked.path, asked.body or "", *asked.headers.values()) if asked is not None else ():
            for of, column in Request("", text).cells:
                known = trial.columns.get(of, ())
                if known and column not in known:
                    spot = Spot(source, ("data", name, "request"))
                    trial.refuse(spot, f"`data.{of}` has no `{column}` for `{spot.key}` of", nearest(column, known, "columns"))


def try_means(trial: StatementTrial, source: Source, means: Disturbance) -> None:
    """Try what procedures disturb a server with: its questions, and the rows that are locked."""
    for number, row in enumerate(means.rows):
        spot = Spot(source, ("disturbance", "rows", number))
        rows = trial.answer(spot, f"{row} FOR UPDATE SKIP LOCKED")
        if rows is not None and not rows:
            trial.refuse(spot, f"`{spot.key}` selects no row that could be locked, in")
    for name, step in (("ask", means.ask), ("block", means.block)):
        if step is not None:
            _names(trial, Spot(source, ("disturbance", name)), step)
            _step(trial, Spot(source, ("disturbance", name, "expect")), f"disturbance.{name}", step, (), name == "ask")


def _around(trial: StatementTrial, spot: Spot, sql: str, columns: Collection[str]) -> None:
    """Try a statement of the lab's own around a case. One that names a column of its row needs a value, and is prepared."""
    if expected.find_names(sql, columns):
        trial.prepare(spot, sql, columns)
    elif sql:
        trial.answer(spot, sql)


def _number(trial: StatementTrial, spot: Spot, sql: str) -> None:
    rows = trial.answer(spot, sql)
    if rows is None:
        return
    try:
        ((value,),) = rows
        int(value)
    except (TypeError, ValueError):
        trial.right -= 1
        trial.refuse(spot, "a statement below `database` gives no single number in", "select one number, such as count(*)")


def _names(trial: StatementTrial, spot: Spot, step: CaseStep) -> None:
    """Refuse a path with a `$name` that stands for nothing: it would be sent as it is written."""
    if left := names_in(step.request.target):
        trial.refuse(spot, f"unknown `${left[0]}` in a request of", f"names: {', '.join(sorted(trial.values))}")
    for table, column in step.request.cells:
        if column not in (known := trial.columns.get(table, ())):
            trial.refuse(spot, f"`data.{table}` has no `{column}` for a request of", f"columns: {', '.join(known)}")


def _step(trial: StatementTrial, spot: Spot, id: str, step: CaseStep, kept: Collection[str], read_only: bool) -> None:
    """Try what one step says of an answer."""
    expect = step.expect
    statements = expected.statements(expect.body)
    known, begun = None, len(trial.wrong)
    for sql in statements:
        if expected.number_names(sql, kept) != sql:
            trial.prepare(Spot(spot.source, (*spot.location, "body")), sql, kept)
        elif (rows := trial.answer(Spot(spot.source, (*spot.location, "body")), sql)) is not None:
            known = rows
            if (not rows or rows[0][0] is None) and not read_only:
                trial.untried.append(f"case `{id}` in `{spot.source.shown}` has a right answer only once a request has written")
                known = None
    if expect.holds is not None:
        _holds(trial, Spot(spot.source, (*spot.location, "holds")), expect.holds, kept, read_only)
    if len(trial.wrong) == begun and (known is not None or (expect.body is not None and "exact" in expect.body)):
        _perfect(trial, spot, id, step, kept, read_only)


def _holds(trial: StatementTrial, spot: Spot, statement: str, kept: Collection[str], read_only: bool) -> None:
    types = trial.prepare(spot, statement, kept)
    if types is None:
        return
    if not types or types[0] in TEXTS:
        trial.right -= 1
        said = "gives a text, which always counts as true," if types else "gives nothing, and so never holds,"
        trial.refuse(spot, f"`{spot.key}` {said} in", "select a boolean")
    elif read_only and expected.number_names(statement, kept) == statement:
        rows = trial.database.query(statement)
        if not (rows and rows[0][0]):
            trial.refuse(spot, f"`{spot.key}` holds for no answer: it does not on fresh data, in", "correct the statement")


def _perfect(trial: StatementTrial, spot: Spot, id: str, step: CaseStep, kept: Collection[str], read_only: bool) -> None:
    """Hold the right answer, as the database or the case itself has it, against all that the case says."""
    expect = step.expect
    assert expect.body is not None
    probe = trial.database.probe
    try:
        body = expected.perfect_body(expect.body, probe)
        if body is None:
            said = f"no server could pass case `{id}`: the database has no right answer to it, in"
            return trial.refuse(spot, said, "correct its statement")
        answer = HttpAnswer(200, "1.1", (), body)
        wrong = expected.problem(answer, expect.body, probe, {})
        if wrong is None and expect.matches is not None and not re.search(expect.matches, body.decode("utf-8", "replace")):
            wrong = f"the right body does not match `{expect.matches}`"
        unknown = expect.holds is None or any(f":{name}" in expect.holds for name in kept) or not read_only
        if wrong is None and expect.holds is not None and not unknown:
            wrong = expected.disproof(answer, expect.holds, probe, {}, bool(expect.body.get("any_case")))
    except LabError as error:
        wrong = error.message
    if wrong is not None:
        trial.refuse(spot, f"no server could pass case `{id}` ({wrong.replace('`', chr(39))}), in", "correct the case")
