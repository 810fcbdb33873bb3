"""A workload's own statements tried without a server: the table of answers, the ceiling's script, and all of its audit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from fairground.contract import expected
from fairground.host import Keeper, Streams
from fairground.measure import audit
from fairground.measure.pgbench import last_line, rate_per_s
from fairground.measure.statement_trial import Spot, StatementTrial
from fairground.model import LoadRequest, Needs, Workload, foreign
from fairground.model.contract import DataTable
from fairground.model.slot import find_slots, names_of, sources_of
from fairground.model.source import Location, Source, nearest
from fairground.model.workload import GOOD
from fairground.postgres import binary

COUNTED = """SELECT 1 FROM pg_proc JOIN pg_language ON pg_language.oid = prolang
WHERE proname = %(name)s AND lanname NOT IN ('sql', 'c', 'internal')"""
"""Finds a function, of any schema, whose calls the database counts: those of SQL are part of the statement that calls them."""
THERE = """SELECT 1 FROM pg_stat_user_tables JOIN pg_class ON pg_class.oid = relid
WHERE pg_class.relname = %(name)s AND NOT relispartition"""
"""Finds a table of any schema: the work on a partition is that of the whole table."""
PGBENCH_S = 60.0


def try_workload(trial: StatementTrial, source: Source, workload: Workload) -> None:
    """Try the statements of one workload, whose texts have their values."""
    for number, request in enumerate(workload.requests):
        around: Location = ("request", number) if workload.is_mix else ()
        _table(trial, source, request, around)
        _cells(trial, source, request, (*around, *(() if workload.is_mix else ("request",))))
        _needs(trial, source, request.need, (*around, "needs" if workload.is_mix else "audit"))
    _audit(trial, source, workload)


def _needs(trial: StatementTrial, source: Source, need: Needs, here: Location) -> None:
    """Try what an answer needs of the database: statements that a server may send, and tables and functions that are there."""
    for number, statement in enumerate(need.statements):
        if not trial.database.shared:
            trial.allow(Spot(source, (*here, "statements", number)), statement)
    tables = [*need.tables, *(other for table in need.tables.values() for other in table.also)]
    for kind, names, sql in (("tables", tables, THERE), ("functions", need.functions, COUNTED)):
        for name in names:
            if trial.database.query(sql, {"name": name}):
                trial.right += 1
                continue
            spot = Spot(source, (*here, kind, name))
            what = "table" if kind == "tables" else "function in a language whose calls are counted (not SQL)"
            trial.refuse(spot, f"`{spot.key}` names no {what} of", "see schema.sql")


def _cells(trial: StatementTrial, source: Source, request: LoadRequest, here: Location) -> None:
    """Try that the tables which a request draws from have the columns that its slots name."""
    texts = {"path": request.path, "body": request.body or ""} | dict(request.headers)
    for key, text in texts.items():
        for slot in find_slots(text):
            columns, column = trial.columns.get(slot.source or "", ()), slot.filling.partition(".")[2]
            if columns and column not in columns:
                spot = Spot(source, (*here, key) if key in ("path", "body") else (*here, "headers", key))
                trial.refuse(
                    spot,
                    f"the table `{slot.source}` has no column `{column}` for `{spot.key}` of",
                    nearest(column, columns, "columns"),
                )


def try_tables(trial: StatementTrial, source: Source, tables: Mapping[str, DataTable]) -> None:
    """Try the statements of tables that requests draw from. Each has rows, and its columns have names."""
    for name, table in sorted(tables.items(), key=lambda one: bool(one[1].for_each)):
        if not table.sql:
            written = tuple(table.rows[0]) if table.rows else ()
            trial.columns[name] = (*written, *trial.columns.get(table.for_each, ()), *table.keep)
            continue
        spot = Spot(source, ("data", name, "sql"))
        rows = trial.answer(spot, table.sql)
        trial.columns[name] = trial.names_of(table.sql) if rows is not None else ()
        if rows is not None and not rows:
            trial.right -= 1
            trial.refuse(spot, f"`{spot.key}` gives no row, so that no request could draw one, in", "correct the statement")
        elif any(None in row for row in rows or ()):
            trial.right -= 1
            trial.refuse(spot, f"`{spot.key}` gives NULL, which no request can have, in", "leave such rows out")


def try_limit(trial: StatementTrial, source: Source, workload: Workload, keeper: Keeper, folder: Path) -> None:
    """Run the ceiling's script once, by one client of pgbench."""
    if workload.limit_sql is None:
        return
    path, log = folder / "limit.sql", folder / "limit.log"
    path.write_text(workload.limit_sql, encoding="utf-8")
    address = trial.database.admin
    argv = [
        str(binary("pgbench")), "--no-vacuum", "--client=1", "--transactions=1", f"--file={path.name}", f"--host={address.host}",
        f"--port={address.port}", f"--username={address.user}", trial.database.name,
    ]  # fmt: skip
    with open(log, "wb") as output:
        env = {"PGPASSWORD": address.password}
        child = keeper.spawn(argv, role="pgbench", env=env, cwd=folder, streams=Streams.into(output))
    code = child.wait(PGBENCH_S)
    child.stop()
    said = log.read_text(errors="replace")
    if rate_per_s(said, code) is not None:
        trial.right += 1
        return
    found = next((one for one in said.splitlines() if re.search(r"error:|ERROR:", one)), last_line(said))
    words = foreign.line(found, foreign.SENTENCE_CHARACTERS).replace("`", "'").removeprefix("pgbench: error: ")
    trial.refuse(Spot(source, ("limit",)), f"pgbench refuses `limit` ({words}) of", "correct the script")


def _table(trial: StatementTrial, source: Source, request: LoadRequest, around: Location) -> None:
    body = request.expect.body
    if body is None or "table" not in body:
        return
    spot = Spot(source, (*around, "expect", "body", "table"))
    rows = trial.answer(spot, cast(Any, body["table"])["sql"])
    if rows is not None and (not rows or len(rows[0]) != 2):
        trial.right -= 1
        said = f"gives {len(rows[0])} columns, and needs two," if rows else "gives no row, so that no answer could be right,"
        trial.refuse(spot, f"`{spot.key}` {said} in", "select what is in the slot, and its answer")
        return
    try:
        expected.json_of([answer for _, answer in rows or ()])
    except ValueError as error:
        trial.right -= 1
        trial.refuse(spot, f"`{spot.key}` gives no JSON, but {error}, in", "let it select json, as in SELECT id, to_json(…)")


def _audit(trial: StatementTrial, source: Source, workload: Workload) -> None:
    """Its invariants, which hold before the first request, its ledgers, and where a write is seen."""
    asked = workload.audit
    for number, invariant in enumerate(asked.invariants):
        spot = Spot(source, ("audit", "invariants", number, "sql"))
        rows = trial.answer(spot, invariant.sql)
        if rows is not None and (wrong := _unheld(rows, invariant.equals)) is not None:
            trial.right -= 1
            trial.refuse(spot, f"`{spot.key}` {wrong}, in", "correct the statement, or what it `equals`")
    for number, ledger in enumerate(asked.ledgers):
        spot = Spot(source, ("audit", "ledgers", number, "sql"))
        rows = trial.answer(spot, ledger.sql)
        if rows is not None and not all(len(row) == 2 and _is_whole(row[1]) for row in rows):
            trial.right -= 1
            trial.refuse(spot, f"`{spot.key}` does not give two columns, an account and a whole number, in")
    for spot, statement, columns in _of_writes(trial, source, workload):
        trial.prepare(spot, statement, columns=columns)


def _unheld(rows: Any, equals: str) -> str | None:
    """Say why an invariant does not hold where nothing has been asked yet; None where it does."""
    value: Any = rows[0][0] if rows else None
    if not _is_whole(value):
        return f"gives {'nothing' if value is None else repr(value)}, and no whole number"
    names = {"before": int(value), "acknowledged": 0} | {f"good.{name}": 0 for name in GOOD.findall(equals)}
    wanted = audit.evaluate(equals, names)
    return None if wanted == int(value) else f"is {int(value)} on fresh data, and should be {wanted}"


def _is_whole(value: object) -> bool:
    try:
        return int(cast(Any, value)) == value
    except (TypeError, ValueError):
        return False


def _of_writes(trial: StatementTrial, source: Source, workload: Workload) -> Iterator[tuple[Spot, str, int | None]]:
    """The statements by which a write is found: each needs the value of a request."""
    asked = workload.audit
    if asked.written is not None:
        if asked.written.sql:
            yield Spot(source, ("audit", "written", "sql")), expected.place_value(asked.written.sql, "$1", "%"), 1
        if asked.written.holds:
            writer = workload.request(asked.written.of)
            names = {name.rpartition(".")[2] for name in names_of(writer)}
            names |= {column for name in sources_of(writer) for column in trial.columns.get(name, ())}
            yield Spot(source, ("audit", "written", "holds")), expected.number_names(asked.written.holds, sorted(names)), 1
        if asked.written.own is not None:
            own = expected.place_value(asked.written.own.sql, "$1", "%")
            yield Spot(source, ("audit", "written", "own", "sql")), own, None
    if asked.history is not None:
        yield Spot(source, ("audit", "history", "sql")), asked.history.sql, 2
