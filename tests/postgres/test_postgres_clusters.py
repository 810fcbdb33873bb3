"""The clusters of the embedded database: one for each lab, and what a crash leaves behind."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from builders.children import is_alive
from builders.contracts import SEEDS
from builders.paths import ROOT
from builders.waiting import eventually
from fairground import postgres
from fairground.host import Keeper, free_address, free_port
from fairground.judge import written
from fairground.model import MAJORS, OWN_MAJOR, DatabaseEnded, Durability, LabError
from fairground.model.cause import DatabaseLifetime
from fairground.postgres import Database, embedded, packages

PATIENCE_S = 30.0


@pytest.fixture(scope="module")
def crash_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of its own for clusters that are to be crashed."""
    return tmp_path_factory.mktemp("crash")


@pytest.fixture
def crashing(keeper: Keeper, crash_cache: Path) -> Iterator[Callable[[], Database]]:
    """Starts the embedded PostgreSQL on that cache, stopped at the end."""
    started: list[Database] = []

    def start() -> Database:
        started.append(postgres.start(keeper, crash_cache, Durability.DURABLE))
        return started[-1]

    yield start
    for one in started:
        one.stop()


def write_down(database: Database, text: str) -> None:
    """Keep a text in the home database, where no reset takes it away."""
    with database.connect("postgres") as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS note (text text)")
        connection.execute("INSERT INTO note VALUES (%s)", [text])


def notes(database: Database) -> list[str]:
    """What was kept there."""
    with database.connect("postgres") as connection:
        return [str(row[0]) for row in connection.execute("SELECT text FROM note").fetchall()]


def cluster_of(database: Database) -> embedded.Cluster:
    """The cluster behind an embedded database."""
    assert isinstance(database.owner, embedded.Cluster)
    return database.owner


def is_over(before: DatabaseLifetime, database: Database) -> bool:
    """Whether the server has another lifetime now. It takes a while to notice its backend's end, and refuses while it recovers."""
    try:
        return before.is_over(database.lifetime())
    except psycopg.OperationalError:
        return False


@pytest.mark.live
def test_a_killed_backend_ends_the_servers_lifetime(crashing: Callable[[], Database]) -> None:
    """Its recovery begins the counters anew; a clean restart is seen as well, and two looks at one server agree."""
    database = crashing()
    before = database.lifetime()
    assert not before.is_over(database.lifetime())
    with database.connect("postgres") as connection:
        connection.execute("CREATE TEMPORARY TABLE kept (number int)")
        os.kill(connection.info.backend_pid, signal.SIGKILL)
    assert eventually(lambda: is_over(before, database))
    database.require()
    assert database.lifetime().started_unix_s == before.started_unix_s
    os.kill(cluster_of(database).child.pid, signal.SIGKILL)  # type: ignore[union-attr]
    with pytest.raises(DatabaseEnded, match="ended with exit code -9"):
        database.require()


@pytest.mark.live
def test_two_labs_get_a_cluster_each(crashing: Callable[[], Database]) -> None:
    """Two labs at once run on folders and ports of their own; a folder given back is used again."""
    one, two = crashing(), crashing()
    assert cluster_of(one).folder != cluster_of(two).folder
    assert one.admin.port != two.admin.port
    write_down(one, "one")
    with two.connect("postgres") as connection:
        assert not connection.execute("SELECT 1 FROM pg_tables WHERE tablename = 'note'").fetchall()
    one.stop()
    assert cluster_of(crashing()).folder == cluster_of(one).folder


@pytest.mark.live
def test_killed_postmaster_is_recovered(crashing: Callable[[], Database]) -> None:
    """A cluster whose postmaster was killed, its lock file still there, starts again with all that was committed."""
    first = crashing()
    write_down(first, "before the crash")
    child = first.child
    assert child is not None
    child.send(signal.SIGKILL)
    assert child.wait(PATIENCE_S) == -signal.SIGKILL
    assert (cluster_of(first).data / "postmaster.pid").exists()
    folder = cluster_of(first).folder
    child.stop()
    cluster_of(first)._lock.close()
    second = crashing()
    assert cluster_of(second).folder == folder
    assert "before the crash" in notes(second)


@pytest.mark.live
def test_stale_lock_file_of_a_stranger(crashing: Callable[[], Database]) -> None:
    """A lock file that names a process which is no postmaster of this folder is removed, and that process left alone."""
    first = crashing()
    data = cluster_of(first).data
    first.stop()
    stranger = subprocess.Popen(["sleep", "600"])
    try:
        (data / "postmaster.pid").write_text(f"{stranger.pid}\n{data}\n0\n1\n\n\n\n")
        second = crashing()
        assert cluster_of(second).data == data
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.live
def test_running_leftover_is_ended(crashing: Callable[[], Database]) -> None:
    """A postmaster that still runs on the folder, though its lab is gone, is ended first; its data is kept."""
    first = crashing()
    write_down(first, "by the leftover")
    child = first.child
    assert child is not None
    leftover = psutil.Process(child.pid)
    folder = cluster_of(first).folder
    cluster_of(first)._lock.close()
    second = crashing()
    assert cluster_of(second).folder == folder
    assert child.wait(PATIENCE_S) == -signal.SIGKILL
    assert not leftover.is_running() or leftover.status() == psutil.STATUS_ZOMBIE
    assert "by the leftover" in notes(second)


@pytest.mark.live
def test_restart_cuts_connections_and_keeps_the_port(crashing: Callable[[], Database], keeper: Keeper) -> None:
    """A restart cuts every connection and comes back on the same port with the same data."""
    database = crashing()
    port = database.admin.port
    write_down(database, "before the restart")
    with database.connect("postgres") as connection:
        cluster_of(database).restart(keeper, Durability.RELAXED)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    assert database.admin.port == port
    assert "before the restart" in notes(database)


@pytest.mark.live
def test_broken_cluster_says_why(keeper: Keeper, tmp_path: Path) -> None:
    """A cluster that cannot start is a LabError with the last words of its log, and the folder is free again."""
    data = tmp_path / "postgres" / "18-1" / "data"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("9\n")
    (data.parent / "passwords").write_text("")
    with pytest.raises(LabError) as caught:
        postgres.start(keeper, tmp_path, Durability.RELAXED)
    assert caught.value.message == "the embedded PostgreSQL did not start"
    assert caught.value.exit_code == 3
    assert caught.value.hint is not None and caught.value.hint.startswith("its last words:\n")
    assert str(data) in caught.value.hint


@pytest.mark.parametrize("version", MAJORS)
@pytest.mark.live
def test_each_version_starts(keeper: Keeper, cache: Path, version: int) -> None:
    """A cluster of its own in a folder with the version's name, with every setting of the lab, and the contract's data."""
    if packages.lacking(version, os.environ.get("PATH")) is not None and version != OWN_MAJOR:
        pytest.skip(f"PostgreSQL {version} cannot be brought here")
    database = postgres.start(keeper, cache, Durability.RELAXED, version=version)
    try:
        database.prepare(SEEDS.data(1))
        database.reset(SEEDS.data(1))
        assert database.version().split(".")[0] == str(version)
        assert database.owner is not None and database.owner.log.parent.name.startswith(f"{version}-")
        known = embedded.known_settings(packages.programs(version, cache, keeper))
        assert {name.lower() for name in embedded.settings(Durability.RELAXED)} <= known
    finally:
        database.stop()


def test_too_many_labs(tmp_path: Path) -> None:
    """When every cluster is in use the lab says so instead of sharing one."""
    held = [embedded.Cluster.claim(tmp_path, 18, tmp_path) for _ in range(embedded.MAX_CLUSTERS)]
    with pytest.raises(LabError, match="^8 other runs use the embedded PostgreSQL$"):
        embedded.Cluster.claim(tmp_path, 18, tmp_path)
    held[3]._lock.close()
    assert embedded.Cluster.claim(tmp_path, 18, tmp_path).folder == held[3].folder


def test_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package that carries PostgreSQL the sentence says so, and how to get it."""
    monkeypatch.setattr(packages.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(LabError) as caught:
        embedded.binary("postgres")
    assert caught.value.message == "the package with the embedded PostgreSQL is not installed"
    assert caught.value.hint == "./fairground doctor --install"


INITIALISES = """
import os, sys
from pathlib import Path
from fairground.host import Keeper
from fairground.model import Durability
from fairground.postgres.embedded import Cluster
folder = Path(sys.argv[1])
with Keeper(os.environ) as keeper:
    Cluster.claim(folder, 18, folder).start(keeper, Durability.RELAXED)
"""
"""A lab that makes a cluster by the `initdb` in a folder."""


@pytest.mark.live
def test_a_killed_lab_leaves_no_initdb_behind(tmp_path: Path) -> None:
    """What the next lab takes away would be written by it else."""
    notes, program = tmp_path / "notes", tmp_path / "initdb"
    program.write_text(f"#!/bin/sh\necho $$ > {notes}.new; mv {notes}.new {notes}; sleep 600 & wait\n")
    program.chmod(0o755)
    with subprocess.Popen([sys.executable, "-c", INITIALISES, str(tmp_path)]) as lab:
        try:
            assert eventually(notes.exists)
            initdb = psutil.Process(int(notes.read_text()))
            both = [initdb, *initdb.children()]
        finally:
            lab.kill()
    assert eventually(lambda: not any(is_alive(one) for one in both))


ORDINARY = """
import json, os, sys
from pathlib import Path
from fairground import postgres
from fairground.inputs import contracts
from fairground.model import Durability
from fairground.host import Keeper
with Keeper({}) as keeper:
    database = postgres.start(keeper, Path(sys.argv[1]), Durability.DURABLE)
    database.reset(contracts.read_contract(Path(sys.argv[2])).data(1))
    owner = database.child.processes()[0].uids().real
    rows = database.query("SELECT count(*) FROM users")[0][0]
    database.stop()
    print(json.dumps([os.geteuid(), owner, rows, keeper.groups.version]))
"""


@pytest.mark.live
def test_as_an_ordinary_user(tmp_path: Path) -> None:
    """Started by an ordinary user, PostgreSQL runs as that user, in a cache folder of its own."""
    command = [sys.executable, "-c", ORDINARY, str(tmp_path / "cache"), str(SEEDS.folder)]
    user = os.geteuid()
    if user == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("run by root, and setpriv, which would become an ordinary user, is missing")
        # The interpreter may lie in root's home: reading everything is all that is kept of root.
        user = 65_534
        keep = [
            "--inh-caps=-all,+dac_read_search",
            "--ambient-caps=-all,+dac_read_search",
            "--bounding-set=-all,+dac_read_search",
        ]
        command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *keep, *command]
        (tmp_path / "cache").mkdir()
        os.chown(tmp_path / "cache", user, user)
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    who, owner, rows, _ = json.loads(done.stdout)
    assert (who, owner, rows) == (user, user, 100)


@pytest.mark.live
def test_flushes_tell_who_waits_for_the_disk(crashing: Callable[[], Database]) -> None:
    """Each commit of one connection that waits has a flush of its own; of one that does not, many share one. Others' are left out."""
    server = crashing()
    arm, other = server.arm(1), server.arm(2)
    for one in (arm, other):
        one.reset(SEEDS.data(1))

    def flushed(waits: str) -> int:
        before = arm.flushes()
        with psycopg.connect(arm.server_url(), autocommit=True) as client:
            client.execute(f"SET synchronous_commit = {waits}".encode())
            for _ in range(300):
                client.execute("SELECT pgbench_tx(1, 1, 1, 1)")
        assert arm.wait_for_no_connections()
        after = arm.flushes()
        assert before is not None and after is not None
        return after - before

    with psycopg.connect(other.server_url(), autocommit=True) as client:
        assert flushed("on") >= 300
        client.execute("SELECT pgbench_tx(1, 1, 1, 1)")
        assert not written.flush_line(flushed("off"), 300, 1).holds


@pytest.mark.live
def test_a_port_that_is_asked_for_is_had_at_an_address_of_its_own(keeper: Keeper, crash_cache: Path) -> None:
    """Two databases have one port side by side, each at a loopback address that nobody else has."""
    port = free_port()
    one, two = (postgres.start(keeper, crash_cache, Durability.RELAXED, port=port) for _ in range(2))
    try:
        assert one.admin.port == two.admin.port == port and one.admin.host != two.admin.host
        for database in (one, two):
            arm = database.arm(1)
            arm.make_empty()
            with psycopg.connect(arm.server_url()) as connection:
                assert connection.info.port == port
    finally:
        for database in (one, two):
            database.stop()


def test_a_port_that_is_taken_at_every_address_is_not_had() -> None:
    """Who listens at all addresses has it at each."""
    with socket.create_server(("0.0.0.0", 0)) as taken:
        assert free_address(taken.getsockname()[1]) is None


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (OSError(errno.ENOLCK, "No locks available"), "cannot be locked on its file system: No locks available"),
        (BlockingIOError(errno.EAGAIN, "held"), "8 other runs use the embedded PostgreSQL"),
    ],
)
def test_a_file_system_without_locks_is_no_crowd(
    refused: OSError, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To wait for other runs would be of no use there; another folder is."""

    def refuse(*_: object) -> None:
        raise refused

    monkeypatch.setattr(embedded.fcntl, "flock", refuse)
    with pytest.raises(LabError, match=said) as caught:
        embedded.Cluster.claim(tmp_path, 18, tmp_path)
    assert caught.value.exit_code == 3 and ("FAIRGROUND_CACHE" in str(caught.value.hint)) is ("file system" in said)
