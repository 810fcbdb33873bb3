"""The template of a contract's data, which every arm gets a copy of: its name, and what fills it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql
from psycopg.pq import ExecStatus, TransactionStatus

from fairground.model import LabError, foreign
from fairground.model.contract import ContractData, Migrations
from fairground.postgres import migrations

ANY_TABLE = "SELECT 1 FROM pg_stat_user_tables LIMIT 1"
NOT_INSTALLED = (psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFile)
"""What PostgreSQL answers where an extension is not installed; the latter until version 14."""
ENCODED = " ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'"
"""The form of an arm's data on each server, whatever the encoding and the collation of its other databases."""

STATEMENT = re.compile(
    r"""(?:(?:\s|;|--[^\n]*|/\*.*?\*/)+|^)(?P<it>(?=[^\s;])(?:--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"[^"]*"|"""
    r"""(?P<mark>\$\w*\$).*?(?P=mark)|[^;])+)""", re.DOTALL
)  # fmt: skip
"""A statement of several, with the space and comments before it. Quotes and comments may hold semicolons."""


def name_of(data: ContractData, *, rights: bool) -> str:
    """The name of the template of these data, with or without the rights of servers."""
    read = () if data.migrations is None else (migrations.digest_of(data.migrations),)
    return f"fairground_template_{data.scale}_{data.digest(ENCODED, *read, rights=rights)}"


@contextmanager
def whole_or_none(connection: psycopg.Connection[Any], name: str) -> Iterator[None]:
    """Drop the database of that name where what is made in it is refused: half of a template is of no use."""
    try:
        yield
    except LabError:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
        raise


def fill(connection: psycopg.Connection[Any], data: ContractData, *, rights: bool, migrate: Callable[[Migrations], None]) -> None:
    """Make the tables, the rows and (with `rights`) what servers may do. LabError with file and line where one is refused.

    `migrate` carries out the application's own migrations, where it has some.
    """
    if data.migrations is not None:
        migrate(data.migrations)
        if connection.execute(ANY_TABLE.encode()).fetchone() is None:
            what = f"`schema.run` of the contract `{data.contract}` ended well and made no table in the database that it was told"
            raise LabError(what, "see which database it asks: it must be the one of `[schema] environment`")
    for file, text in _files(data, rights=rights):
        if not text.strip():
            continue
        try:
            connection.execute(text.encode())
        except psycopg.Error as error:
            if connection.closed or isinstance(error, psycopg.errors.DiskFull):
                raise  # what became of the server is told by whoever watches it
            raise LabError(*_refusal(connection, file, text, error)) from error
    connection.execute("VACUUM (FREEZE, ANALYZE)")


def _files(data: ContractData, *, rights: bool) -> Iterator[tuple[str, str]]:
    """The files in their order: how each is shown, and its text. Rights come last, so that what `before` makes has them, too."""
    own = f"contracts/{data.contract}"
    yield f"{own}/schema.sql", data.schema
    yield f"{own}/seed.sql", data.seed
    if data.before is not None:
        yield data.before.name, data.before.text
    if rights:
        yield f"{own}/rights.sql", data.rights


def _refusal(connection: psycopg.Connection[Any], file: str, text: str, error: psycopg.Error) -> tuple[str, str]:
    """Say what the database said to a file, and where in it."""
    at = error.diag.statement_position
    place = int(at) - 1 if at is not None and at.isdecimal() else _failed_at(connection, text)
    line = "" if place is None else f", line {text.count(chr(10), 0, place) + 1}"
    said = foreign.line(error.diag.message_primary or str(error), foreign.SENTENCE_CHARACTERS)
    hint = error.diag.message_hint or "correct the file"
    if isinstance(error, NOT_INSTALLED) and said.startswith(("extension ", "could not open extension ")):
        hint = "install it on that server, or name one that has it with --database URL; the lab's own PostgreSQL has no contrib"
    return f"the database refuses `{file}`{line}: {said}", hint


def _failed_at(connection: psycopg.Connection[Any], text: str) -> int | None:
    """Find the statement of a text that failed while it was carried out: the database names no place for it. None: it is none.

    All of it was rolled back, so it fails once more; what it answers before that says which statement it is. A text that has
    left a transaction or a COPY open is not asked again.
    """
    if connection.info.transaction_status is not TransactionStatus.IDLE:
        return None
    connection.pgconn.send_query(text.encode())
    done = 0
    while (result := connection.pgconn.get_result()) is not None:
        done += result.status in (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK)
    begins = [found.start("it") for found in STATEMENT.finditer(text)]
    return begins[done] if done < len(begins) else None
