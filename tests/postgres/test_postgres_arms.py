"""A database for each arm of a session: nothing that one arm does is counted as another's."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from builders.cluster import SCALE, Arms, client, contents
from builders.contracts import SEEDS
from builders.waiting import DATABASE_S, eventually
from fairground import postgres
from fairground.host import Keeper
from fairground.model import Durability
from fairground.model.contract import CompiledDatabase
from fairground.postgres import Database
from fairground.postgres.activity import activity, hygiene
from fairground.postgres.errorlog import MOST_KEPT_BYTES, ErrorLog
from fairground.postgres.names import of_arm


def test_arms_are_named_by_their_number() -> None:
    """The first arm keeps the database's old name, others have their number behind it, and none is below 1."""
    assert [of_arm(number) for number in (1, 2, 11)] == ["fairground_trial", "fairground_trial_2", "fairground_trial_11"]
    with pytest.raises(ValueError, match="there is no arm 0"):
        of_arm(0)


@pytest.mark.live
def test_arms_have_data_of_their_own(arms: Arms) -> None:
    """What one arm writes the other does not read, and a reset of one leaves the other as it is."""
    one, two = arms
    fresh = contents(two)
    for arm in arms:
        with client(arm) as connection:
            connection.execute("UPDATE web_users SET credits = 1 WHERE id > 50")
            assert connection.info.dbname == arm.name
    changed = contents(one)
    two.reset(SEEDS.data(SCALE))
    assert contents(two) == fresh
    assert contents(one) == changed != fresh


@pytest.mark.live
def test_an_arm_has_the_names_that_its_server_has_compiled_in(database: Database) -> None:
    """It is seen and counted as others are, and gone with them."""
    arm = database.arm(2, CompiledDatabase("database-host", database.admin.port, "its_own", "its_user", "its_word"))
    arm.reset(SEEDS.data(SCALE))
    with client(arm) as connection, database.connect("postgres") as lab:
        row = connection.execute("SELECT current_database(), current_user, count(*) FROM users").fetchone()
        assert row is not None and row[:2] == ("its_own", "its_user") and row[2] > 0
        assert set(activity(lab)) == {"its_own"} and hygiene(lab).foreign == 0
    database.drop_arms()
    with database.connect("postgres") as lab:
        assert lab.execute("SELECT 1 FROM pg_database WHERE datname = 'its_own'").fetchone() is None
        assert lab.execute("SELECT 1 FROM pg_roles WHERE rolname = 'its_user'").fetchone() is None


@pytest.mark.live
def test_arms_are_counted_apart(arms: Arms) -> None:
    """Commits, rollbacks, rows and sessions of one arm are not the other's."""
    one, two = arms
    with client(one) as connection:
        for _ in range(40):
            connection.execute("SELECT * FROM users")
        for _ in range(5):
            with suppress(psycopg.Error):
                connection.execute("SELECT 1 / 0")
    assert one.wait_for_no_connections()
    busy, idle = one.counters(), two.counters()
    assert 40 <= busy.commits <= 42 and busy.rows_read >= 4000 and busy.rollbacks == 5 and busy.sessions == 1
    assert (idle.commits, idle.rows_read, idle.rollbacks, idle.sessions) == (0, 0, 0, 0)


@pytest.mark.live
def test_deadlocks_are_counted_where_they_happen(arms: Arms) -> None:
    """A deadlock in the second arm is the second arm's alone."""
    one, two = arms
    clients = [psycopg.connect(two.server_url()) for _ in range(2)]
    for number, connection in enumerate(clients, 1):
        connection.execute("UPDATE web_users SET credits = 1 WHERE id = %s", [number])

    def cross(connection: psycopg.Connection[Any], row: int) -> None:
        with suppress(psycopg.errors.DeadlockDetected):
            connection.execute("UPDATE web_users SET credits = 2 WHERE id = %s", [row])
        connection.rollback()
        connection.close()

    threads = [threading.Thread(target=cross, args=pair) for pair in zip(clients, (2, 1), strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert one.wait_for_no_connections() and two.wait_for_no_connections()
    assert (one.counters().deadlocks, two.counters().deadlocks) == (0, 1)


@pytest.mark.live
def test_connections_and_locks_are_seen_apart(arms: Arms) -> None:
    """Each arm counts its own connections and lock waits, and severing one arm leaves the other connected."""
    one, two = arms
    with client(one) as theirs, psycopg.connect(two.server_url()) as holder, psycopg.connect(two.server_url()) as wanter:
        holder.execute("UPDATE web_users SET credits = 1 WHERE id = 1")
        thread = threading.Thread(target=lambda: wanter.execute("UPDATE web_users SET credits = 2 WHERE id = 1"))
        thread.start()
        assert eventually(lambda: two.count_backends("Lock:") == 1, DATABASE_S)
        assert (len(one.backends()), len(two.backends()), one.count_backends("Lock:")) == (1, 2, 0)
        holder.rollback()
        thread.join()
        wanter.rollback()
        one.sever()
        with pytest.raises(psycopg.OperationalError):
            theirs.execute("SELECT 1")
        assert holder.execute("SELECT 1").fetchone() == (1,)
        assert one.wait_for_no_connections() and not two.wait_for_no_connections(0.0)


@pytest.mark.live
def test_activity_of_all_arms_in_one_query(arms: Arms) -> None:
    """Each arm's backends are shown with what they do and their last statement, all of it; the lab's own are not."""
    one, two = arms
    long = "SELECT " + "1 + " * 400 + "1"
    with client(one) as first, client(one) as second, psycopg.connect(two.server_url()) as third, one.connect() as ours:
        first.execute("SELECT count(*) FROM users")
        second.execute(long.encode())
        third.execute("SELECT 3")
        ours.execute("SELECT 'ours'")
        with two.connect("postgres") as connection:
            seen = postgres.activity(connection)
            assert dict(postgres.waits(connection, two.name)) == {"idle in transaction": 1}
    assert set(seen) == {one.name, two.name}
    assert seen[one.name].waits == {"idle": 2}
    assert sorted(seen[one.name].statements) == [("idle", long), ("idle", "SELECT count(*) FROM users")]
    assert seen[two.name].waits == {"idle in transaction": 1}
    assert seen[two.name].statements == (("idle in transaction", "SELECT 3"),)
    assert eventually(lambda: not len(one.backends()) and not len(two.backends()), DATABASE_S)
    with two.connect("postgres") as connection:
        assert postgres.activity(connection) == {}


@pytest.mark.live
def test_other_arms_are_no_strangers(arms: Arms) -> None:
    """A session at work in an arm's database is not foreign; one in another database is."""

    def strangers_beside(working: Callable[[], psycopg.Connection[Any]]) -> int | None:
        with working() as connection, arms[0].connect("postgres") as ours:
            thread = threading.Thread(target=lambda: connection.execute("SELECT pg_sleep(1)"))
            thread.start()
            asleep = "SELECT 1 FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(1)' AND state = 'active'"
            assert eventually(lambda: bool(ours.execute(asleep).fetchall()), DATABASE_S)
            found = postgres.hygiene(ours).foreign
            thread.join()
            return found

    admin = arms[0].admin
    assert strangers_beside(lambda: client(arms[1])) == 0
    assert strangers_beside(lambda: psycopg.connect(admin.url("postgres"), autocommit=True)) == 1


@pytest.mark.live
def test_errors_are_logged_apart(arms: Arms) -> None:
    """Each arm takes its own errors, with all lines of a message, also where they went into the log between another's."""
    one, two = arms
    for arm in arms:
        arm.log_errors()
    with client(one) as first, client(two) as second:
        for connection, word in ((first, "of_the_first"), (second, "of_the_second"), (first, "once\nmore")):
            with pytest.raises(psycopg.Error):
                connection.execute(f'SELECT "{word}"'.encode())
    taken = one.take_errors()
    assert 'column "of_the_first" does not exist' in taken and 'column "once\n\tmore" does not exist' in taken
    assert "of_the_second" not in taken
    assert one.take_errors() == ""
    assert 'column "of_the_second" does not exist' in two.take_errors()


def test_log_keeps_the_beginning_of_each_arm(tmp_path: Path) -> None:
    """However much one arm logs, what is kept of it is bounded, and the other's line is kept; lines of no arm are dropped."""
    path = tmp_path / "log"
    line = "2026-11-23 20:00:00.000 UTC [7] someone@{} XX000: {}\n"
    path.write_text(
        line.format("", "LOG:  the server's own")
        + line.format("a", "ERROR:  first")
        + line.format("a", "ERROR:  " + "x" * 999) * 100
        + line.format("b", "ERROR:  other")
    )
    log = ErrorLog(path)
    kept = log.take("a")
    assert kept.startswith(line.format("a", "ERROR:  first")) and len(kept) == MOST_KEPT_BYTES
    assert path.read_text() == ""
    assert log.take("b") == line.format("b", "ERROR:  other")
    assert log.take("") == log.take("a") == ""


@pytest.mark.live
def test_killed_lab_leaves_no_arms(keeper: Keeper, tmp_path: Path) -> None:
    """A cluster that a lab left with its arms' databases has none of them once the next lab has started it."""
    left = postgres.start(keeper, tmp_path, Durability.RELAXED)
    for number in (1, 2):
        left.arm(number).reset(SEEDS.data(SCALE))
    template = left.prepare(SEEDS.data(SCALE))
    left.stop()
    found = postgres.start(keeper, tmp_path, Durability.RELAXED)
    try:
        with found.connect("postgres") as connection:
            names = {row[0] for row in connection.execute("SELECT datname FROM pg_database").fetchall()}
        assert not any(name.startswith("fairground_trial") for name in names)
        assert template in names
    finally:
        found.stop()
