"""The rows that requests of a load draw values from: asked of the arm's fresh database, and of the server, before the load."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from fairground.contract.case import Request
from fairground.contract.expected import kept_values
from fairground.contract.wire import CaseWire, Trouble
from fairground.generators.slots import in_json
from fairground.model import LabError, Workload, foreign
from fairground.model.contract import DataTable
from fairground.model.data import Rows
from fairground.postgres import Database

MOST_ROWS = 100_000
"""More would make plans of many megabytes."""
PATIENCE_S = 10.0
CELL = re.compile(r"\{([\w-]+)\.([\w-]+)\}")


def fill(workload: Workload, database: Database, address: tuple[str, int]) -> tuple[Workload, str | None]:
    """The workload with the rows of its tables; and why the server gave none where it was asked for them, or None.

    LabError where a statement has no rows, or too many.
    """
    found: dict[str, Rows] = {}
    for name, table in workload.data.items():
        if table.request is None:
            found[name] = _from_database(name, table, database)
            continue
        asked = _from_server(name, table, found[table.for_each], address)
        if isinstance(asked, str):
            return workload, asked
        found[name] = asked
    return replace(workload, rows=found), None


def _from_database(name: str, table: DataTable, database: Database) -> Rows:
    with database.connect() as connection:
        cursor = connection.execute(table.sql.encode())
        columns = tuple(column.name for column in cursor.description or ())
        rows = tuple(tuple(_cell(value) for value in row) for row in cursor.fetchmany(MOST_ROWS + 1))
    if not rows or not columns or len(rows) > MOST_ROWS:
        said = f"more than {MOST_ROWS:,} rows" if rows else "no row"
        raise LabError(f"the statement of the contract's table `data.{name}` gives {said}", "correct it, or add a LIMIT")
    return Rows(columns, rows)


def _cell(value: Any) -> str | int:
    return value if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _from_server(name: str, table: DataTable, parent: Rows, address: tuple[str, int]) -> Rows | str:
    """The rows of `parent`, each with what the server answered to it. Or the sentence that says what it answered instead."""
    assert table.request is not None
    rows = []
    with CaseWire(*address, time.monotonic() + PATIENCE_S) as wire:
        for row in parent.rows:
            cells = {f"{table.for_each}.{column}": str(value) for column, value in zip(parent.columns, row, strict=True)}
            kept = _ask(wire, table, cells, address)
            if isinstance(kept, str):
                return f"`{table.request.method} {table.request.path}`, which fills the table `data.{name}`, {kept}"
            rows.append((*row, *(kept[column] for column in table.keep)))
    return Rows((*parent.columns, *table.keep), tuple(rows))


def _ask(wire: CaseWire, table: DataTable, cells: Mapping[str, str], address: tuple[str, int]) -> Mapping[str, str] | str:
    asked = table.request
    assert asked is not None
    body = None if asked.body is None else _filled(asked.body, cells, in_json).encode()
    headers = tuple((name, _filled(value, cells, str)) for name, value in asked.headers.items())
    request = Request(asked.method, _filled(asked.path, cells, str), headers=headers, body=body)
    try:
        wire.until(time.monotonic() + PATIENCE_S)
        wire.send(request.encode(*address))
        answer = wire.answer(asked.method)
    except Trouble as trouble:
        return f"got no answer: {trouble}"
    if not 200 <= answer.status < 300:
        return f"was answered with status {answer.status}: {foreign.line(answer.body[:120].decode('utf-8', 'replace'))}"
    found, missing = kept_values(answer, table.keep)
    return found if missing is None else f"was answered without `{missing}`"


def _filled(text: str, cells: Mapping[str, str], escape: Callable[[str], str]) -> str:
    """A template with the cells of one row. `{{` is a brace."""
    filled = CELL.sub(lambda found: escape(cells.get(f"{found[1]}.{found[2]}", found[0])), text.replace("{{", "\0"))
    return filled.replace("\0", "{")
