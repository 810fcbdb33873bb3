"""A PostgreSQL server that somebody else runs: used within its owner's rights, and left as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg

from fairground.model import LabError
from fairground.postgres.database import HOME, Address, Database, require_ours
from fairground.postgres.names import TRIAL_DATABASE

HINT = "start it, or check host, port, user and password; without `--database` the lab starts a PostgreSQL of its own"


def given(url: str, contract: Path) -> Database:
    """A server that somebody else runs. Refused unless it is PostgreSQL ≥ 14, we may create databases, and what would be
    dropped is ours."""
    try:
        info = psycopg.conninfo.conninfo_to_dict(url)
        address = Address(
            str(info.get("host") or "127.0.0.1"),
            int(str(info.get("port") or 5432)),
            str(info.get("user") or "postgres"),
            str(info.get("password") or ""),
        )
        database = Database(address, address, contract, None)
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
    return database


def _cause(error: psycopg.Error) -> str:
    """The line that says why; the one after it asks whether the server runs."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if "failed:" in line), lines[0] if lines else "no reason is told")


def _require_rights(connection: psycopg.Connection[Any]) -> None:
    if connection.info.server_version < 140_000:
        raise LabError(f"the given PostgreSQL is version {connection.info.server_version // 10_000}, and 14 or newer is needed")
    row = connection.execute("SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
    if not row or not row[0]:
        user = connection.info.user
        raise LabError(f"the given user `{user}` may not create databases", hint=f'as a superuser: ALTER ROLE "{user}" CREATEDB')
