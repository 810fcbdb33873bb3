"""A PostgreSQL of the lab's own: a cluster in the cache folder, started for a run and stopped after it.

The binaries come with packages (`packages`), so nothing has to be installed. A cluster is of one major version. One that was left
behind by a crash is recovered by the next start; two runs at once get a cluster each.
"""

from __future__ import annotations

import difflib
import fcntl
import os
import secrets
import shutil
import signal
import subprocess
import time
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import IO

import psycopg
from psycopg import sql
from psycopg.pq import PGconn, Ping

from fairground.host import LOOPBACK, Child, Keeper, Meter, RoleMeter, Streams, disk, free_address, free_port
from fairground.host.child import OwnView
from fairground.model import OWN_MAJOR, Durability, LabError, StorageError, foreign, storing
from fairground.postgres import packages, role, storage
from fairground.postgres.address import DatabaseAddress
from fairground.postgres.database import HOME, Database
from fairground.postgres.errorlog import LINE_PREFIX
from fairground.postgres.libpq import close_ears, open_session
from fairground.postgres.names import PLAIN
from fairground.postgres.passwords import PasswordFile
from fairground.postgres.session import OF_SUPERUSERS

MAX_CLUSTERS = 8
INITDB_S = 600.0
DURABILITY_HINT = "durability is a class: choose `durable` or `relaxed`"
OURS = {
    **dict.fromkeys(("fsync", "synchronous_commit", "full_page_writes"), DURABILITY_HINT),
    **dict.fromkeys(
        ("port", "listen_addresses", "unix_socket_directories", "data_directory", "config_file", "hba_file", "ident_file"),
        "it is how servers and lab find the database",
    ),
    "log_line_prefix": "it is how the lab tells whose error a line of the log is",
    **dict.fromkeys(
        ("log_min_messages", "logging_collector", "log_destination"),
        "it is how the lab learns which connections the database refused",
    ),
    **dict.fromkeys(OF_SUPERUSERS, "it is what the audit relies on: else it sees nothing of what servers do"),
}
"""Settings that cannot be replaced, and why."""
SUPERUSER = "fairground"


def start(
    keeper: Keeper,
    folder: Path,
    durability: Durability,
    overrides: Mapping[str, str] | None = None,
    version: int = OWN_MAJOR,
    clients: Sequence[str] = (),
    port: int | None = None,
) -> Database:
    """Start the embedded PostgreSQL of a major version in one durability class and wait until it answers.

    `folder` keeps clusters between runs, and binaries that were brought.
    `overrides` are settings in place of the lab's own. Raises LabError when the binaries cannot be had or the cluster does not
    start; the hint has its log's last lines. `clients`: addresses of other machines that may connect, with a new password.
    `port`: the one at which it is wanted, at an address of its own; without that it has a port of the lab's choice.
    """
    programs = packages.programs(version, folder, keeper)
    check(overrides or {}, programs)
    cluster = Cluster.claim(folder / "postgres", version, programs)
    cluster.overrides, cluster.clients = dict(overrides or {}), tuple(clients)
    cluster.wanted = port
    return cluster.start(keeper, durability)


def require_unused(parent: Path) -> None:
    """Raise LabError where a lab uses one of the clusters in a folder."""
    for path in sorted(parent.glob("*/lock")):
        with storing(path), open(path) as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise LabError(
                    f"another run uses the database in `{path.parent}`", "wait for its end, or interrupt it"
                ) from error
            except OSError:
                continue  # there are no locks on its file system, so that nobody uses it


class Cluster:
    """One data folder with its lock. Who holds the lock may do with the folder what it must."""

    def __init__(self, folder: Path, lock: IO[str], programs: Path) -> None:
        self.folder, self.data, self._lock, self._programs = folder, folder / "data", lock, programs
        self._passwords = PasswordFile(folder / "passwords", SUPERUSER)
        self.overrides: dict[str, str] = {}
        """Settings in place of the lab's own, with the cluster's next start."""
        self.clients: tuple[str, ...] = ()
        """Other machines that may connect, with its next start."""
        self.wanted: int | None = None
        """The port that it takes where an address is left at which it is free, with its first start."""
        self._child: Child | None = None
        self._address, self._port = "", 0

    @classmethod
    def claim(cls, parent: Path, version: int, programs: Path) -> Cluster:
        """Take the first cluster of a version that no other lab uses, making it when it does not exist yet.

        `programs`: the folder of that version's programs.
        """
        for number in range(1, MAX_CLUSTERS + 1):
            folder = parent / f"{version}-{number}"
            with storing(folder):
                folder.mkdir(parents=True, exist_ok=True)
                lock = open(folder / "lock", "w")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return cls(folder, lock, programs)
            except BlockingIOError:
                lock.close()
            except OSError as error:
                lock.close()
                sentence = f"`{folder}` cannot be locked on its file system: {foreign.line(str(error.strerror))}"
                raise StorageError(sentence, "name a folder on a local disk: FAIRGROUND_CACHE=DIR") from error
        raise LabError(f"{MAX_CLUSTERS} other runs use the embedded PostgreSQL", hint="wait for one of them to end", exit_code=3)

    def start(self, keeper: Keeper, durability: Durability) -> Database:
        """Recover what an earlier run left, make the cluster on first use, start it; no arm's database is there yet."""
        self._end_leftover()
        if not (self.data / "PG_VERSION").exists():
            self._initialise(keeper)
        self._launch(keeper, durability)
        database = self._database(self._password())
        if self.clients:
            database = self._database(self._with_another_password(database))
        _close_own_databases(database)
        database.drop_arms()
        return database

    def _database(self, password: str) -> Database:
        return Database(DatabaseAddress(self._address, self._port, SUPERUSER, password), self)

    def _with_another_password(self, database: Database) -> str:
        """Set a password that nobody had before, and return it: who connects from elsewhere is told it for this run."""
        password = secrets.token_urlsafe(18)
        self._passwords.write([database.admin.password, password])  # whatever ends us in between, one of them is right
        with database.connect(HOME) as connection:
            connection.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(SUPERUSER), sql.Literal(password)))
        self._passwords.write([password])
        return password

    def _password(self) -> str:
        """The password of the file that the running server takes. LabError where it takes none, and it is stopped then."""
        try:
            for one in self._passwords.read():
                try:
                    with open_session(DatabaseAddress(self._address, self._port, SUPERUSER, one).url(HOME)):
                        return one
                except psycopg.OperationalError as error:
                    if error.pgconn is None or not error.pgconn.used_password:
                        raise  # it did not come to a password
            raise self._passwords.refusal("the server does not take the password in it")
        except BaseException:
            self._stop_postmaster(signal.SIGINT)
            raise

    @property
    def child(self) -> Child | None:
        """The running postmaster."""
        return self._child

    @property
    def ended(self) -> str | None:
        """The clause that says why it is there no more: its process has ended, or its files were removed."""
        code = None if self._child is None else self._child.exit_code()
        if code is not None:
            return f"ended with exit code {code}"
        return None if (self.data / "PG_VERSION").exists() else f"has lost its files: `{self.data}` is gone"

    def meter(self) -> Meter:
        """A meter of what it uses. Nobody asks for its busiest backend, and the arms of a round have hundreds."""
        assert self._child is not None
        return RoleMeter(self._child, threads=False)

    @property
    def log(self) -> Path:
        """The file of what the server says."""
        return self.folder / "postgres.log"

    def restart(self, keeper: Keeper, durability: Durability, pause_s: float = 0.0, crash: bool = False) -> None:
        """Stop it and start it again on the same port.

        It is stopped as its manual calls fast: it cuts connections, and writes out what it has. A `crash` kills all of its
        processes: what they had not written out is lost, and the next start recovers from the log.
        """
        if crash:
            self._kill()
        else:
            self._stop_postmaster(signal.SIGINT)
        time.sleep(pause_s)
        self._launch(keeper, durability)

    def stop(self) -> None:
        """Stop it and give the folder back."""
        self._stop_postmaster(signal.SIGINT)
        self._lock.close()

    def _stop_postmaster(self, number: int) -> None:
        if self._child is not None:
            self._child.stop(grace_s=30.0, number=number)
            self._child = None

    def _kill(self) -> None:
        """Kill all of its processes at once, the postmaster first: no other is left to serve, or to write anything out."""
        child = self._child
        assert child is not None
        for one in sorted(child.alive(), key=lambda one: one.pid != child.pid):
            with suppress(ProcessLookupError):
                os.kill(one.pid, signal.SIGKILL)
        child.stop(grace_s=0.0, number=signal.SIGKILL)
        self._child = None
        self._end_leftover()

    def _launch(self, keeper: Keeper, durability: Durability) -> None:
        if not self._port:
            at = free_address(self.wanted) if self.wanted is not None and keeper.address == LOOPBACK else None
            self._address = at or keeper.address
            self._port = self.wanted if at is not None and self.wanted else free_port(17_000, 17_999, keeper.address)
        found = {"listen_addresses": self._address, "port": self._port}
        admitted = self._admitted(self._address)
        options = {**settings(durability), **self.overrides, **found, "log_line_prefix": LINE_PREFIX, **admitted}
        argv = [str(self._programs / "postgres"), "-D", str(self.data)]
        for name, value in options.items():
            argv += ["-c", f"{name}={value}"]
        with storing(self.log):
            self.log.write_bytes(b"")
        view = OwnView(map_user=os.geteuid() == 0)
        with open(self.log, "ab") as stream:  # at its end, wherever that is: the log may be emptied while it is written
            self._child = keeper.spawn(
                argv,
                role="database",
                env=_environment(),
                cwd=self.data,
                streams=Streams.into(stream),
                view=view,
            )
        self._wait()

    def _admitted(self, address: str) -> dict[str, str]:
        """The settings that let this machine connect and the others, each at its address."""
        file, lines = self.folder / "pg_hba.conf", list[str]()
        for one in dict.fromkeys((LOOPBACK, address, *self.clients)):
            place = f"{one}/{128 if ':' in one else 32}"
            lines += [f"host all +{PLAIN} {place} password"] if one == LOOPBACK else []
            lines.append(f"host all all {place} scram-sha-256")
        with storing(file):
            file.write_text("\n".join([*lines, ""]), encoding="utf-8")
        return {"hba_file": str(file)}

    def _wait(self) -> None:
        """Wait for connections; crash recovery may take its time, a process that ended may not."""
        assert self._child is not None
        close_ears()
        place = f"host={self._address} port={self._port} connect_timeout=2".encode()
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if self._child.exit_code() is not None:
                break
            if Ping(PGconn.ping(place)) is Ping.OK:  # it refuses whom it does not know, too, and then it is up
                return
            time.sleep(0.03)
        tail, code = "\n".join(self.log.read_text(errors="replace").splitlines()[-5:]), self._child.exit_code()
        self._stop_postmaster(signal.SIGQUIT)
        if refused := storage.storage_error(tail, self.folder):
            raise refused
        if not tail.strip():  # a full disk has no room for its log either
            disk.require_room([self.folder], disk.LEAST_AFTER_BYTES)
            tail = "(none)" if code is None else f"(none; it ended with {code})"
        raise LabError("the embedded PostgreSQL did not start", hint=f"its last words:\n{tail}", exit_code=3)

    def _initialise(self, keeper: Keeper) -> None:
        """`initdb` into a folder beside, moved into place when it is whole."""
        fresh = self.folder / "data.new"
        shutil.rmtree(fresh, ignore_errors=True)
        password = secrets.token_urlsafe(18)
        pwfile = self.folder / "initdb-password"
        self._passwords.write([password])
        with storing(self.folder):
            pwfile.touch(mode=0o600)
            pwfile.write_text(password)
        command = [
            str(self._programs / "initdb"),
            "-D",
            str(fresh),
            "-U",
            SUPERUSER,
            "--auth=scram-sha-256",
            f"--pwfile={pwfile}",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "--no-instructions",
        ]
        try:
            code, said = self._carry_out(keeper, command)
        finally:
            pwfile.unlink(missing_ok=True)
        if code != 0:
            shutil.rmtree(fresh, ignore_errors=True)
            raise _initdb_failed(said, self.folder)
        shutil.rmtree(self.data, ignore_errors=True)
        fresh.rename(self.data)

    def _carry_out(self, keeper: Keeper, command: Sequence[str]) -> tuple[int | None, str]:
        """Carry out a command that ends with the lab: its exit code (None: it took too long), and what it said of errors."""
        view = OwnView(map_user=os.geteuid() == 0)
        with open(os.memfd_create("errors"), "w+b") as errors:
            child = keeper.spawn(
                command, role="initdb", env=_environment(), cwd=self.folder, streams=Streams(stderr=errors), view=view
            )
            try:
                code = child.wait(INITDB_S)
            finally:
                child.stop(grace_s=0.0)
            errors.seek(0)
            return code, errors.read().decode(errors="replace")

    def _end_leftover(self) -> None:
        """End a postmaster that an earlier, killed lab left on this folder, and its stale lock file."""
        pid_file = self.data / "postmaster.pid"
        if not pid_file.exists():
            return
        first = pid_file.read_text().split("\n", 1)[0].strip()
        if first.isdigit() and _runs_in(int(first), self.data):
            os.kill(int(first), signal.SIGKILL)
            deadline = time.monotonic() + 10
            while _runs_in(int(first), self.data) and time.monotonic() < deadline:
                time.sleep(0.02)
        pid_file.unlink(missing_ok=True)


def _close_own_databases(database: Database) -> None:
    """Let only the lab connect to the databases that every cluster has: servers under test have one of their own."""
    with database.connect(HOME) as connection:
        for name in (HOME, "template1"):
            role.admit(connection, None, name)


def _initdb_failed(said: str, folder: Path) -> LabError:
    """The error that says why no cluster could be made in this folder, in the words of the program."""
    lines = [line for line in said.splitlines() if line.strip()] or ["it said nothing"]
    if refused := storage.storage_error(said, folder):
        return refused
    return LabError(f"initdb failed: {foreign.line(lines[0], foreign.SENTENCE_CHARACTERS)}", exit_code=3)


def binary(name: str) -> Path:
    """The path of a client of the lab's own PostgreSQL (`pgbench`, `psql`). It serves every version that the lab can start.

    The package of another version may lack them, and one client measures all versions alike. LabError where it is missing.
    """
    return packages.own() / name


def settings(durability: Durability) -> dict[str, str | int]:
    """The settings of one durability class, from settings.toml."""
    table = tomllib.loads(files("fairground.postgres").joinpath("settings.toml").read_text(encoding="utf-8"))
    return {**table["common"], **table[durability.value]}


def check(overrides: Mapping[str, str], programs: Path | None = None) -> None:
    """Raise LabError if a setting does not exist, or is not for a person to change; a bad value is PostgreSQL's own to refuse.

    `programs`: the folder of the version that has to know it; None: that of the lab's own.
    """
    for name in overrides:
        if name.lower() in OURS:
            raise LabError(f"the PostgreSQL setting `{name}` is the lab's own", OURS[name.lower()])
        known = known_settings(programs or packages.own())
        if name.lower() not in known:
            near = difflib.get_close_matches(name, known, n=3)
            raise LabError(f"PostgreSQL has no setting `{name}`", f"did you mean {' or '.join(near)}?" if near else None)


@cache
def known_settings(programs: Path) -> frozenset[str]:
    """The names of all settings that the PostgreSQL in a folder of programs has."""
    command = [str(programs / "postgres"), "--describe-config"]
    said = subprocess.run(command, env=_environment(), capture_output=True, text=True, check=True).stdout
    return frozenset(line.split("\t", 1)[0].lower() for line in said.splitlines())


def _environment() -> dict[str, str]:
    return {"PATH": os.defpath, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def _runs_in(pid: int, folder: Path) -> bool:
    try:
        return Path(f"/proc/{pid}/cwd").resolve(strict=True) == folder.resolve()
    except OSError:
        return False
