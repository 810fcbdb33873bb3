"""A contract's statements, asked one by one of its own data: what the database refuses, and what it has no use for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import psycopg
from psycopg.pq import DiagnosticField, ExecStatus

from fairground.contract import expected
from fairground.model import LabError, foreign
from fairground.model.contract import Contract, fill_names
from fairground.model.source import Location, Source, location_text
from fairground.postgres import Database
from fairground.postgres.libpq import open_session

EXPLAINED = ("select", "insert", "update", "delete", "merge", "values", "table", "with")
"""The first words of statements whose rights a plan shows; nothing is carried out for it."""
TEXTS = (25, 1043, 1042, 705)
"""PostgreSQL's numbers of types of texts."""


class Spot(NamedTuple):
    """The place in a file where a contract says something."""

    source: Source
    location: Location

    @property
    def key(self) -> str:
        """Its key, as a person writes it."""
        return location_text(self.location)

    def error(self, problem: str, hint: str = "correct it") -> LabError:
        """A mistake there. `problem` ends where the file's name follows."""
        return self.source.error(self.location, problem, hint)


class SaidNo(NamedTuple):
    """The database's no to a statement: its words, and where in the text."""

    said: str
    position: int | None = None
    hint: str | None = None

    @classmethod
    def of(cls, error: psycopg.Error) -> SaidNo:
        """Read an error of the driver's."""
        at = error.diag.statement_position
        said = foreign.line(error.diag.message_primary or str(error), foreign.SENTENCE_CHARACTERS)
        return cls(said, int(at) if at and at.isdecimal() else None, error.diag.message_hint)


@dataclass
class StatementTrial:
    """The statements of one contract, on the fresh copy of its data that an arm gets."""

    database: Database
    contract: Contract
    scale: int
    right: int = 0
    wrong: list[LabError] = field(default_factory=list)
    untried: list[str] = field(default_factory=list)
    """What could not be decided without a server's answer, and why."""
    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The columns of the tables that requests draw from, by the table's name."""

    def __post_init__(self) -> None:
        self.values: Mapping[str, object] = {**self.contract.numbers_at(self.scale), **self.contract.paths}
        files = sorted(self.contract.folder.glob("*.sql"))
        self._files = {fill_names(path.read_text(encoding="utf-8", errors="replace"), self.values): path.name for path in files}

    def refuse(self, spot: Spot, problem: str, hint: str = "correct it") -> None:
        """Count a mistake."""
        self.wrong.append(spot.error(problem, hint))

    def answer(self, spot: Spot, statement: str) -> Sequence[tuple[Any, ...]] | None:
        """The rows of a statement, asked as the lab asks it; None, and a mistake, where the database refuses it."""
        try:
            rows = self.database.query(statement)
        except psycopg.Error as error:
            self._refused(spot, statement, SaidNo.of(error))
            return None
        self.right += 1
        return rows

    def prepare(
        self, spot: Spot, statement: str, names: Collection[str] = (), columns: int | None = None
    ) -> tuple[int, ...] | None:
        """Prepare a statement that needs a server's answer. The types of its columns; None where it is wrong.

        `columns`: this many must it have.
        """
        text = expected.number_names(statement, names)
        with self.database.connect() as connection:
            if (no := _prepared(connection, text)) is not None:
                self._refused(spot, statement, no)
                return None
            described = connection.pgconn.describe_prepared(b"")
            types = tuple(described.ftype(number) for number in range(described.nfields))
        if columns is not None and len(types) != columns:
            self.refuse(spot, f"`{spot.key}` gives {len(types)} columns, and needs {columns}, in")
            return None
        self.right += 1
        return types

    def names_of(self, statement: str) -> tuple[str, ...]:
        """The names of the columns that a statement selects."""
        with self.database.connect() as connection:
            return tuple(column.name for column in connection.execute(statement.encode()).description or ())

    def allow(self, spot: Spot, statement: str) -> None:
        """Hold a statement of servers against the rights of their role. A beginning of one is no statement, and is told."""
        try:
            connection = open_session(self.database.server_url())
        except psycopg.Error as error:
            self.refuse(spot, f"a server's role cannot log in ({SaidNo.of(error).said}), for `{spot.key}` of", "see rights.sql")
            return
        with connection:
            no = _prepared(connection, statement)
            if no is not None and no.position is not None and no.position > len(statement.rstrip()):
                self.untried.append(f"`{spot.key}` in `{spot.source.shown}` is the beginning of a statement: not tried")
                return
            if no is None and (unplanned := _unplanned(connection, statement)) is not None:
                no = SaidNo.of(unplanned)
                if not isinstance(unplanned, psycopg.errors.InsufficientPrivilege):  # a policy may read what a server sets first
                    said = no.said.replace("`", "'")
                    self.untried.append(f"`{spot.key}` in `{spot.source.shown}` cannot be planned by itself ({said}): not tried")
                    return
        if no is not None:
            self._refused(spot, statement, no, "a server's role may not run" if "denied" in no.said else "the database refuses")
            return
        self.right += 1

    def _refused(self, spot: Spot, statement: str, no: SaidNo, who: str = "the database refuses") -> None:
        """Count a statement that the database refuses, at its line of the file that has it."""
        if (name := self._files.get(statement)) is not None:
            shown = "/".join((*self.contract.folder.absolute().parts[-2:], name))
            line = "" if no.position is None else f", line {statement.count(chr(10), 0, no.position - 1) + 1}"
            self.wrong.append(LabError(f"{who} `{shown}`{line}: {no.said}", no.hint or "correct the file"))
        else:
            self.refuse(spot, f"{who} `{spot.key}` ({no.said.replace('`', chr(39))}) of", no.hint or "correct the statement")


def _prepared(connection: psycopg.Connection[Any], statement: str) -> SaidNo | None:
    """Prepare a statement under no name. None: the database takes it."""
    done = connection.pgconn.prepare(b"", statement.encode())
    if done.status == ExecStatus.COMMAND_OK:
        return None
    said, at, hint = (
        (done.error_field(one) or b"").decode(errors="replace")
        for one in (DiagnosticField.MESSAGE_PRIMARY, DiagnosticField.STATEMENT_POSITION, DiagnosticField.MESSAGE_HINT)
    )
    return SaidNo(foreign.line(said, foreign.SENTENCE_CHARACTERS), int(at) if at.isdecimal() else None, hint or None)


def _unplanned(connection: psycopg.Connection[Any], statement: str) -> psycopg.Error | None:
    """Plan a prepared statement, which asks for every right that it needs. None: it is planned."""
    words = statement.split(maxsplit=1)
    if not words or words[0].lower() not in EXPLAINED:
        return None
    connection.pgconn.prepare(b"asked", statement.encode())
    count = connection.pgconn.describe_prepared(b"asked").nparams
    nulls = f"({', '.join(['NULL'] * count)})" if count else ""
    try:
        # A plan of its own would fold NULL away, and with it the call whose right is asked for.
        connection.execute("SET plan_cache_mode = force_generic_plan")
        connection.execute(f"EXPLAIN EXECUTE asked{nulls}".encode())
    except psycopg.Error as error:
        return error
    return None
