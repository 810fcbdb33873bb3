"""A database server that trials run on, embedded or given: template, reset, counters, and what its backends wait for."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import psycopg
from psycopg import sql

from fairground.model import Durability, LabError
from fairground.process import Child, Keeper

TRIAL_DATABASE = "fairground_trial"
APPLICATION_NAME = "fairground lab"
MOST_LOG_BYTES = 64 << 10
MARK = "made by fairground: it drops and makes this database at will"


@dataclass(frozen=True)
class Address:
    """Where and as whom to connect."""

    host: str
    port: int
    user: str
    password: str

    def url(self, database: str) -> str:
        """A connection URL, the form that servers get."""
        return f"postgresql://{quote(self.user)}:{quote(self.password, safe='')}@{self.host}:{self.port}/{database}"


class Owner(Protocol):
    """Who started the database server, when it was us."""

    @property
    def child(self) -> Child | None: ...
    @property
    def log(self) -> Path: ...
    def restart(self, keeper: Keeper, durability: Durability, pause_s: float = 0.0) -> None: ...
    def stop(self) -> None: ...


@dataclass(frozen=True)
class Counters:
    """The trial database's own counters since it was made. Read them after its connections are closed: an idle backend
    keeps what it counted for up to 10 s."""

    commits: int
    rollbacks: int
    rows_read: int
    deadlocks: int
    sessions: int
    """Connections that were opened to it, the lab's own among them."""
    temp_files: int = 0


@dataclass(frozen=True)
class Hygiene:
    """What else the database server does at a moment. None: we may not see it."""

    checkpoints: int | None
    """Since the server's counters were reset; only differences mean anything."""
    autovacuums: int | None
    """Those at work on the trial's database."""
    foreign: int | None
    """Sessions of other databases that are at work, the lab's own left out."""


class Database:
    """One PostgreSQL server, seen by the lab. `admin` may create databases; servers log in as `app`."""

    def __init__(self, admin: Address, app: Address, contract: Path, owner: Owner | None) -> None:
        self.admin, self.app, self.owner = admin, app, owner
        self._contract = contract

    @property
    def child(self) -> Child | None:
        """The postmaster, where it is ours to measure."""
        return self.owner.child if self.owner else None

    def server_url(self) -> str:
        """The `DATABASE_URL` of a server under test."""
        return self.app.url(TRIAL_DATABASE)

    def connect(self, database: str = TRIAL_DATABASE, as_app: bool = False) -> psycopg.Connection[tuple[Any, ...]]:
        """A connection of the lab's own, committing each statement; marked, so that it is never counted as the server's."""
        address = self.app if as_app else self.admin
        return psycopg.connect(
            host=address.host,
            port=address.port,
            user=address.user,
            password=address.password,
            dbname=database,
            application_name=APPLICATION_NAME,
            autocommit=True,
            connect_timeout=10,
        )

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Rows of one statement in the trial's database."""
        with self.connect() as connection:
            return connection.execute(statement.encode()).fetchall()

    def stop(self) -> None:
        """Stop the server if it is ours; of a given one only the trial's database is removed."""
        if self.owner:
            self.owner.stop()
            return
        with self.connect(self._home) as connection:
            _drop(connection, TRIAL_DATABASE, self.owner is not None)

    # ------------------------------------------------------------ data

    def prepare(self, scale: int) -> str:
        """Make the template of `scale` unless it is there, and return its name. A half-made one is made anew."""
        name = self._template(scale)
        with self.connect(self._home) as connection:
            if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
                return name
            building = f"{name}_building"
            _drop(connection, building, self.owner is not None)
            self._create(connection, building, None)
            self._fill(building, scale)
            connection.execute(sql.SQL("ALTER DATABASE {} RENAME TO {}").format(sql.Identifier(building), sql.Identifier(name)))
        return name

    def reset(self, scale: int) -> None:
        """Give the next trial a fresh copy of the data, byte for byte, with counters at zero."""
        template = self.prepare(scale)
        with self.connect(self._home) as connection:
            _drop(connection, TRIAL_DATABASE, self.owner is not None)
            self._create(connection, TRIAL_DATABASE, template)

    def _create(self, connection: psycopg.Connection[Any], name: str, template: str | None) -> None:
        # FILE_COPY checkpoints before and after, so that a trial does not pay for the copy; WAL_LOG would leave it that debt.
        form = "CREATE DATABASE {} OWNER {} TEMPLATE {}" + (
            " STRATEGY FILE_COPY" if connection.info.server_version >= 150_000 else ""
        )
        connection.execute(
            sql.SQL(form).format(sql.Identifier(name), sql.Identifier(self.app.user), sql.Identifier(template or "template0"))
        )
        connection.execute(sql.SQL("COMMENT ON DATABASE {} IS {}").format(sql.Identifier(name), sql.Literal(MARK)))

    def _fill(self, name: str, scale: int) -> None:
        seed = (self._contract / "seed.sql").read_text().replace(":scale", str(scale))
        with self.connect(name, as_app=True) as connection:
            connection.execute((self._contract / "schema.sql").read_bytes())
            connection.execute(seed.encode())
        with self.connect(name) as connection:
            connection.execute("VACUUM (FREEZE, ANALYZE)")

    def _template(self, scale: int) -> str:
        digest = hashlib.sha256()
        for file in ("schema.sql", "seed.sql"):
            digest.update((self._contract / file).read_bytes())
        return f"fairground_template_{scale}_{digest.hexdigest()[:10]}"

    @property
    def _home(self) -> str:
        """The database that the lab connects to in order to make and drop others."""
        return "postgres"

    # ------------------------------------------------------------ counters

    def version(self) -> str:
        """Such as `18.1`."""
        with self.connect(self._home) as connection:
            return str(connection.execute("SHOW server_version").fetchone()[0]).split()[0]  # type: ignore[index]

    def settings(self) -> dict[str, str]:
        """Settings that differ from PostgreSQL's defaults, for the disclosure."""
        with self.connect(self._home) as connection:
            rows = connection.execute(
                "SELECT name, current_setting(name) FROM pg_settings WHERE setting IS DISTINCT FROM boot_val"
                " AND source IN ('command line', 'configuration file', 'database', 'user') AND NOT name = ANY(%s) ORDER BY name",
                [["config_file", "data_directory", "hba_file", "ident_file", "port"]],
            ).fetchall()
        return {str(name): str(value) for name, value in rows}

    def counters(self) -> Counters:
        """Commits, rollbacks, rows read and deadlocks in the trial's database since its reset."""
        with self.connect(self._home) as connection:
            row = connection.execute(
                "SELECT xact_commit, xact_rollback, tup_returned, deadlocks, sessions, temp_files FROM pg_stat_database"
                " WHERE datname = %s",
                [TRIAL_DATABASE],
            ).fetchone()
        return Counters(*row) if row else Counters(0, 0, 0, 0, 0)

    def wal_position(self) -> int | None:
        """Bytes of WAL so far, those not written out yet included, or None where we may not ask."""
        try:
            with self.connect(self._home) as connection:
                row = connection.execute("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')").fetchone()
                return int(row[0]) if row else None
        except psycopg.Error:
            return None

    def checkpoint(self) -> bool:
        """Write out what is dirty, so that no checkpoint falls into the window; False where we may not."""
        try:
            with self.connect(self._home) as connection:
                connection.execute("CHECKPOINT")
            return True
        except psycopg.errors.InsufficientPrivilege:
            return False

    def connections(self) -> int:
        """How many connections to the trial's database the server under test (or its pooler) holds now."""
        with self.connect(self._home) as connection:
            row = connection.execute(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE datname = %s AND application_name <> %s AND backend_type = 'client backend'",
                [TRIAL_DATABASE, APPLICATION_NAME],
            ).fetchone()
        return int(row[0]) if row else 0

    def waiting_for_locks(self) -> int:
        """How many of the server's backends wait for a lock now."""
        with self.connect(self._home) as connection:
            return sum(count for event, count in waits(connection) if event.startswith("Lock:"))

    def wait_for_no_connections(self, timeout_s: float = 5.0) -> bool:
        """Wait until the stopped server's backends are gone and have handed in their counters."""
        deadline = time.monotonic() + timeout_s
        while self.connections():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def log_errors(self) -> None:
        """From now on the errors of new connections to the trial's database are logged, where the server is ours."""
        if self.owner:
            self.take_errors()
            with self.connect(self._home) as connection:
                name = sql.Identifier(TRIAL_DATABASE)
                connection.execute(sql.SQL("ALTER DATABASE {} SET log_min_messages = 'error'").format(name))

    def take_errors(self) -> str:
        """The beginning of what was logged since the last call, and an empty log; nothing of a server that is not ours."""
        if not self.owner:
            return ""
        with open(self.owner.log, "r+b") as file:
            text = file.read(MOST_LOG_BYTES).decode(errors="replace")
            file.truncate(0)
        return text

    def sever(self) -> None:
        """Cut every connection of the server under test."""
        with self.connect(self._home) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND application_name <> %s",
                [TRIAL_DATABASE, APPLICATION_NAME],
            )


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
        connection = database.connect(database._home)
    except psycopg.ProgrammingError as error:
        raise LabError(
            f"`--database` is not a connection URL: {str(error).strip()}", hint="postgresql://USER:PASSWORD@HOST:PORT/postgres"
        ) from error
    except psycopg.OperationalError as error:
        raise LabError(f"cannot connect to the given database: {str(error).strip().splitlines()[-1]}") from error
    with connection:
        _require_rights(connection)
        _require_ours(connection, TRIAL_DATABASE)
    return database


def _require_rights(connection: psycopg.Connection[Any]) -> None:
    if connection.info.server_version < 140_000:
        raise LabError(f"the given PostgreSQL is version {connection.info.server_version // 10_000}, and 14 or newer is needed")
    row = connection.execute("SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
    if not row or not row[0]:
        user = connection.info.user
        raise LabError(f"the given user `{user}` may not create databases", hint=f'as a superuser: ALTER ROLE "{user}" CREATEDB')


def _require_ours(connection: psycopg.Connection[Any], name: str) -> None:
    row = connection.execute(
        "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s", [name]
    ).fetchone()
    if row is not None and row[0] != MARK:
        raise LabError(
            f"the given server has a database `{name}` that the lab did not make, and it will not be touched",
            hint=f"rename it, or use another server: ALTER DATABASE {name} RENAME TO …",
        )


def _drop(connection: psycopg.Connection[Any], name: str, embedded: bool) -> None:
    if not embedded:  # in a server of our own all is ours, also what an interruption left without its mark
        _require_ours(connection, name)
    connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def waits(connection: psycopg.Connection[Any]) -> Sequence[tuple[str, int]]:
    """What the server's backends do at this moment: (wait event, `running`, `idle` or `idle in transaction`; how many)."""
    return connection.execute(
        "SELECT CASE WHEN state LIKE 'idle%%' THEN state WHEN wait_event IS NULL THEN 'running'"
        " ELSE wait_event_type || ':' || wait_event END, count(*)::int FROM pg_stat_activity"
        " WHERE datname = %s AND application_name <> %s AND backend_type = 'client backend' GROUP BY 1",
        [TRIAL_DATABASE, APPLICATION_NAME],
    ).fetchall()


def hygiene(connection: psycopg.Connection[Any]) -> Hygiene:
    """Whether anything but the trial keeps the database server busy at this moment."""
    version = connection.info.server_version
    if version >= 180_000:
        checkpoints = "(SELECT num_done FROM pg_stat_checkpointer)"
    elif version >= 170_000:
        checkpoints = "(SELECT num_timed + num_requested FROM pg_stat_checkpointer)"
    else:
        checkpoints = "(SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter)"
    row = connection.execute(
        # Others' sessions show what they do only to those who may read all statistics: what is hidden is unknown, not none.
        f"SELECT {checkpoints}::bigint, CASE WHEN sees THEN autovacuums END, CASE WHEN sees THEN strangers END FROM (SELECT"
        " pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') AS sees,"
        " count(*) FILTER (WHERE backend_type = 'autovacuum worker' AND datname = %(ours)s)::int AS autovacuums,"
        " count(*) FILTER (WHERE backend_type = 'client backend' AND state = 'active' AND datname <> %(ours)s"
        " AND application_name <> %(lab)s)::int AS strangers FROM pg_stat_activity) AS now",
        {"ours": TRIAL_DATABASE, "lab": APPLICATION_NAME},
    ).fetchone()
    return Hygiene(*row) if row else Hygiene(None, None, None)
