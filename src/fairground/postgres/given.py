"""A PostgreSQL server that somebody else runs: used within its owner's rights, and left as it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg

from fairground.host import LOOPBACK
from fairground.model import LabError, foreign
from fairground.model.known import KNOWN
from fairground.postgres import rights, role
from fairground.postgres.database import HOME, Database, DatabaseAddress, require_ours
from fairground.postgres.names import APPLICATION_NAME, ROLE, TRIAL_DATABASE
from fairground.postgres.rights import Rights

HINT = "start it, or check host, port, user and password; without `--database` the lab starts a PostgreSQL of its own"
OWN = ("sslmode", "sslrootcert", "sslcert", "sslkey", "sslpassword", "sslcrl", "sslcrldir", "sslsni", "ssl_min_protocol_version",
       "ssl_max_protocol_version", "channel_binding", "gssencmode", "passfile")  # fmt: skip
"""What a URL may say of the lab's own connections beside the address, in libpq's words."""
ADDRESS = ("host", "port", "user", "password", "dbname", "application_name", "connect_timeout")
"""The address. The last three are the lab's own matter, and are passed over."""
FORM = "postgresql://USER:PASSWORD@HOST:PORT/postgres"
ENCODED = f"percent-encode what is special in its password, such as `@` (%40), `/` (%2F) and `:` (%3A): {FORM}"
PORT = 5432
PLAIN = "allow `host` beside `hostssl` for them in pg_hba.conf"


def given_database(url: str, contract: Path, version: int | None = None) -> Database:
    """A server that somebody else runs.

    Refused unless it is PostgreSQL ≥ 14, and of the major `version` where one is asked for. Refused, too, unless we may create
    databases, and what would be dropped is ours. Where it allows no roles, servers under test log in as the lab does, and
    `shared` says why.
    """
    address = _address(url)
    try:
        connection = Database(address, contract, None).connect(HOME)
    except psycopg.OperationalError as error:
        raise LabError(f"cannot connect to the given database: {_cause(error)}", HINT) from error
    # libpq may have found the password in a file, and servers under test may have to be told it.
    address = replace(address, password=connection.info.password)
    KNOWN.remember(address.password)
    database = Database(address, contract, None)
    with connection:
        found = rights.read(connection)
        _require(found, version)
        require_ours(connection, TRIAL_DATABASE)
        database.drop_arms()
        shared = rights.without_roles(found) or _why_shared(connection, database.app)
    _require_plain(address if shared else database.app, shared is not None)
    return Database(address, contract, None, shared=shared, remarks=rights.remarks(found))


def _address(url: str) -> DatabaseAddress:
    """Read from the URL where and as whom to connect. LabError for what it cannot say."""
    try:
        info = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:  # its words hold pieces of what it read
        raise LabError("`--database` is not a connection URL", FORM) from None
    host, port = str(info.get("host") or LOOPBACK), str(info.get("port") or PORT)
    if "@" in host + str(info.get("dbname") or "") or not port.isdecimal():
        raise LabError("`--database` has a host or a port that is none", ENCODED)
    if other := sorted(set(info) - {*OWN, *ADDRESS}):
        raise LabError(f"`--database` says `{other[0]}`, which the lab does not pass on", "leave it out of the URL")
    return DatabaseAddress(
        host,
        int(port),
        str(info.get("user") or "postgres"),
        str(info.get("password") or ""),
        tuple((name, str(info[name])) for name in OWN if name in info),
    )


def _cause(error: psycopg.Error) -> str:
    """The line that says why; the one after it asks whether the server runs."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if "failed:" in line), lines[0] if lines else "no reason was given")


def _require(found: Rights, version: int | None) -> None:
    if found.major < rights.OLDEST:
        raise LabError(f"the given PostgreSQL is version {found.major}, and {rights.OLDEST} or newer is needed")
    if version not in (None, found.major):
        hint = f"leave out `--database`, or ask for {found.major} or no version"
        raise LabError(f"the given PostgreSQL is version {found.major}, and version {version} is asked for", hint)
    if not found.databases:
        give = f'as a superuser: ALTER ROLE "{found.user}" CREATEDB'
        raise LabError(f"the given user `{found.user}` may not create databases", hint=give)


def _require_plain(app: DatabaseAddress, shared: bool) -> None:
    """Raise LabError if servers under test, whose `DATABASE_URL` knows no TLS, could not log in without it."""
    try:
        with psycopg.connect(app.url(HOME), connect_timeout=10, sslmode="disable", application_name=APPLICATION_NAME):
            return
    except psycopg.OperationalError as error:
        if "no encryption" not in str(error):  # it is let in, and this database is closed to it; or others reasons, told before
            return
        who = f"`{app.user}`" if shared else f"the roles `{ROLE}…`"
        raise LabError(
            f"the given server takes no plain connections, and servers under test log in plainly as {who}", PLAIN
        ) from error


def _why_shared(connection: psycopg.Connection[Any], app: DatabaseAddress) -> str | None:
    """The reason why an arm can have no role of its own here; None where it can. It is found by making one and logging in."""
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
