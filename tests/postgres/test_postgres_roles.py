"""The role of an arm's server: what it may not do, and what the database refuses it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from builders.cluster import SCALE, Arms, client
from builders.contracts import SEEDS
from builders.waiting import DATABASE_S, eventually
from fairground import postgres
from fairground.host import Keeper
from fairground.model import Durability
from fairground.postgres import Database
from fairground.postgres.errorlog import ErrorLog
from fairground.postgres.names import APPLICATION_NAME


@pytest.mark.live
def test_a_new_limit_brings_no_commit_to_the_disk(keeper: Keeper, tmp_path: Path) -> None:
    """It is lifted just before a crash, which would then take nothing of what a server's commits did not wait for."""
    settings = {"wal_writer_delay": "10s", "wal_writer_flush_after": "1GB", "bgwriter_lru_maxpages": "0"}
    database = postgres.start(keeper, tmp_path, Durability.DURABLE, settings)
    try:
        arm = database.arm(1)
        arm.make_empty()
        with database.connect(arm.name) as connection:
            connection.autocommit = True
            connection.execute("CREATE TABLE rows (id integer)")
            connection.execute("SET synchronous_commit = off")
            connection.execute("INSERT INTO rows VALUES (1)")
            written = connection.execute("SELECT pg_current_wal_insert_lsn()").fetchone()
            assert written is not None
            is_behind = b"SELECT pg_current_wal_flush_lsn() < %s::pg_lsn"
            assert connection.execute(is_behind, written).fetchone() == (True,)
            arm.limit_connections(100)
            assert connection.execute(is_behind, written).fetchone() == (True,)
    finally:
        database.stop()


@pytest.mark.live
def test_want_of_room_is_told_apart_from_a_limit(keeper: Keeper, tmp_path: Path) -> None:
    """Where others have taken all connections that the server allows, a role below its own limit is refused as well."""
    database = postgres.start(keeper, tmp_path, Durability.RELAXED, {"max_connections": "12"})
    try:
        one, two = database.arm(1), database.arm(2)
        for arm in (one, two):
            arm.make_empty()
            arm.limit_connections(100)
        with ExitStack() as held:
            refused = 0
            while not refused:
                try:
                    held.enter_context(client(one))
                except psycopg.OperationalError:
                    refused += 1
            with pytest.raises(psycopg.OperationalError):
                client(two)
        assert (one.refusals(), two.refusals()) == ((0, 1), (0, 1))
    finally:
        database.stop()


@pytest.mark.live
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT pg_stat_reset()",
        "SELECT pg_stat_reset_shared('bgwriter')",
        "SELECT pg_stat_reset_single_table_counters('users'::regclass)",
        "SET track_activities = off",
        "SET track_functions = 'none'",
        "TRUNCATE pgbench_history",
        "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (1, 1, 1, 1, now())",
        "UPDATE pgbench_tellers SET tbalance = tbalance + 1 WHERE tid = 1",
        "DELETE FROM web_users",
        "INSERT INTO web_users (name, email) VALUES ('a', 'b')",
        "UPDATE users SET name = ''",
        "CREATE TABLE mine (id integer)",
        "CREATE TEMPORARY TABLE mine (id integer)",
        "CREATE TEMPORARY VIEW users AS SELECT 1",
        "CREATE SCHEMA mine",
        "CREATE FOREIGN DATA WRAPPER mine",
        "COPY users TO PROGRAM 'cat'",
        "CREATE FUNCTION mine() RETURNS void LANGUAGE sql AS ''",
        "ALTER TABLE users RENAME TO others",
        "ALTER ROLE fairground_app CONNECTION LIMIT -1",
        "CREATE DATABASE mine",
        "SET ROLE fairground",
        "DO $$ BEGIN COMMIT; END $$",
        "SELECT pg_current_xact_id()",
        "SELECT txid_current()",
    ],
)
def test_what_a_server_may_not_do(database: Database, statement: str) -> None:
    """What would move a counter, change the data otherwise than answers do, or make something new is refused for want of rights."""
    database.reset(SEEDS.data(SCALE))
    with client(database) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(statement.encode())


@pytest.mark.live
def test_a_server_connects_to_its_own_database_alone(arms: Arms) -> None:
    """Neither another arm's database, nor the template that all are copied from, nor those of every cluster let it in."""
    one, two = arms
    with client(one):
        pass
    for name in (two.name, one.prepare(SEEDS.data(SCALE)), "postgres", "template1"):
        with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
            psycopg.connect(one.app.url(name))


@pytest.mark.live
def test_what_a_role_has_set_for_itself_ends_with_the_reset(database: Database) -> None:
    """A server may give its own role settings and another password; the next trial's has neither."""
    database.reset(SEEDS.data(SCALE))
    with client(database) as connection:
        connection.execute("ALTER ROLE fairground_app SET work_mem = '1GB'")
        connection.execute("ALTER ROLE fairground_app PASSWORD 'mine'")
    database.reset(SEEDS.data(SCALE))
    with client(database) as connection:
        assert connection.execute("SHOW work_mem").fetchone() == ("16MB",)


@pytest.mark.live
def test_a_plain_login_is_a_login(arms: Arms) -> None:
    """A counted server sends its password itself: it opens, another one does not, and the next reset asks for the proof again."""
    arm, other = arms
    plain, proof = {"require_auth": "password"}, {"require_auth": "scram-sha-256"}
    for is_plain, asked, refused in ((True, plain, proof), (False, proof, plain)):
        arm.plain_login = is_plain
        arm.make_empty()
        client(arm, **asked).close()
        client(other, **proof).close()  # each arm by itself
        for wrong in (refused, {"password": "another"}):
            with pytest.raises(psycopg.OperationalError, match="authentication"):
                client(arm, **wrong)


@pytest.mark.live
def test_connections_beyond_the_limit_are_refused_and_counted(arms: Arms) -> None:
    """The database refuses the connection that is one too many; it is counted once, for its own arm, and not after a reset."""
    one, two = arms
    for arm in arms:
        arm.limit_connections(2)
    with ExitStack() as held:
        for _ in range(2):
            held.enter_context(client(one))
        for _ in range(3):
            with pytest.raises(psycopg.OperationalError, match="too many connections for role"):
                client(one)
        held.enter_context(client(two))
        assert (len(one.backends()), len(two.backends())) == (2, 1)
    assert (one.refusals(), two.refusals(), one.refusals()) == ((3, 0), (0, 0), (0, 0))
    one.reset(SEEDS.data(SCALE))
    with client(one), client(one), client(one):
        assert one.refusals() == (0, 0)


@pytest.mark.live
def test_a_server_cannot_take_the_name_of_the_lab(arms: Arms) -> None:
    """A connection that calls itself as the lab's do is counted, seen with its statement, and severed; the lab's own is not."""
    one, _ = arms
    with client(one, application_name=APPLICATION_NAME) as theirs, one.connect() as ours:
        theirs.execute("SELECT 'theirs'")
        assert len(one.backends()) == 1
        with one.connect("postgres") as connection:
            assert postgres.activity(connection)[one.name].statements == (("idle", "SELECT 'theirs'"),)
            assert dict(postgres.waits(connection, one.name)) == {"idle": 1}
        one.sever()
        assert eventually(lambda: len(one.backends()) == 0, DATABASE_S)
        assert ours.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.live
def test_what_a_role_does_in_another_database_is_its_arms(arms: Arms) -> None:
    """Where a role is let into another database, as on a server that is not ours, its sessions there are counted for its arm."""
    one, two = arms
    with one.connect("postgres") as admin:
        admin.execute("GRANT CONNECT ON DATABASE postgres TO fairground_app_2")
        with psycopg.connect(two.app.url("postgres"), autocommit=True) as away:
            away.execute("SELECT 'away'")
            assert (len(one.backends()), len(two.backends())) == (0, 1)
            assert postgres.activity(admin)[two.name].statements == (("idle", "SELECT 'away'"),)
        admin.execute("REVOKE CONNECT ON DATABASE postgres FROM fairground_app_2")


@pytest.mark.parametrize(
    "said", ['FATAL:  too many connections for role "{0}"', "FATAL:  zu viele Verbindungen von Rolle »{0}«", '致命错误:  "{0}"']
)
def test_refusals_at_the_limit_and_for_want_of_room_are_counted_apart(tmp_path: Path, said: str) -> None:
    """They are known by SQLSTATE, and the first by the role's name, in each language; all other lines are none of them."""
    path, line = tmp_path / "log", "2026-11-24 20:00:00.000 UTC [7] {}@d {}: {}\n"
    path.write_text(
        line.format("a", "53300", said.format("a")) * 2
        + line.format("b", "53300", said.format("b"))
        + line.format("a", "53300", "FATAL:  sorry, too many clients")
        + line.format("a", "28P01", said.format("a"))
        + line.format("a", "42703", f"ERROR:  {said.format('a')}")
        + f"\t53300: {said.format('a')}\n"
    )
    log = ErrorLog(path)
    assert (log.refusals("a"), log.refusals("b"), log.refusals("a")) == ((2, 1), (1, 0), (0, 0))
