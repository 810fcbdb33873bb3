"""The rights of the lab's user on a given server, and what is lost without them. What is said of it is pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

OLDEST = 14
"""The oldest PostgreSQL that the lab measures with."""
LEAST_SESSIONS = 24
"""The sessions that the lab itself may need at once, with as many arms as can be up."""


@dataclass(frozen=True)
class Rights:
    """A user's rights on a server of one major version."""

    user: str
    major: int
    databases: bool
    """It may create databases."""
    roles: bool
    """It may create roles."""
    statistics: bool
    """It sees what the sessions of others do."""
    checkpoint: bool
    """It may ask for a checkpoint."""
    superuser: bool = True
    standby: bool = False
    """The server follows another one, and takes no writes."""
    sessions: int = -1
    """The most sessions that it may have at once; −1: as many as the server takes."""


def read(connection: psycopg.Connection[Any]) -> Rights:
    """The rights of a connection's user."""
    major = connection.info.server_version // 10_000
    checkpoint = "pg_has_role(current_user, 'pg_checkpoint', 'USAGE')" if major >= 15 else "rolsuper"
    row = connection.execute(
        "SELECT rolsuper OR rolcreatedb, rolsuper OR rolcreaterole, pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'),"
        f" {checkpoint}, rolsuper, pg_is_in_recovery(),"
        " CASE WHEN rolsuper THEN -1 ELSE (SELECT rolconnlimit FROM pg_roles WHERE rolname = session_user) END"
        " FROM pg_roles WHERE rolname = current_user".encode()
    ).fetchone()
    return Rights(connection.info.user, major, *(row or [False] * 6))


def room(connection: psycopg.Connection[Any], *, shared: bool) -> int:
    """Count the connections that the server would still accept from servers under test; `shared`: they log in as our user.

    What kind the backends of others are is hidden from a user without `pg_read_all_stats`: a user's in a database count.
    """
    reserved = "coalesce(current_setting('reserved_connections', true)::int, 0)"  # PostgreSQL 16 and later
    row = connection.execute(
        "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int"
        f" - {reserved} - (SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL AND usesysid IS NOT NULL"
        " AND coalesce(backend_type, 'client backend') = 'client backend'),"
        " (SELECT rolconnlimit FROM pg_roles WHERE rolname = session_user)".encode()
    ).fetchone()
    left, limit = row or (0, -1)
    return min(left, limit) if shared and limit >= 0 else int(left)


def without_roles(rights: Rights) -> str | None:
    """Say what is lost where the user may not create roles, with the statement that gives the right; None where it may."""
    if rights.roles:
        return None
    return (
        f'the given user `{rights.user}` may not create roles (ALTER ROLE "{rights.user}" CREATEROLE), so it could move the '
        "counters that it is judged by, and its connections are sampled, not refused"
    )


def remarks(rights: Rights) -> tuple[str, ...]:
    """A sentence for each other right that the user has not: what stays unknown without it, and the statement that gives it."""
    return tuple(_remarks(rights))


def _remarks(rights: Rights) -> Iterator[str]:
    if not rights.statistics:
        yield (
            f'the given user `{rights.user}` may not see the sessions of others (GRANT pg_monitor TO "{rights.user}"), so '
            "whether anybody else keeps the database busy stays unknown"
        )
    if not rights.checkpoint:
        give = f'GRANT pg_checkpoint TO "{rights.user}"' if rights.major >= 15 else "before PostgreSQL 15 a superuser may"
        yield f"the given user `{rights.user}` may not checkpoint ({give}), so one may fall into a measurement"
