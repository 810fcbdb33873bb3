"""The template of a contract's data, which every arm gets a copy of: its name, and what fills it."""

from __future__ import annotations

from typing import Any

import psycopg

from fairground.model import LabError, foreign
from fairground.model.contract import ContractData

ENCODED = " ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'"
"""The form of an arm's data on each server, whatever the encoding and the collation of its other databases."""


def name_of(data: ContractData, *, rights: bool) -> str:
    """The name of the template of these data, with or without the rights of servers."""
    return f"fairground_template_{data.scale}_{data.digest(ENCODED, rights=rights)}"


def fill(connection: psycopg.Connection[Any], data: ContractData, *, rights: bool) -> None:
    """Make the tables, the rows and (with `rights`) what servers may do. LabError with file and line where one is refused."""
    for part, text in {"schema": data.schema, "seed": data.seed, "rights": data.rights if rights else ""}.items():
        if not text.strip():
            continue
        try:
            connection.execute(text.encode())
        except (psycopg.ProgrammingError, psycopg.DataError, psycopg.IntegrityError, psycopg.InternalError) as error:
            raise LabError(*_refusal(data.contract, part, text, error)) from error
    connection.execute("VACUUM (FREEZE, ANALYZE)")


def _refusal(contract: str, part: str, text: str, error: psycopg.Error) -> tuple[str, str]:
    """Say what the database said to a file of a contract, and where in it."""
    at = error.diag.statement_position
    line = f", line {text.count(chr(10), 0, int(at) - 1) + 1}" if at is not None and at.isdecimal() else ""
    said = foreign.line(error.diag.message_primary or str(error), foreign.SENTENCE_CHARACTERS)
    return f"the database refuses `contracts/{contract}/{part}.sql`{line}: {said}", error.diag.message_hint or "correct the file"
