"""The embedded database in tests: its contract and scale, its clients, and what it holds."""

from __future__ import annotations

from typing import Any

import psycopg

from fairground.postgres import Database

Arms = tuple[Database, Database]
SCALE = 1


def client(database: Database, **other: Any) -> psycopg.Connection[tuple[Any, ...]]:
    """A connection like that of a server under test."""
    return psycopg.connect(database.server_url(), autocommit=True, **other)


def contents(database: Database) -> dict[str, Any]:
    """A digest of every table's rows and every sequence's state in the trial's database."""
    with database.connect() as connection:
        names = [
            row[0]
            for row in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1").fetchall()
        ]
        found: dict[str, Any] = {
            name: connection.execute(
                f"SELECT count(*), md5(string_agg(ctid::text || t::text, ',' ORDER BY ctid)) FROM {name} AS t".encode()
            ).fetchone()
            for name in names
        }
        found["sequences"] = connection.execute("SELECT sequencename, last_value FROM pg_sequences ORDER BY 1").fetchall()
    return found
