"""A server's own words for statements that are lost, in whatever language it speaks: it is brought to say them."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.pq import DiagnosticField, ExecStatus

NAME = "fairground_lost"
"""The name of the statement in the words, which stands for any name; a number in them stands for any number."""


def lost_statement_errors(connection: psycopg.Connection[Any]) -> tuple[str, ...]:
    """The server's messages for a statement that is not there, is there already, or is another one than was meant."""
    name, session = NAME.encode(), connection.pgconn
    results = [
        session.exec_prepared(b"", []),
        session.exec_prepared(name, []),
        session.prepare(name, b"SELECT 1"),
        session.prepare(name, b"SELECT 1"),
        session.exec_prepared(name, [b"1", b"2"]),
    ]
    said = [one.error_field(DiagnosticField.MESSAGE_PRIMARY) for one in results if one.status == ExecStatus.FATAL_ERROR]
    return tuple(dict.fromkeys(text.decode(errors="replace") for text in said if text))
