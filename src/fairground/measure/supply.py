"""The rows that requests of a load draw values from: asked of the arm's fresh database, and of the server, before the load."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import cast

from fairground.contract.case import Request
from fairground.contract.expected import kept_values
from fairground.contract.report import Terms
from fairground.contract.wire import LIMITED, CaseWire, HttpAnswer, Trouble
from fairground.generators.slots import escape_of, in_url
from fairground.measure.arm import StackArm
from fairground.model import LabError, Workload, foreign
from fairground.model.contract import Contract, DataRequest, DataTable
from fairground.model.data import Rows
from fairground.model.wire import Tls, with_accept
from fairground.postgres import Database, cell_of

MOST_ROWS = 100_000
"""More would make plans of many megabytes."""
PATIENCE_S = 10.0
AGAIN_S = 2.0
"""The wait after a rate limit that does not say how long; one that does is waited for up to `PATIENCE_S`."""
CELL = re.compile(r"\{([\w-]+)\.([\w-]+)\}")


@dataclass(frozen=True)
class ServerAddress:
    """The place where a server is asked for rows, by TLS where it has some."""

    host: str
    port: int
    tls: Tls | None = None
    patience_s: float = PATIENCE_S
    """The longest wait for an answer."""


def fill(workload: Workload, database: Database | None, address: ServerAddress) -> tuple[Workload, str | None]:
    """The workload with the rows of its tables; and why the server gave none where it was asked for them, or None.

    LabError where a statement has no rows, or too many. `database` None: no table has a statement.
    """
    found: dict[str, Rows] = {}
    for name, table in workload.data.items():
        if table.request is None:
            found[name] = _rows_of(name, table, database)
            continue
        asked = _from_server(name, table, found[table.for_each], address)
        if isinstance(asked, str):
            return workload, asked
        found[name] = asked
    return replace(workload, rows=found), None


def terms_of(arm: StackArm, database: Database) -> Terms:
    """The terms on which an arm's server is tried."""
    return Terms(arm.stack.skip, arm.stack.server.is_told, FirstRows(arm.workload.contract, arm.names, database))


@dataclass(frozen=True)
class FirstRows:
    """The first rows of a contract's tables, for its cases. `names`: what `$names` of the tables stand for."""

    contract: Contract
    names: Mapping[str, object]
    database: Database

    def __call__(self, name: str, address: tuple[str, int]) -> Mapping[str, str]:
        """Ask for a row, column → value. LabError where the database has none, or the server says nothing to it."""
        found = self._rows(name, address)
        return dict(zip(found.columns, map(str, found.rows[0]), strict=True))

    def _rows(self, name: str, address: tuple[str, int]) -> Rows:
        table = self.contract.tables[name].fill(self.names)
        if table.request is None:
            found = _rows_of(name, table, self.database)
            return replace(found, rows=found.rows[:1])
        asked = _from_server(name, table, self._rows(table.for_each, address), ServerAddress(*address))
        if isinstance(asked, str):
            raise LabError(asked)
        return asked


def _rows_of(name: str, table: DataTable, database: Database | None) -> Rows:
    if table.rows:
        columns = tuple(table.rows[0])
        return Rows(columns, tuple(tuple(row[column] for column in columns) for row in table.rows))
    assert database is not None, "a statement is asked of a database"
    return _from_database(name, table, database)


def _from_database(name: str, table: DataTable, database: Database) -> Rows:
    with database.connect() as connection:
        cursor = connection.execute(table.sql.encode())
    columns, found = cursor.description or (), cursor.pgresult
    count, said = found.ntuples if found is not None else 0, f"the statement of the contract's table `data.{name}` gives"
    if found is None or not count or not columns or count > MOST_ROWS:
        many = f"more than {MOST_ROWS:,} rows" if count else "no row"
        raise LabError(f"{said} {many}", "correct it, or add a LIMIT")
    rows = []
    for i in range(count):
        cells = tuple(cell_of(found.get_value(i, j), column.type_code) for j, column in enumerate(columns))
        if None in cells:
            raise LabError(
                f"{said} NULL as `{columns[cells.index(None)].name}`, which no request can have", "leave such rows out"
            )
        rows.append(cast("tuple[str | int, ...]", cells))
    return Rows(tuple(column.name for column in columns), tuple(rows))


def _from_server(name: str, table: DataTable, parent: Rows, address: ServerAddress) -> Rows | str:
    """The rows of `parent`, each with what the server answered to it. Or the sentence that says what it answered instead."""
    assert table.request is not None
    rows = []
    with Asker(address) as asker:
        for row in parent.rows:
            cells = {f"{table.for_each}.{column}": str(value) for column, value in zip(parent.columns, row, strict=True)}
            kept = _ask(asker, table.request, table.keep, cells)
            if isinstance(kept, str):
                return f"`{table.request.method} {table.request.path}`, which fills the table `data.{name}`, {kept}"
            rows.append((*row, *(kept[column] for column in table.keep)))
    return Rows((*parent.columns, *table.keep), tuple(rows))


def _ask(asker: Asker, asked: DataRequest, keep: Mapping[str, str], cells: Mapping[str, str]) -> Mapping[str, str] | str:
    """Send one row's request: what is to be kept of its answer, or what is wrong with that."""
    body = None if asked.body is None else _filled(asked.body, cells, escape_of(asked.headers.items(), asked.body)).encode()
    headers = with_accept(tuple((name, _filled(value, cells, str)) for name, value in asked.headers.items()))
    request = Request(asked.method, _filled(asked.path, cells, in_url), headers=headers, body=body)
    try:
        answer = _ask_again(asker, request)
        if answer.status == LIMITED:
            time.sleep(min(answer.retry_after_s or AGAIN_S, PATIENCE_S))
            answer = _ask_again(asker, request)
    except Trouble as trouble:
        return f"got no answer: {foreign.line(str(trouble), foreign.SENTENCE_CHARACTERS)}"
    if not 200 <= answer.status < 300:
        return f"was answered with status {answer.status}: {foreign.line(answer.body[:120].decode('utf-8', 'replace'))}"
    found, missing = kept_values(answer, keep)
    return found if missing is None else f"was answered without `{missing}`"


def _ask_again(asker: Asker, request: Request) -> HttpAnswer:
    """Ask; and once more where a connection that was kept is closed without a word, as clients do."""
    kept = asker.is_open
    try:
        return asker.ask(request)
    except Trouble as trouble:
        asker.__exit__()
        if not kept or trouble.kind not in ("closed", "reset"):
            raise
        return asker.ask(request)


class Asker:
    """A client of one connection, which is opened anew where the server says that it closes it."""

    def __init__(self, address: ServerAddress) -> None:
        self._address, self._wire = address, cast("CaseWire | None", None)

    def __enter__(self) -> Asker:
        return self

    def __exit__(self, *_: object) -> None:
        if self._wire is not None:
            self._wire.__exit__()
        self._wire = None

    @property
    def is_open(self) -> bool:
        """True while its connection is kept for the next request."""
        return self._wire is not None

    def ask(self, request: Request) -> HttpAnswer:
        """The answer to a request. Raises Trouble where none comes."""
        deadline_s = time.monotonic() + self._address.patience_s
        wire = self._wire = self._wire or CaseWire(self._address.host, self._address.port, deadline_s, self._address.tls)
        wire.until(deadline_s)
        wire.send(request.encode(self._address.host, self._address.port))
        answer = wire.answer(request.method)
        if answer.is_last:
            self.__exit__()
        return answer


def _filled(text: str, cells: Mapping[str, str], escape: Callable[[str], str]) -> str:
    """A template with the cells of one row. `{{` is a brace."""
    filled = CELL.sub(lambda found: escape(cells.get(f"{found[1]}.{found[2]}", found[0])), text.replace("{{", "\0"))
    return filled.replace("\0", "{")
