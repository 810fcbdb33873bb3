"""A PostgreSQL server that somebody else runs: used within its owner's rights, and left as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import psycopg

from fairground.host import LOOPBACK
from fairground.model import Durability, LabError, foreign
from fairground.model.known import KNOWN
from fairground.postgres import rehearsal, rights, session
from fairground.postgres.address import DatabaseAddress
from fairground.postgres.database import HOME, Database
from fairground.postgres.libpq import SHELL_TLS, read_url
from fairground.postgres.names import TRIAL_DATABASE
from fairground.postgres.rights import Rights
from fairground.postgres.traces import require_ours

HINT = (
    "start it, or check host, port, user and password, and whether the user may connect to its database `postgres`; without"
    " `--database` the lab starts a PostgreSQL of its own"
)
OWN = ("sslmode", "sslrootcert", "sslcert", "sslkey", "sslpassword", "sslcrl", "sslcrldir", "sslsni", "ssl_min_protocol_version",
       "ssl_max_protocol_version", "channel_binding", "gssencmode", "passfile")  # fmt: skip
"""What a URL may say of the lab's own connections beside the address, in libpq's words."""
ADDRESS = ("host", "port", "user", "password", "dbname", "application_name", "connect_timeout")
"""The address. The last three are the lab's own matter, and are passed over."""
FORM = "postgresql://USER:PASSWORD@HOST:PORT/postgres"
ENCODED = f"percent-encode what is special in its password, such as `@` (%40), `/` (%2F) and `:` (%3A): {FORM}"
PORT = 5432
ALONE = 0x66616972
"""The advisory lock of the one lab that measures on a server: all labs give their databases and roles the same names."""


@contextmanager
def hold_alone(url: str) -> Iterator[None]:
    """Keep other labs from a server that somebody else runs. LabError (exit code 3) where one is at work there.

    The lock is a session's: that of a lab that was killed is free by itself. At its end it is given back at once, for a session
    may outlive its connection: for moments in a server, and for long behind a pooler, which is refused meanwhile.
    """
    with _connected(_address(url)) as connection:
        with suppress(psycopg.Error):  # a server that is too old for it is refused later
            connection.execute("SET idle_session_timeout = 0")
        row = connection.execute("SELECT pg_try_advisory_lock(%s)", [ALONE]).fetchone()
        if row != (True,):
            raise LabError("another lab measures on the given server", "wait until it has ended", exit_code=3)
        try:
            yield
        finally:
            with suppress(psycopg.Error):
                connection.execute("SELECT pg_advisory_unlock(%s)", [ALONE])


def given_database(url: str, version: int | None = None, durability: Durability | None = None) -> Database:
    """A server that somebody else runs.

    Refused unless it is PostgreSQL ≥ 14, and of the major `version` where one is asked for. Refused, too, unless we may create
    databases, and what would be dropped is ours. Where it allows no roles, servers under test log in as the lab does, and
    `shared` says why. A `durability` that it does not have is refused, or told.
    """
    address = _address(url)
    try:
        return _database(address, version, durability)
    except psycopg.Error as error:
        said = foreign.line(str(error), foreign.SENTENCE_CHARACTERS)
        raise LabError(f"the given database cannot be used: {said}", HINT) from error


def _connected(address: DatabaseAddress) -> psycopg.Connection[Any]:
    try:
        return Database(address, None).connect(HOME, options="")
    except psycopg.OperationalError as error:
        raise LabError(f"cannot connect to the given database: {_cause(error)}", HINT) from error


def _database(address: DatabaseAddress, version: int | None, durability: Durability | None) -> Database:
    with _connected(address) as connection:
        found = rights.read(connection)
        # libpq may have found the password in a file, and servers under test may have to be told it.
        begin = session.options(found.major, found.superuser)
        address = replace(address, password=connection.info.password, options=begin)
    KNOWN.remember(address.password)
    _require(found, version)
    database = Database(address, None, shared=rights.without_roles(found))
    rehearsal.require_sessions(database)
    with database.connect(HOME) as connection:
        require_ours(connection, TRIAL_DATABASE)
    database.drop_arms()
    try:
        if database.shared is None and (why := rehearsal.role_refusal(database)) is not None:
            shared = f"the given server has no use for a role of its own: {why}"
            database = Database(address, None, shared=shared)
        said = (*rehearsal.rehearse(database), *rehearsal.of_durability(database, durability))
    except BaseException:
        Database(address, None).stop()
        raise
    Database(address, None).drop_arms()
    database.remarks = (*rights.remarks(found), *said)
    return database


def _address(url: str) -> DatabaseAddress:
    """Read from the URL where and as whom to connect. LabError for what it cannot say."""
    info = read_url(url, FORM)
    host, port = str(info.get("host") or LOOPBACK), str(info.get("port") or PORT)
    if host.startswith(("/", "@")) or "," in host:
        what = "several hosts" if "," in host else "a socket in the file system"
        raise LabError(f"`--database` names {what}, and servers under test connect to one host, by TCP", FORM)
    if "@" in host + str(info.get("dbname") or "") or not port.isdecimal():
        raise LabError("`--database` has a host or a port that is none", ENCODED)
    if other := sorted(set(info) - {*OWN, *ADDRESS}):
        raise LabError(f"`--database` says `{other[0]}`, which the lab does not pass on", "leave it out of the URL")
    return DatabaseAddress(
        host,
        int(port),
        str(info.get("user") or "postgres"),
        str(info.get("password") or ""),
        tuple({**SHELL_TLS, **{name: str(info[name]) for name in OWN if name in info}}.items()),
    )


def _cause(error: psycopg.Error) -> str:
    """The first line, which says why; the one after it asks whether the server runs, or tells of another attempt."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else "no reason was given"


def _require(found: Rights, version: int | None) -> None:
    if found.major < rights.OLDEST:
        raise LabError(f"the given PostgreSQL is version {found.major}, and {rights.OLDEST} or newer is needed")
    if version not in (None, found.major):
        hint = f"leave out `--database`, or ask for {found.major} or no version"
        raise LabError(f"the given PostgreSQL is version {found.major}, and version {version} is asked for", hint)
    if found.standby:
        raise LabError("the given PostgreSQL is a standby, which takes no writes", "give the address of its primary")
    if 0 <= found.sessions < rights.LEAST_SESSIONS:
        give = f'as a superuser: ALTER ROLE "{found.user}" CONNECTION LIMIT -1'
        sentence = f"the given user `{found.user}` may have {found.sessions} sessions at once"
        raise LabError(f"{sentence}, and the lab needs up to {rights.LEAST_SESSIONS}", give)
    if not found.databases:
        give = f'as a superuser: ALTER ROLE "{found.user}" CREATEDB'
        raise LabError(f"the given user `{found.user}` may not create databases", hint=give)
