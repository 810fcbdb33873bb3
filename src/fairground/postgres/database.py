"""A database on the server that trials run on, embedded or given: template, reset, counters, connections and errors.

Every arm has a database of its own on the one server, so that what one arm does is never counted as another's.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

import psycopg
from psycopg import sql

from fairground.host import Child, Keeper, Meter, Moment
from fairground.model import ContractError, DatabaseEnded, DatabaseWork, Durability, LabError, foreign, secret
from fairground.model.cause import DatabaseLifetime
from fairground.model.contract import CompiledDatabase, ContractData, Migrations
from fairground.postgres import commits, migrations, rights, role, session, storage, template, traces
from fairground.postgres.activity import waits
from fairground.postgres.address import DatabaseAddress
from fairground.postgres.cells import rows_of
from fairground.postgres.errorlog import ErrorLog, Refusals
from fairground.postgres.libpq import open_session
from fairground.postgres.names import APPLICATION_NAME, MARK, MARKED, RIGHTS, ROLE, TEMPLATES, THEIRS, of_arm
from fairground.postgres.owner import Errors, Owner
from fairground.postgres.questions import Connection, Questions
from fairground.postgres.traces import drop_database
from fairground.postgres.wording import lost_statement_errors
from fairground.postgres.work import flushes, table_numbers, work

HOME = "postgres"
"""The database that the lab connects to in order to make and drop others."""
RECOVERS_S, ANSWERS_S = 60.0, 5.0
"""The time within which a server of our own must accept connections again after a crash, and a given one at any time."""
AFTER_ITS_END = "`dmesg` tells whether the kernel killed it, as it does where memory is short"


class DatabaseHost(Protocol):
    """Another host, on which the database server runs in place of the lab's machine. `name`: what it is called.

    `front`: the address of the lab's machine as the host sees it. `here`: as of `EngineHost`.
    """

    name: str
    front: str
    here: Sequence[int]

    def require(self) -> None:
        """Raise MachineError if the host is gone."""

    def start(self, durability: Durability, overrides: Mapping[str, str], version: int | None) -> Database:
        """Start a server there. LabError where it cannot be had."""

    def free_bytes(self) -> int:
        """The bytes that may still be written on the disk of its data."""

    def moment(self) -> Mapping[str, Moment]:
        """The clocks of the host's machine by its name; nothing where it is the lab's own."""

    @property
    def remarks(self) -> Iterable[str]:
        """The sentences that a person should know of it."""

    @property
    def described(self) -> str:
        """Its name and its machine, as a record keeps them."""


@dataclass(frozen=True)
class Counters:
    """One database's own counters since it was made. Read them after its connections are closed: an idle backend
    keeps what it counted for up to 10 s."""

    commits: int
    rollbacks: int
    rows_read: int
    deadlocks: int
    sessions: int
    """Connections that were opened to it, the lab's own among them."""
    temp_files: int = 0


class Database:
    """The database of one arm on a PostgreSQL server. `admin` owns it and is the lab's; the arm's server logs in as `app`.

    `shared`: why `app` is `admin` on this server; None where each arm has a role of its own.
    """

    def __init__(
        self,
        admin: DatabaseAddress,
        owner: Owner | None,
        number: int = 1,
        errors: Errors | None = None,
        shared: str | None = None,
        secret: str | None = None,
        remarks: tuple[str, ...] = (),
    ) -> None:
        self.admin, self.owner, self.shared, self.name = admin, owner, shared, of_arm(number)
        self.settled: Sequence[str] = ()
        """The settings that the arm's role gets in its database, since the server's own are others."""
        self.plain_login = False
        """True if the arm's role logs in with its password itself, on the lab's own server: nobody hashes it 4,096 times."""
        self.remarks = remarks
        """What is to be said before anything is measured on this server: what stays unknown, for want of a right."""
        self.keeper: Keeper | None = None
        """What starts an application's own migrations; None: nobody made this database for a contract that has some."""
        self._templates = dict[ContractData, str]()
        """Their names: what migrations read is read once, so that all of a run has the same data."""
        self._tables: list[int] | None = None
        """The contract's tables by their numbers: a table of the same name that a server makes is another one."""
        self._secret = secret or secrets.token_urlsafe(18)
        self._questions = Questions(self.connect)
        self._errors = errors or (ErrorLog(owner.log) if owner and owner.log else None)
        user = of_arm(number, ROLE)
        self.app = admin if shared else replace(admin, user=user, password=role.password(self._secret, user), libpq=())

    def arm(self, number: int, compiled: CompiledDatabase | None = None) -> Database:
        """The database of another arm on the same server; arms count from 1. It holds data once it is `reset`.

        `compiled`: the names that it has in place of the lab's own.
        """
        found = Database(self.admin, self.owner, number, self._errors, self.shared, self._secret)
        found.settled, found.keeper, found._templates = self.settled, self.keeper, self._templates
        if compiled is not None:
            found.name, found.app = compiled.name, replace(found.app, user=compiled.user, password=compiled.password)
        return found

    @property
    def child(self) -> Child | None:
        """The postmaster, where it is ours and on this machine."""
        return self.owner.child if self.owner else None

    def meter(self) -> Meter | None:
        """A meter of what the server uses, where it is ours to measure."""
        return self.owner.meter() if self.owner else None

    def server_url(self) -> str:
        """The address of the database as a URL, for the server under test."""
        return self.app.url(self.name)

    def connect(self, database: str | None = None, options: str | None = None, encoding: str = "UTF8") -> Connection:
        """A connection of the lab's own, committing each statement; marked, so that it is never counted as the server's.

        It is to this arm's database, unless another is named. `options`: in place of the address's. `encoding`: the client's.
        """
        return open_session(
            host=self.admin.host,
            port=self.admin.port,
            user=self.admin.user,
            password=self.admin.password or None,  # libpq then looks into PGPASSWORD and its file
            dbname=database or self.name,
            application_name=APPLICATION_NAME,
            client_encoding=encoding,
            options=self.admin.options if options is None else options,
            connect_timeout=10,
            **dict(self.admin.libpq),
        )

    def watch(self) -> Connection:
        """A connection that sees what all arms are asked: a server of another encoding might refuse to translate it."""
        return self.connect(HOME, encoding="SQL_ASCII")

    def asking(self, database: str | None = None) -> AbstractContextManager[Connection]:
        """A connection for a question, as `connect` makes one: to this arm's database, unless another is named."""
        return self._questions.to(database or self.name)

    def keep_asking(self) -> AbstractContextManager[None]:
        """Ask all that is asked in a block by one connection for each database. Counters are read after it."""
        return self._questions.keep()

    def query(self, statement: str, values: Mapping[str, object] | None = None, keyed: bool = False) -> list[tuple[Any, ...]]:
        """Rows of one statement in this arm's database, as of `cells.rows_of`. `values` stand for its `%(name)s`."""
        with self.asking() as connection:
            return rows_of(connection.execute(statement.encode(), values), keyed)

    def probe(self, statement: str, values: Mapping[str, object] | None = None, keyed: bool = False) -> list[tuple[Any, ...]]:
        """Ask a statement of a contract, as `query` does. ContractError with what the database said where it refuses it.

        Where it refuses the `values`, which a server's answer may be among, it is a LabError: the statement may be right.
        """
        try:
            return self.query(statement, values, keyed)
        except (psycopg.ProgrammingError, psycopg.DataError) as error:
            said, short = foreign.line(str(error), foreign.SENTENCE_CHARACTERS), foreign.line(" ".join(statement.split()), 120)
            sentence = f"the database refuses `{short}`: {said}"
            if values and isinstance(error, psycopg.DataError):
                raise LabError(sentence) from error
            raise ContractError(sentence, "./fairground check --contract NAME tries its statements") from error

    def alter(self, statements: Sequence[str]) -> None:
        """Carry out the lab's own statements in this arm's database; `{database}` in them stands for its quoted name."""
        if statements:
            with self.asking() as connection:
                for statement in statements:
                    connection.execute(statement.format(database=f'"{self.name}"').encode())

    def require(self) -> None:
        """Raise DatabaseEnded where the server is there no more. One that recovers from a crash is waited for."""
        deadline = time.monotonic() + (RECOVERS_S if self.owner is not None else ANSWERS_S)
        while True:
            if self.owner is not None and (why := self.owner.ended) is not None:
                raise DatabaseEnded(f"the database server {why}", AFTER_ITS_END)
            try:
                with self.connect(HOME):
                    return
            except psycopg.OperationalError as error:
                if time.monotonic() > deadline:
                    said = foreign.line(str(error), foreign.SENTENCE_CHARACTERS)
                    raise DatabaseEnded(f"the database server accepts no connection any more: {said}", AFTER_ITS_END) from error
            time.sleep(0.1)

    def lifetime(self) -> DatabaseLifetime:
        """The server's lifetime, which ends with a crash, too."""
        since = "extract(epoch FROM (SELECT stats_reset FROM {}))::float8"
        with self.asking(HOME) as connection:
            row = connection.execute(
                "SELECT extract(epoch FROM pg_postmaster_start_time())::float8,"
                f" {since.format('pg_stat_bgwriter')}, {since.format('pg_stat_archiver')}".encode()
            ).fetchone()
        assert row is not None, "a query without a table has one row"
        return DatabaseLifetime(*row)

    def stop(self) -> None:
        """Stop the server if it is ours; from a given one all that the lab made is removed, if it still answers."""
        if self.owner:
            self.owner.stop()
            return
        with suppress(psycopg.Error):
            self.drop_arms()
        with suppress(psycopg.Error), self.asking(HOME) as connection:
            traces.remove_traces(connection)

    def drop_arms(self) -> None:
        """Remove databases and roles of all arms, an earlier session's too: in a given server only those that the lab made."""
        # In a server of our own all is ours, also what an interruption left without its mark.
        ours = f"oid IN {MARKED}" if self.owner is None else f"NOT datistemplate AND datname <> '{HOME}'"
        with self.asking(HOME) as connection:
            rows = connection.execute(
                f"SELECT datname FROM pg_database WHERE {ours} AND datname !~ %s".encode(), [TEMPLATES]
            ).fetchall()
            for (name,) in rows:
                drop_database(connection, name, self.owner is not None)
            if not self.shared:
                role.drop_all(connection)

    # ------------------------------------------------------------ data

    def prepare(self, data: ContractData) -> str:
        """Make the template of a contract's data unless it is there, and return its name. A half-made one is made anew.

        StorageError where the server has no room for it.
        """
        with storage.watch_storage(self.owner.log if self.owner else None):
            return self._prepared(data)

    def _prepared(self, data: ContractData) -> str:
        if data not in self._templates:
            self._templates[data] = template.name_of(data, rights=not self.shared)
        name = self._templates[data]
        with self.asking(HOME) as connection:
            if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
                return name
            building = f"{name}_building"
            drop_database(connection, building, self.owner is not None)
            self._create(connection, building, None)
            if not self.shared:
                role.make_group(connection, RIGHTS)
                role.admit(connection, None, building)
            with template.whole_or_none(connection, building), self.connect(building) as there:
                template.fill(there, data, rights=not self.shared, migrate=lambda one: self._migrate(one, data, building))
            connection.execute(sql.SQL("ALTER DATABASE {} RENAME TO {}").format(sql.Identifier(building), sql.Identifier(name)))
        return name

    def _migrate(self, one: Migrations, data: ContractData, database: str) -> None:
        assert self.keeper is not None, "a database that is started for a contract has one"
        migrations.migrate(self.keeper, one, data.contract, self.admin, database)

    def reset(self, data: ContractData) -> None:
        """Give this arm a fresh copy of the data, byte for byte, and a fresh role without a limit. Its counters are at zero."""
        source = self.prepare(data)
        with self.connect(source) as connection:  # a copy has the same numbers, and looking there would count
            self._tables = table_numbers(connection)
        with storage.watch_storage(self.owner.log if self.owner else None), self.asking(HOME) as connection:
            self._make(connection, source)

    def make_empty(self) -> None:
        """Make this arm's database without data, and its role: enough to log in."""
        with self.asking(HOME) as connection:
            if not self.shared:
                role.make_group(connection, RIGHTS)
            self._make(connection, None)

    def _make(self, connection: psycopg.Connection[Any], source: str | None) -> None:
        drop_database(connection, self.name, self.owner is not None)
        self._create(connection, self.name, source)
        if not self.shared:
            role.make(connection, self.app.user, self.app.password, self.plain_login and self.owner is not None)
            role.admit(connection, self.app.user, self.name)
        session.settle(connection, self.app.user, self.name, self.settled)

    def limit_connections(self, most: int) -> None:
        """Let the server under test have this many connections at once; the database refuses more. Until the next reset."""
        if not self.shared:
            self.refusals()
            with self.asking(HOME) as connection:
                role.limit(connection, self.app.user, most)

    def refusals(self) -> Refusals | None:
        """Count the connections that were refused since the limit was set, or asked for; None where the log is not ours."""
        return None if self._errors is None or self.shared else self._errors.refusals(self.app.user)

    def _create(self, connection: psycopg.Connection[Any], name: str, source: str | None) -> None:
        # FILE_COPY checkpoints before and after, so that a trial does not pay for the copy; WAL_LOG would leave it that debt.
        newer = connection.info.server_version >= 150_000
        form = "CREATE DATABASE {} TEMPLATE {}" + (" STRATEGY FILE_COPY" if newer else "")
        form += "" if source else template.ENCODED + (" LOCALE_PROVIDER libc" if newer else "")
        connection.execute(sql.SQL(form).format(sql.Identifier(name), sql.Identifier(source or "template0")))
        connection.execute(sql.SQL("COMMENT ON DATABASE {} IS {}").format(sql.Identifier(name), sql.Literal(MARK)))

    # ------------------------------------------------------------ counters

    def version(self) -> str:
        """The server's version, such as `18.1`."""
        with self.asking(HOME) as connection:
            return str(connection.execute("SHOW server_version").fetchone()[0]).split()[0]  # type: ignore[index]

    def settings(self) -> dict[str, str]:
        """Settings that differ from PostgreSQL's defaults, for the disclosure: without the secrets in them."""
        with self.connect(HOME, options="") as connection:
            rows = connection.execute(
                "SELECT name, current_setting(name) FROM pg_settings WHERE setting IS DISTINCT FROM boot_val"
                " AND source IN ('command line', 'configuration file', 'database', 'user') AND NOT name = ANY(%s) ORDER BY name",
                [["config_file", "data_directory", "hba_file", "ident_file", "port"]],
            ).fetchall()
        return {str(name): secret.redact(str(value)) for name, value in rows}

    def counters(self) -> Counters:
        """Commits, rollbacks, rows read and deadlocks in this arm's database since its reset."""
        with self.asking(HOME) as connection:
            row = connection.execute(
                "SELECT xact_commit, xact_rollback, tup_returned, deadlocks, sessions, temp_files FROM pg_stat_database"
                " WHERE datname = %s",
                [self.name],
            ).fetchone()
        return Counters(*row) if row else Counters(0, 0, 0, 0, 0)

    def work(self) -> DatabaseWork:
        """Scans, calls and statements that this arm's database has counted since its reset."""
        with self.asking() as connection:
            return work(connection, self._tables)

    def wal_position(self) -> int | None:
        """Bytes of WAL so far, of all arms, with those that are not written out yet; None where we may not ask."""
        try:
            with self.asking(HOME) as connection:
                row = connection.execute("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')").fetchone()
                return int(row[0]) if row else None
        except psycopg.Error:
            return None

    def transactions(self) -> int | None:
        """The next number of a transaction that writes, of all arms; only differences mean anything. None where nobody tells."""
        try:
            with self.asking(HOME) as connection:
                row = connection.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint").fetchone()
                return int(row[0]) if row else None
        except psycopg.Error:
            return None

    def flushes(self) -> int | None:
        """Count the flushes of the log to the disk so far; None where commits do not wait for them, or nobody counts."""
        try:
            with self.asking() as connection:
                return flushes(connection)
        except psycopg.Error:
            return None

    def clock_of_commits_us(self) -> tuple[int, int] | None:
        """The microseconds by which its clock is ahead of ours, at least and at most; None without moments of commits."""
        with self.asking() as connection:
            return commits.clock_ahead_us(connection) if commits.are_kept(connection) else None

    def checkpoint(self) -> bool:
        """Write out what is dirty, so that no checkpoint falls into the window; False where we may not."""
        try:
            with self.asking(HOME) as connection:
                connection.execute("CHECKPOINT")
            return True
        except psycopg.errors.InsufficientPrivilege:
            return False

    def backends(self) -> frozenset[int]:
        """Read the pids of the server's (or its pooler's) backends now, in this arm's database or as its role."""
        with self.asking(HOME) as connection:
            rows = connection.execute(f"SELECT pid FROM pg_stat_activity WHERE {self._of_server}".encode()).fetchall()
        return frozenset(pid for (pid,) in rows)

    def room(self) -> int:
        """Count the connections that the server would still accept from servers under test, beside open and reserved ones."""
        with self.asking(HOME) as connection:
            return rights.room(connection, shared=self.shared is not None)

    def count_backends(self, doing: str) -> int:
        """Count the server's backends that do now what begins so, as `waits` tells it: `Lock:` or `idle in transaction`."""
        with self.asking(HOME) as connection:
            return sum(count for done, count in waits(connection, self.name) if done.startswith(doing))

    def wait_for_no_connections(self, timeout_s: float = 5.0) -> bool:
        """Wait until the stopped server's backends are gone and have handed in their counters."""
        deadline = time.monotonic() + timeout_s
        while self.backends():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def log_errors(self) -> None:
        """Log the errors of new connections to this arm's database from now on, where the server is ours."""
        if self.owner:
            self.take_errors()
            with self.asking(HOME) as connection:
                name = sql.Identifier(self.name)
                connection.execute(sql.SQL("ALTER DATABASE {} SET log_min_messages = 'error'").format(name))

    def lost_statement_errors(self) -> tuple[str, ...]:
        """The server's messages for a prepared statement that is lost, in its own language."""
        with self.asking(HOME) as connection:  # what is logged of the arm's database is held against its server
            return lost_statement_errors(connection)

    def take_errors(self) -> str:
        """The beginning of what was logged of this arm since the last call; nothing of a server that is not ours."""
        return self._errors.take(self.name) if self._errors else ""

    def sever(self) -> int:
        """Cut every connection of the server under test, and tell how many there were."""
        ended = f"SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {self._of_server}"
        with self.asking(HOME) as connection:
            row = connection.execute(ended.encode()).fetchone()
        return int(row[0]) if row else 0

    @property
    def _of_server(self) -> str:
        """The condition that holds for a row of `pg_stat_activity` that is the server's under test."""
        mine = f"datname = '{self.name}'" + ("" if self.shared else f" OR usename = '{self.app.user}'")
        return f"({mine}) AND {THEIRS} AND backend_type = 'client backend'"
