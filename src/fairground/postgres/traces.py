"""Remove what a session leaves in a given server beside its arms: templates of their data, and the role with their rights."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import psycopg
from psycopg import sql

from fairground.model import LabError
from fairground.postgres.names import MARK, RIGHTS, TEMPLATES

NOT_OURS_NOW = (psycopg.errors.ObjectInUse, psycopg.errors.DependentObjectsStillExist, psycopg.errors.InsufficientPrivilege)
"""Another lab uses it at this moment, or made it as another user: that one removes it."""


def remove_traces(connection: psycopg.Connection[Any]) -> None:
    """Remove them, where they carry the lab's mark and nobody uses them."""
    made = connection.execute(
        "SELECT datname FROM pg_database WHERE datname ~ %s AND shobj_description(oid, 'pg_database') = %s", [TEMPLATES, MARK]
    ).fetchall()
    for (name,) in made:
        with suppress(*NOT_OURS_NOW):
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(name)))
    role = "SELECT 1 FROM pg_roles WHERE rolname = %s AND shobj_description(oid, 'pg_authid') = %s"
    if connection.execute(role, [RIGHTS, MARK]).fetchone():
        with suppress(*NOT_OURS_NOW):
            connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(RIGHTS)))


def require_ours(connection: psycopg.Connection[Any], name: str) -> None:
    """Raise LabError if there is a database of that name which the lab did not make."""
    row = connection.execute(
        "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s", [name]
    ).fetchone()
    if row is not None and row[0] != MARK:
        raise LabError(
            f"the given server has a database `{name}` that the lab did not make, and it will not be touched",
            hint=f"rename it, or use another server: ALTER DATABASE {name} RENAME TO …",
        )


def drop_database(connection: psycopg.Connection[Any], name: str, embedded: bool) -> None:
    """Drop an arm's database if it is there. LabError where the lab did not make it."""
    if not embedded:  # in a server of our own all is ours, also what an interruption left without its mark
        require_ours(connection, name)
    connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
