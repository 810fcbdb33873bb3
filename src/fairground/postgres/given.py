"""A PostgreSQL server that somebody else runs: used within its owner's rights, and left as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg

from fairground.model import LabError, foreign
from fairground.postgres import role
from fairground.postgres.database import HOME, Address, Database, require_ours
from fairground.postgres.names import TRIAL_DATABASE

HINT = "start it, or check host, port, user and password; without `--database` the lab starts a PostgreSQL of its own"


def given(url: str, contract: Path) -> Database:
    """A server that somebody else runs. Refused unless it is PostgreSQL ≥ 14, we may create databases, and what would be
    dropped is ours. Where it allows no roles, servers under test log in as the lab does, and `shared` says why."""
    try:
        info = psycopg.conninfo.conninfo_to_dict(url)
        address = Address(
            str(info.get("host") or "127.0.0.1"),
            int(str(info.get("port") or 5432)),
            str(info.get("user") or "postgres"),
            str(info.get("password") or ""),
        )
        database = Database(address, contract, None)
        connection = database.connect(HOME)
    except psycopg.ProgrammingError as error:
        raise LabError(
            f"`--database` is not a connection URL: {str(error).strip()}", hint="postgresql://USER:PASSWORD@HOST:PORT/postgres"
        ) from error
    except psycopg.OperationalError as error:
        raise LabError(f"cannot connect to the given database: {_cause(error)}", HINT) from error
    with connection:
        _require_rights(connection)
        require_ours(connection, TRIAL_DATABASE)
        database.drop_arms()
        shared = _why_shared(connection, database.app)
    return Database(address, contract, None, shared=shared) if shared else database


def _cause(error: psycopg.Error) -> str:
    """The line that says why; the one after it asks whether the server runs."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if "failed:" in line), lines[0] if lines else "no reason was given")


def _require_rights(connection: psycopg.Connection[Any]) -> None:
    if connection.info.server_version < 140_000:
        raise LabError(f"the given PostgreSQL is version {connection.info.server_version // 10_000}, and 14 or newer is needed")
    row = connection.execute("SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
    if not row or not row[0]:
        user = connection.info.user
        raise LabError(f"the given user `{user}` may not create databases", hint=f'as a superuser: ALTER ROLE "{user}" CREATEDB')


def _why_shared(connection: psycopg.Connection[Any], app: Address) -> str | None:
    """Why no role of its own can be made for an arm here, found out by making one and logging in; None where it can."""
    user = connection.info.user
    row = connection.execute("SELECT rolcreaterole OR rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
    if not row or not row[0]:
        lost = "it could move the counters that it is judged by, and its connections are sampled, not refused"
        return f'the given user `{user}` may not create roles (ALTER ROLE "{user}" CREATEROLE), so {lost}'
    try:
        role.make_rights(connection)
        role.make(connection, app.user, app.password)
        with psycopg.connect(app.url(HOME), connect_timeout=10):
            return None
    except psycopg.Error as error:
        if "permission denied for database" in str(error):  # it logged in, and this database is closed to it
            return None
        said = foreign.line(str(error), foreign.SENTENCE_CHARACTERS)
        return f"the given server has no use for a role of its own: {said}"
