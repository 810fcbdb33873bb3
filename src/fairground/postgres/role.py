"""The role that one arm's server logs in as. It owns nothing, and may do in its arm's database what the contract needs.

The role is a member of another one that holds the rights. So a copied database needs no grants, and its counters begin at zero.
As it owns nothing there, it cannot reset the counters that it is judged by. Nor may it open more connections than its arm has.
On a given server it may log in to `postgres`, as anybody may: what it has made there is dropped with it.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import Any

import psycopg
from psycopg import sql

from fairground.model import LabError
from fairground.postgres.names import MARK, PLAIN, RIGHTS


def password(secret: str, name: str) -> str:
    """A role's password: who knows one of them knows no other."""
    return hashlib.sha256(f"{secret} {name}".encode()).hexdigest()[:32]


def make_group(connection: psycopg.Connection[Any], name: str) -> None:
    """Make a role of which arms' roles are members, unless it is there."""
    if not _comment(connection, name):
        connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(name)))
        connection.execute(sql.SQL("COMMENT ON ROLE {} IS {}").format(sql.Identifier(name), sql.Literal(MARK)))


def make(connection: psycopg.Connection[Any], name: str, word: str, plain: bool = False) -> None:
    """Make an arm's role with the password `word`. An earlier one of its name is dropped, with what it has set for itself.

    `plain`: it logs in with the password itself, on the lab's own server.
    """
    drop(connection, name)
    if plain:
        make_group(connection, PLAIN)
    groups = sql.SQL(", ").join(map(sql.Identifier, (RIGHTS, PLAIN) if plain else (RIGHTS,)))
    form = "CREATE ROLE {} LOGIN PASSWORD {} IN ROLE {}"
    connection.execute(sql.SQL(form).format(sql.Identifier(name), sql.Literal(word), groups))
    connection.execute(sql.SQL("COMMENT ON ROLE {} IS {}").format(sql.Identifier(name), sql.Literal(MARK)))
    if connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone() != (True,):
        # Else what its sessions do would be hidden from us.
        connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(sql.Identifier(name)))


def admit(connection: psycopg.Connection[Any], name: str | None, database: str) -> None:
    """Let one role connect to a database, and nobody else but its owner; None: nobody."""
    connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(sql.Identifier(database)))
    if name is not None:
        connection.execute(sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(sql.Identifier(database), sql.Identifier(name)))


def limit(connection: psycopg.Connection[Any], name: str, most: int) -> None:
    """Make the database refuse a role's connections beyond `most` at once, from now on.

    This commit waits for no disk: else it would bring there what a server's commits did not wait for, just before a crash.
    """
    with connection.transaction():
        connection.execute("SET LOCAL synchronous_commit = off")
        connection.execute(sql.SQL("ALTER ROLE {} CONNECTION LIMIT {}").format(sql.Identifier(name), sql.Literal(most)))


def drop(connection: psycopg.Connection[Any], name: str) -> None:
    """Drop an arm's role if it is there, with what it owns in the connection's database; the arm's is gone already.

    LabError where the lab did not make it.
    """
    comment = _comment(connection, name)
    if comment is None:
        return
    if comment != MARK:
        raise LabError(
            f"the given server has a role `{name}` that the lab did not make, and it will not be touched",
            hint=f"rename it, or use another server: ALTER ROLE {name} RENAME TO …",
        )
    connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", [name])
    with suppress(psycopg.errors.InsufficientPrivilege):  # one that a killed lab has not granted to its user owns nothing
        connection.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(name)))
    connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


def drop_all(connection: psycopg.Connection[Any]) -> None:
    """Drop the roles of all arms that the lab made."""
    made = "SELECT rolname FROM pg_roles WHERE rolname <> ALL(%s) AND shobj_description(oid, 'pg_authid') = %s"
    for (name,) in connection.execute(made, [[RIGHTS, PLAIN], MARK]).fetchall():
        drop(connection, name)


def _comment(connection: psycopg.Connection[Any], name: str) -> str | None:
    """A role's comment, empty where it has none; None where there is no such role."""
    row = connection.execute(
        "SELECT coalesce(shobj_description(oid, 'pg_authid'), '') FROM pg_roles WHERE rolname = %s", [name]
    ).fetchone()
    return None if row is None else str(row[0])
