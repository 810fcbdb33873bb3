"""The database beneath the servers: two durability classes, fresh data for every trial, crashes, and servers of others."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from fairground import postgres
from fairground.model import Durability, LabError
from fairground.postgres import Database, embedded
from fairground.postgres import database as database_module
from fairground.process import Keeper

ROOT = Path(__file__).resolve().parents[1]
CONTRACT = ROOT / "contract"
SCALE = 1
PATIENCE_S = 30.0


@pytest.fixture
def fresh(database: Database) -> Database:
    """The session's database with fresh data."""
    database.reset(SCALE)
    return database


def eventually(holds: Callable[[], bool]) -> bool:
    """Whether something becomes true in time."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def contents(database: Database) -> dict[str, Any]:
    """A digest of every table's rows and every sequence's state in the trial's database."""
    with database.connect() as connection:
        names = [
            row[0]
            for row in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1").fetchall()
        ]
        found: dict[str, Any] = {
            name: connection.execute(
                f"SELECT count(*), md5(string_agg(ctid::text || t::text, ',' ORDER BY ctid)) FROM {name} AS t".encode()
            ).fetchone()
            for name in names
        }
        found["sequences"] = connection.execute("SELECT sequencename, last_value FROM pg_sequences ORDER BY 1").fetchall()
    return found


# ---------------------------------------------------------------- settings


def test_durability_classes_differ_in_three_settings() -> None:
    """`durable` and `relaxed` have the same settings but for fsync, synchronous_commit and full_page_writes."""
    durable, relaxed = (embedded.settings(kind) for kind in (Durability.DURABLE, Durability.RELAXED))
    differing = {name: (durable[name], relaxed[name]) for name in durable if durable[name] != relaxed[name]}
    assert set(durable) == set(relaxed)
    assert differing == {name: ("on", "off") for name in ("fsync", "synchronous_commit", "full_page_writes")}


@pytest.mark.live
@pytest.mark.parametrize(("durability", "said"), [(Durability.DURABLE, "on"), (Durability.RELAXED, "off")])
def test_starts_in_both_classes(keeper: Keeper, cache: Path, durability: Durability, said: str) -> None:
    """The server itself says which class it runs in, and the disclosure holds it."""
    database = postgres.start(keeper, cache, durability, CONTRACT)
    try:
        with database.connect("postgres") as connection:
            for name in ("fsync", "synchronous_commit", "full_page_writes"):
                assert connection.execute(f"SHOW {name}".encode()).fetchone() == (said,)
        assert database.version().startswith("18")
        disclosed = database.settings()
        assert disclosed["autovacuum"] == "off"
        assert disclosed.get("fsync", "on") == said
        assert "port" not in disclosed
    finally:
        database.stop()


@pytest.mark.live
def test_servers_log_in_as_an_ordinary_role(fresh: Database) -> None:
    """The role of servers owns the trial's database and is no superuser."""
    with psycopg.connect(fresh.server_url()) as connection:
        row = connection.execute(
            "SELECT current_user, rolsuper, rolcreatedb FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
        assert row == ("app", False, False)
        assert connection.execute("SELECT count(*) FROM users").fetchone() == (100,)


# ---------------------------------------------------------------- reset


@pytest.mark.live
def test_reset_gives_the_same_bytes(fresh: Database) -> None:
    """After changes of every kind a reset brings back every row in its place, and counters at zero."""
    before = contents(fresh)
    with fresh.connect(as_app=True) as connection:
        connection.execute("SELECT pgbench_tx(1, 1, 1, 5)")
        connection.execute("DELETE FROM users WHERE id > 50")
        connection.execute("INSERT INTO web_users (name, email) VALUES ('new', 'new@example.com')")
        connection.execute("CREATE TABLE other (id integer)")
    assert contents(fresh) != before
    fresh.reset(SCALE)
    assert replace(fresh.counters(), sessions=0) == postgres.Counters(0, 0, 0, 0, 0)
    assert contents(fresh) == before


@pytest.mark.live
def test_reset_with_connections_open(fresh: Database) -> None:
    """Connections that a server left open, one inside a transaction, do not keep a reset from happening."""
    idle, busy = psycopg.connect(fresh.server_url(), autocommit=True), psycopg.connect(fresh.server_url())
    with suppress(psycopg.Error), idle, busy:
        busy.execute("UPDATE web_users SET credits = 0")
        assert fresh.connections() == 2
        fresh.reset(SCALE)
        assert fresh.connections() == 0
        with pytest.raises(psycopg.OperationalError):
            idle.execute("SELECT 1")
    assert fresh.query("SELECT count(*) FROM web_users WHERE credits = 0") == [(0,)]


@pytest.mark.live
def test_half_made_template_is_made_anew(database: Database) -> None:
    """A `_building` database that an interrupted build left is dropped, and the template made whole."""
    name = database.prepare(SCALE)
    with database.connect("postgres") as connection:
        for place in ("fairground_trial", name):
            connection.execute(f"DROP DATABASE IF EXISTS {place} WITH (FORCE)".encode())
        connection.execute(f"CREATE DATABASE {name}_building".encode())
        connection.execute(f"COMMENT ON DATABASE {name}_building IS '{database_module.MARK}'".encode())
    with database.connect(f"{name}_building") as connection:
        connection.execute("CREATE TABLE users (half integer)")
    assert database.prepare(SCALE) == name
    database.reset(SCALE)
    assert database.query("SELECT count(*) FROM users") == [(100,)]
    with database.connect("postgres") as connection:
        assert not connection.execute("SELECT 1 FROM pg_database WHERE datname LIKE '%\\_building'").fetchall()


def test_template_is_named_after_its_data(tmp_path: Path) -> None:
    """Another schema, other seeds or another scale is another template."""
    folder = tmp_path / "contract"
    folder.mkdir()
    address = database_module.Address("h", 1, "u", "p")
    names = set()
    for schema, seed, scale in (("a", "b", 1), ("a2", "b", 1), ("a", "b2", 1), ("a", "b", 2)):
        (folder / "schema.sql").write_text(schema)
        (folder / "seed.sql").write_text(seed)
        names.add(Database(address, address, folder, None)._template(scale))
    assert len(names) == 4


def test_url_quotes_what_must_be_quoted() -> None:
    """Users and passwords with URL characters survive the way into `DATABASE_URL`."""
    address = database_module.Address("127.0.0.1", 5555, "us@er", "p/w:?#")
    read = psycopg.conninfo.conninfo_to_dict(address.url("data"))
    assert (read["user"], read["password"], read["dbname"], str(read["port"])) == ("us@er", "p/w:?#", "data", "5555")


# ---------------------------------------------------------------- counters and waits


@pytest.mark.live
def test_counters_after_connections_closed(fresh: Database) -> None:
    """Once its connections are gone, a server's commits, rollbacks and rows are all counted, and the lab's reading is not."""
    with psycopg.connect(fresh.server_url(), autocommit=True) as connection:
        for _ in range(50):
            connection.execute("SELECT pgbench_tx(1, 1, 1, 1)")
        for _ in range(7):
            with suppress(psycopg.Error):
                connection.execute("SELECT 1 / 0")
    assert fresh.wait_for_no_connections()
    found = fresh.counters()
    assert 50 <= found.commits <= 52  # to PostgreSQL's counters connecting is a transaction or two
    assert (found.rollbacks, found.deadlocks) == (7, 0)
    assert found.rows_read >= 150
    assert fresh.counters() == found


@pytest.mark.live
def test_deadlocks_are_counted(fresh: Database) -> None:
    """Two transactions that lock two rows crosswise are one deadlock."""
    one, two = psycopg.connect(fresh.server_url()), psycopg.connect(fresh.server_url())
    one.execute("UPDATE web_users SET credits = 1 WHERE id = 1")
    two.execute("UPDATE web_users SET credits = 1 WHERE id = 2")
    outcomes: list[str] = []

    def cross(connection: psycopg.Connection[Any], row: int) -> None:
        try:
            connection.execute("UPDATE web_users SET credits = 2 WHERE id = %s", [row])
            outcomes.append("done")
        except psycopg.errors.DeadlockDetected:
            outcomes.append("deadlock")
        connection.rollback()
        connection.close()

    threads = [threading.Thread(target=cross, args=pair) for pair in ((one, 2), (two, 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["deadlock", "done"]
    assert fresh.wait_for_no_connections()
    assert fresh.counters().deadlocks == 1


@pytest.mark.live
def test_waits_show_a_held_row(fresh: Database) -> None:
    """While one connection holds a row, the one that wants it is seen waiting for a lock, and the lab's own is not seen."""
    with psycopg.connect(fresh.server_url()) as holder, psycopg.connect(fresh.server_url()) as wanter:
        holder.execute("UPDATE web_users SET credits = 1 WHERE id = 1")
        thread = threading.Thread(target=lambda: wanter.execute("UPDATE web_users SET credits = 2 WHERE id = 1"))
        thread.start()
        assert eventually(lambda: fresh.waiting_for_locks() == 1)
        with fresh.connect("postgres") as connection:
            seen = dict(postgres.waits(connection))
        holder.rollback()
        thread.join()
        wanter.rollback()
        assert seen == {"idle in transaction": 1, "Lock:transactionid": 1}
        assert fresh.waiting_for_locks() == 0


@pytest.mark.live
def test_wal_and_sever(fresh: Database) -> None:
    """WAL grows with writes, a checkpoint is allowed to us, and severing cuts the server's connections and not ours."""
    before = fresh.wal_position()
    with psycopg.connect(fresh.server_url(), autocommit=True) as theirs, fresh.connect() as ours:
        theirs.execute("UPDATE users SET name = name")
        after = fresh.wal_position()
        assert before is not None and after is not None and after > before
        assert fresh.checkpoint()
        fresh.sever()
        with pytest.raises(psycopg.OperationalError):
            theirs.execute("SELECT 1")
        assert ours.execute("SELECT 1").fetchone() == (1,)


# ---------------------------------------------------------------- clusters and crashes


@pytest.fixture(scope="module")
def crash_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of its own for clusters that are to be crashed."""
    return tmp_path_factory.mktemp("crash")


@pytest.fixture
def crashing(keeper: Keeper, crash_cache: Path) -> Iterator[Callable[[], Database]]:
    """Starts the embedded PostgreSQL on that cache, stopped at the end."""
    started: list[Database] = []

    def start() -> Database:
        started.append(postgres.start(keeper, crash_cache, Durability.DURABLE, CONTRACT))
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
        postgres.start(keeper, tmp_path, Durability.RELAXED, CONTRACT)
    assert caught.value.message == "the embedded PostgreSQL did not start"
    assert caught.value.exit_code == 3
    assert caught.value.hint is not None and caught.value.hint.startswith("its last words:\n")
    assert str(data) in caught.value.hint


def test_too_many_labs(tmp_path: Path) -> None:
    """When every cluster is in use the lab says so instead of sharing one."""
    held = [embedded.Cluster.claim(tmp_path) for _ in range(embedded.MAX_CLUSTERS)]
    with pytest.raises(LabError, match="^8 other runs use the embedded PostgreSQL$"):
        embedded.Cluster.claim(tmp_path)
    held[3]._lock.close()
    assert embedded.Cluster.claim(tmp_path).folder == held[3].folder


def test_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package that carries PostgreSQL the sentence says so, and how to get it."""
    monkeypatch.setattr(embedded.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(LabError) as caught:
        embedded.binary("postgres")
    assert caught.value.message == "the package with the embedded PostgreSQL is not installed"
    assert caught.value.hint == "./fairground doctor --install"


ORDINARY = """
import json, os, sys
from pathlib import Path
from fairground import postgres
from fairground.model import Durability
from fairground.process import Keeper
with Keeper({}) as keeper:
    database = postgres.start(keeper, Path(sys.argv[1]), Durability.DURABLE, Path(sys.argv[2]))
    database.reset(1)
    owner = database.child.processes()[0].uids().real
    rows = database.query("SELECT count(*) FROM users")[0][0]
    database.stop()
    print(json.dumps([os.geteuid(), owner, rows, keeper.groups.version]))
"""


@pytest.mark.live
def test_as_an_ordinary_user(tmp_path: Path) -> None:
    """Started by an ordinary user, PostgreSQL runs as that user, in a cache folder of its own."""
    command = [sys.executable, "-c", ORDINARY, str(tmp_path / "cache"), str(CONTRACT)]
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


# ---------------------------------------------------------------- a given server


def url_of(database: Database, user: str | None = None, password: str | None = None) -> str:
    """A URL for `given`, as the superuser or another."""
    address = database.admin
    return database_module.Address(address.host, address.port, user or address.user, password or address.password).url("postgres")


def refusal(url: str) -> LabError:
    """Why a given server is refused."""
    with pytest.raises(LabError) as caught:
        postgres.given(url, CONTRACT)
    return caught.value


@pytest.fixture
def bare(database: Database) -> Iterator[Database]:
    """The session's server without a trial's database, before and after."""

    def drop() -> None:
        with database.connect("postgres") as connection:
            connection.execute("DROP DATABASE IF EXISTS fairground_trial WITH (FORCE)")

    drop()
    yield database
    drop()


@pytest.mark.live
def test_given_server_is_used_and_left_behind_clean(bare: Database) -> None:
    """On somebody else's server the lab resets its own database, measures no process, and removes it at the end."""
    found = postgres.given(url_of(bare), CONTRACT)
    assert found.child is None
    found.reset(SCALE)
    assert found.query("SELECT count(*) FROM users") == [(100,)]
    assert found.server_url().endswith("/fairground_trial")
    postgres.given(url_of(bare), CONTRACT)  # what carries our mark is ours to drop
    found.stop()
    with bare.connect("postgres") as connection:
        assert not connection.execute("SELECT 1 FROM pg_database WHERE datname = 'fairground_trial'").fetchall()


@pytest.mark.live
def test_given_server_without_the_right_to_create(bare: Database) -> None:
    """A user that may not create databases is refused, with the statement that gives the right."""
    error = refusal(url_of(bare, bare.app.user, bare.app.password))
    assert error.message == "the given user `app` may not create databases"
    assert error.hint == 'as a superuser: ALTER ROLE "app" CREATEDB'
    assert error.exit_code == 2


@pytest.mark.live
def test_given_server_with_a_database_of_somebody_else(bare: Database) -> None:
    """A database of our name without our mark is never touched."""
    found = postgres.given(url_of(bare), CONTRACT)
    with bare.connect("postgres") as connection:
        connection.execute("CREATE DATABASE fairground_trial")
    error = refusal(url_of(bare))
    assert (
        error.message
        == "the given server has a database `fairground_trial` that the lab did not make, and it will not be touched"
    )
    assert error.hint == "rename it, or use another server: ALTER DATABASE fairground_trial RENAME TO …"
    with pytest.raises(LabError):
        found.reset(SCALE)
    with pytest.raises(LabError):
        found.stop()
    assert bare.query("SELECT 1") == [(1,)]


@pytest.mark.live
def test_embedded_database_left_without_its_mark_is_made_anew(bare: Database) -> None:
    """In the lab's own server a database that an interruption left unmarked is no reason to stop."""
    with bare.connect("postgres") as connection:
        connection.execute("CREATE DATABASE fairground_trial")
    bare.reset(SCALE)
    assert bare.query("SELECT count(*) FROM users") == [(100,)]


@pytest.mark.live
def test_given_server_that_is_too_old(bare: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL older than 14 is refused by its version."""
    monkeypatch.setattr(psycopg.ConnectionInfo, "server_version", property(lambda self: 130_014))
    assert refusal(url_of(bare)).message == "the given PostgreSQL is version 13, and 14 or newer is needed"
    monkeypatch.setattr(psycopg.ConnectionInfo, "server_version", property(lambda self: 140_000))
    assert postgres.given(url_of(bare), CONTRACT).owner is None


@pytest.mark.live
def test_given_server_with_a_wrong_password(bare: Database) -> None:
    """A server that does not let us in is refused in its own words."""
    error = refusal(url_of(bare, password="wrong"))
    assert error.message.startswith("cannot connect to the given database: ")
    assert 'password authentication failed for user "fairground"' in error.message
    assert "\n" not in error.message


def test_given_server_that_is_not_there() -> None:
    """A port where nobody listens is refused in one line."""
    error = refusal("postgresql://u:p@127.0.0.1:1/postgres")
    assert error.message.startswith("cannot connect to the given database: ")
    assert "\n" not in error.message


def test_given_text_that_is_no_url() -> None:
    """Something else than a URL is refused, with the form that is wanted."""
    error = refusal("mysql://nobody")
    assert error.message.startswith("`--database` is not a connection URL: ")
    assert error.hint == "postgresql://USER:PASSWORD@HOST:PORT/postgres"


# ---------------------------------------------------------------- settings of a person


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("work_men", "PostgreSQL has no setting `work_men`"),
        ("fsync", "the PostgreSQL setting `fsync` is the lab's own"),
        ("Synchronous_Commit", "the PostgreSQL setting `Synchronous_Commit` is the lab's own"),
        ("listen_addresses", "the PostgreSQL setting `listen_addresses` is the lab's own"),
    ],
)
def test_settings_that_cannot_be_replaced(name: str, message: str) -> None:
    """A name that PostgreSQL does not know is refused with its neighbours, and so is what the lab itself decides."""
    with pytest.raises(LabError) as caught:
        postgres.check({"jit": "on", name: "off"})
    assert caught.value.message == message and caught.value.hint


@pytest.mark.live
def test_settings_are_replaced(keeper: Keeper, cache: Path) -> None:
    """A setting given by a person stands in for the lab's own, and is disclosed."""
    database = postgres.start(keeper, cache, Durability.RELAXED, CONTRACT, {"work_mem": "7MB", "max_connections": "77"})
    try:
        assert {"work_mem": "7MB", "max_connections": "77", "fsync": "off"}.items() <= database.settings().items()
    finally:
        database.stop()


@pytest.mark.live
def test_setting_with_a_bad_value(keeper: Keeper, cache: Path) -> None:
    """A value that PostgreSQL refuses ends the start with its own words."""
    with pytest.raises(LabError, match="^the embedded PostgreSQL did not start$") as caught:
        postgres.start(keeper, cache, Durability.RELAXED, CONTRACT, {"work_mem": "many"})
    assert caught.value.hint is not None and 'invalid value for parameter "work_mem": "many"' in caught.value.hint


@pytest.mark.live
def test_errors_are_logged_where_they_are_asked_for(database: Database) -> None:
    """Errors of the trial's database are kept from when they are asked for, taken once, and gone with the trial's database."""
    database.reset(1)
    database.log_errors()
    for _ in range(2):
        with database.connect(as_app=True) as client, pytest.raises(psycopg.Error):
            client.execute("SELECT nothing_of_the_kind")
    assert database.take_errors().count('column "nothing_of_the_kind" does not exist') == 2
    assert database.take_errors() == ""
    database.reset(1)
    with database.connect(as_app=True) as client, pytest.raises(psycopg.Error):
        client.execute("SELECT nothing_of_the_kind")
    assert database.take_errors() == ""
