"""The PostgreSQL of a service that somebody runs: read while the service is loaded, and never written to."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass

import psycopg

from fairground.host import Resident, listener
from fairground.model import LabError, foreign
from fairground.model.known import KNOWN
from fairground.postgres.libpq import open_as_told, read_url
from fairground.postgres.names import APPLICATION_NAME

READ_ONLY = "-c default_transaction_read_only=on -c statement_timeout=5000"
HINT = "check user, password, host and port: --database postgresql://USER:PASSWORD@HOST:PORT/DATABASE"

POOLER = "a pooler answers at the address of the service's database, and takes no settings of a session"
DIRECT = "give the address of PostgreSQL itself, whose work is to be seen"


@dataclass(frozen=True)
class StatementCost:
    """The calls of a statement and the milliseconds that they took, since somebody reset them."""

    calls: int
    total_ms: float


@dataclass(frozen=True)
class DatabaseBeside:
    """A service's own database. `process`: the server's processes, where they are on this machine and can be seen.

    `hidden`: what others do is not shown to this role. `counts`: `pg_stat_statements` can be read.
    """

    url: str
    name: str
    process: Resident | None
    hidden: bool
    counts: bool

    def connect(self) -> psycopg.Connection[tuple[object, ...]]:
        """Open a connection that only reads."""
        return _connect(self.url)

    def statements(self) -> Mapping[str, StatementCost]:
        """Read what each statement has cost so far, by `pg_stat_statements`; empty where that cannot be read."""
        if not self.counts:
            return {}
        try:
            with self.connect() as connection:
                rows = connection.execute(
                    "SELECT query, sum(calls)::bigint, sum(total_exec_time)::float8 FROM pg_stat_statements"
                    " WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) GROUP BY query"
                ).fetchall()
        except psycopg.Error:  # a load may fill its connections, or end it
            return {}
        return {str(query): StatementCost(int(str(calls)), float(str(ms))) for query, calls, ms in rows}


def open_beside(url: str) -> DatabaseBeside:
    """The database of this URL. LabError where nobody answers, or it is not one."""
    info = read_url(url, HINT)
    KNOWN.remember(str(info.get("password") or ""))
    try:
        with _connect(url) as connection:
            row = connection.execute(
                "SELECT current_database(), pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'),"
                " to_regclass('pg_stat_statements') IS NOT NULL, current_setting('default_transaction_read_only')"
            ).fetchone()
            counts = bool(row and row[2]) and _can_count(connection)
            process = _server_of(connection)
    except psycopg.Error as error:
        said = foreign.line(str(error), foreign.SENTENCE_CHARACTERS)
        if _answers_without_settings(url):
            raise LabError(f"{POOLER}: {said}", DIRECT) from error
        raise LabError(f"the service's database cannot be read: {said}", HINT) from error
    assert row is not None
    if row[3] != "on":
        raise LabError(f"{POOLER}: it passed over that this one only reads", DIRECT)
    return DatabaseBeside(url, str(row[0]), process, not row[1], counts)


def _server_of(connection: psycopg.Connection[tuple[object, ...]]) -> Resident | None:
    """Find the server's processes on this machine: those that listen at its port, and have started this session's backend.

    None where another listens there in their place, as a tunnel does, or what forwards a container's port.
    """
    info = connection.info
    found = listener(info.port, info.hostaddr or None) if is_here(info.host) else None
    if found is None or not any(one.pid == info.backend_pid and one.parent in found.pids for one in found.alive()):
        return None
    return found


def is_here(host: str) -> bool:
    """True if the server is on this machine: by a socket in its file system, or by a loopback address."""
    if host.startswith("/") or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _can_count(connection: psycopg.Connection[tuple[object, ...]]) -> bool:
    """True if the view can be read: its library may not be loaded, and what was made by an old one has other columns."""
    try:
        connection.execute("SELECT total_exec_time FROM pg_stat_statements LIMIT 1")
    except psycopg.Error:
        return False
    return True


def _answers_without_settings(url: str) -> bool:
    """True if a session that asks for no settings can be had at a URL."""
    try:
        _connect(url, options="").close()
    except psycopg.Error:
        return False
    return True


def _connect(url: str, options: str = READ_ONLY) -> psycopg.Connection[tuple[object, ...]]:
    """A connection that only reads; nothing is prepared."""
    return open_as_told(url, application_name=APPLICATION_NAME, options=options, connect_timeout=5, prepare_threshold=None)
