"""A workload's own statements tried without a server: the table of answers, the ceiling's script, and all of its audit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from fairground.host import Keeper, Streams
from fairground.measure import audit
from fairground.measure.pgbench import last_line, rate_per_s
from fairground.measure.statement_trial import Spot, StatementTrial
from fairground.model import Workload, foreign
from fairground.model.source import Source
from fairground.postgres import binary

COUNTED = """SELECT 1 FROM pg_proc JOIN pg_language ON pg_language.oid = prolang
WHERE proname = %(name)s AND pronamespace = 'public'::regnamespace AND lanname NOT IN ('sql', 'c', 'internal')"""
"""Finds a function whose calls the lab's database counts: those of SQL are part of the statement that calls them."""
THERE = "SELECT 1 FROM pg_stat_user_tables WHERE relname = %(name)s"
PGBENCH_S = 60.0


def try_workload(trial: StatementTrial, source: Source, workload: Workload) -> None:
    """Try the statements of one workload, whose texts have their values."""
    _table(trial, source, workload)
    _audit(trial, source, workload)
    asked = workload.audit
    for number, statement in enumerate(asked.statements):
        if not trial.database.shared:
            trial.allow(Spot(source, ("audit", "statements", number)), statement)
    for kind, names, sql in (("tables", asked.tables, THERE), ("functions", asked.functions, COUNTED)):
        for name in names:
            if trial.database.query(sql, {"name": name}):
                trial.right += 1
                continue
            spot = Spot(source, ("audit", kind, name))
            what = "table" if kind == "tables" else "function in a language whose calls are counted (not SQL)"
            trial.refuse(spot, f"`{spot.key}` names no {what} of", "see schema.sql")


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


def _table(trial: StatementTrial, source: Source, workload: Workload) -> None:
    body = workload.expect.body
    if body is None or "table" not in body:
        return
    spot = Spot(source, ("expect", "body", "table"))
    rows = trial.answer(spot, cast(Any, body["table"])["sql"])
    if rows is not None and (not rows or len(rows[0]) != 2):
        trial.right -= 1
        said = f"gives {len(rows[0])} columns, and needs two," if rows else "gives no row, so that no answer could be right,"
        trial.refuse(spot, f"`{spot.key}` {said} in", "select what is in the slot, and its answer")


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
    for spot, statement, columns in _of_writes(source, workload):
        trial.prepare(spot, statement, columns=columns)


def _unheld(rows: Any, equals: str) -> str | None:
    """Say why an invariant does not hold where nothing has been asked yet; None where it does."""
    value: Any = rows[0][0] if rows else None
    if not _is_whole(value):
        return f"gives {'nothing' if value is None else repr(value)}, and no whole number"
    wanted = audit.evaluate(equals, {"before": int(value), "acknowledged": 0})
    return None if wanted == int(value) else f"is {int(value)} on fresh data, and should be {wanted}"


def _is_whole(value: object) -> bool:
    try:
        return int(cast(Any, value)) == value
    except (TypeError, ValueError):
        return False


def _of_writes(source: Source, workload: Workload) -> Iterator[tuple[Spot, str, int | None]]:
    """The statements by which a write is found: each needs the value of a request."""
    asked = workload.audit
    if asked.written is not None:
        if asked.written.sql:
            yield Spot(source, ("audit", "written", "sql")), _dollars(asked.written.sql), 1
        if asked.written.holds:
            yield Spot(source, ("audit", "written", "holds")), asked.written.holds.replace(":answer", "($1::jsonb)"), 1
        if asked.written.own is not None:
            yield Spot(source, ("audit", "written", "own", "sql")), _dollars(asked.written.own.sql), None
    if asked.history is not None:
        yield Spot(source, ("audit", "history", "sql")), asked.history.sql, 2


def _dollars(statement: str) -> str:
    """A statement with its `%s` as PostgreSQL numbers them."""
    return statement.replace("%s", "$1").replace("%%", "%")
