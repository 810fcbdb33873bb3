"""What a database counts of its own work, and what its backends were last asked."""

from __future__ import annotations

import time
from typing import Any

import psycopg
import pytest

from builders.cluster import SCALE
from builders.contracts import SEEDS
from builders.waiting import DATABASE_S, eventually
from fairground import postgres
from fairground.measure.tried_audits import THERE
from fairground.model import TableWork
from fairground.postgres import Database, commits, work

pytestmark = pytest.mark.live


@pytest.fixture
def fresh(database: Database) -> Database:
    """The session's database with fresh data."""
    database.reset(SEEDS.data(SCALE))
    return database


def test_scans_rows_and_calls_are_counted(fresh: Database) -> None:
    """Scans and rows of each table and calls of functions are counted from the reset on, and as differences."""
    before = fresh.work()
    assert before.tables["users"] == TableWork(0, 0, 0) and before.functions == {}
    with psycopg.connect(fresh.server_url(), autocommit=True) as connection:
        for _ in range(7):
            connection.execute("SELECT * FROM users ORDER BY id")
        for _ in range(3):
            connection.execute("SELECT pgbench_tx(1, 1, 1, 1)")
    assert fresh.wait_for_no_connections()
    found = fresh.work().since(before)
    assert found.tables["users"] == TableWork(7, 700, 700)
    assert found.tables["pgbench_branches"].scans == 3 and found.tables["accounts"] == TableWork(0, 0, 0)
    assert found.functions == {"pgbench_tx": 3}


def test_a_table_of_the_same_name_is_another(fresh: Database) -> None:
    """Rows of a temporary table, or of one in another schema, are not those of the contract's table that they hide."""
    before = fresh.work()
    with fresh.connect() as connection:
        connection.execute("CREATE SCHEMA shadow")
        connection.execute("CREATE TABLE shadow.users AS SELECT * FROM public.users")
        connection.execute("SET search_path = shadow")
        for _ in range(5):
            assert len(connection.execute("SELECT * FROM users ORDER BY id").fetchall()) == 100
        connection.execute("CREATE TEMPORARY TABLE users AS SELECT * FROM shadow.users")
        connection.execute("SELECT * FROM users ORDER BY id")
    assert eventually(lambda: fresh.work().since(before).tables["users"].rows == 100, DATABASE_S)  # the copy was made from them
    assert fresh.work().since(before).tables["users"] == TableWork(1, 100, 100)


def test_partitions_are_their_table(fresh: Database) -> None:
    """Rows that go into two partitions, one of them made later, and are read there, are those of the whole table."""
    with fresh.connect() as connection:
        connection.execute("CREATE TABLE events (day int NOT NULL, what text) PARTITION BY RANGE (day)")
        connection.execute("CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (0) TO (10)")
        numbers = work.table_numbers(connection)
        connection.execute("CREATE TABLE events_2 PARTITION OF events FOR VALUES FROM (10) TO (20)")
        connection.execute("INSERT INTO events SELECT i, 'x' FROM generate_series(0, 14) AS i")
        connection.execute("UPDATE events SET what = 'y' WHERE day = 3")
        connection.execute("DELETE FROM events WHERE day = 12")
        assert len(connection.execute("SELECT * FROM events").fetchall()) == 14

    def counted() -> dict[str, TableWork]:
        with fresh.connect() as connection:
            return {name: one for name, one in work.work(connection, numbers).tables.items() if name.startswith("events")}

    # One scan of each statement and partition: two for the SELECT, one each for the others.
    assert eventually(lambda: counted().get("events") == TableWork(4, 29, 29, 15, 1, 1), DATABASE_S)
    assert set(counted()) == {"events"}
    assert fresh.query(THERE, {"name": "events"}) and not fresh.query(THERE, {"name": "events_1"})


def test_tables_of_one_name_are_added_up(fresh: Database) -> None:
    """Of two schemas neither hides the other, and a name that needs quotes is one like any other."""
    with fresh.connect() as connection:
        connection.execute("CREATE SCHEMA other")
        for schema, rows in (("public", 2), ("other", 3)):
            connection.execute(f'CREATE TABLE {schema}."User" AS SELECT i FROM generate_series(1, {rows}) AS i'.encode())
            connection.execute(f'SELECT * FROM {schema}."User"'.encode())

    def counted() -> TableWork | None:
        with fresh.connect() as connection:
            return work.work(connection).tables.get("User")

    assert eventually(lambda: counted() == TableWork(2, 5, 5, 5), DATABASE_S)


def test_rows_that_an_index_holds_are_read(fresh: Database) -> None:
    """A scan of a covering index reads its entries and no row; one by a bitmap reads both, and they are the same ones."""
    with fresh.connect() as connection:
        connection.execute("CREATE TABLE parts AS SELECT i AS id, i % 10 AS kind FROM generate_series(1, 1000) AS i")
        connection.execute("CREATE INDEX ON parts (id) INCLUDE (kind)")

        def is_vacuumed() -> bool:
            connection.execute("VACUUM ANALYZE parts")
            return fresh.query("SELECT relallvisible = relpages FROM pg_class WHERE relname = 'parts'") == [(True,)]

        assert eventually(is_vacuumed, DATABASE_S)  # a commit that is not on the disk yet is in no index alone

    def counted() -> TableWork:
        assert fresh.wait_for_no_connections()
        with fresh.connect() as connection:
            return work.work(connection).tables["parts"]

    def read_by(*others: str) -> TableWork:
        """Ask for forty rows by none of the other ways, and count what that read."""
        before = counted()
        with fresh.connect() as connection:
            for way in others:
                connection.execute(f"SET enable_{way} = off".encode())
            assert len(connection.execute("SELECT id, kind FROM parts WHERE id <= 40").fetchall()) == 40
        return counted().since(before)

    covered = read_by("seqscan", "bitmapscan")
    assert (covered.rows, covered.index_entries, covered.most_read) == (0, 40, 40)
    bitmap = read_by("seqscan", "indexonlyscan", "indexscan")
    assert (bitmap.rows, bitmap.index_entries, bitmap.most_read) == (40, 40, 40)


def test_moments_of_commits(fresh: Database) -> None:
    """Rows have the moment of their commit, not of their transaction's beginning, and so have numbers that committed."""
    first = fresh.transactions()
    with fresh.connect() as connection:
        low, high = commits.clock_ahead_us(connection)
        began_us = time.time_ns() // 1000
        with connection.transaction():
            connection.execute("SELECT pgbench_tx(1, 1, 1, 5)")
            connection.execute("SELECT pg_sleep(0.05)")
        ended_us = time.time_ns() // 1000
        with pytest.raises(psycopg.errors.DivisionByZero), connection.transaction():
            connection.execute("SELECT pgbench_tx(2, 1, 1, 5)")
            connection.execute("SELECT 1/0")
        connection.execute("SELECT pgbench_tx(3, 1, 1, 5)")
        sql = "SELECT ARRAY[aid, tid, bid, delta], xmin FROM pgbench_history"
        rows = commits.of_rows(connection, sql, {(1, 1, 1, 5), (2, 1, 1, 5)})
        after = fresh.transactions()
        assert first is not None and after is not None
        numbers = commits.of_numbers(connection, first, after)
    assert list(rows) == [(1, 1, 1, 5)]
    (at_us,) = rows[1, 1, 1, 5]
    assert at_us is not None and began_us + 50_000 + low <= at_us <= ended_us + high
    assert at_us in numbers and len(numbers) == 2


def test_what_a_server_does_not_count_is_unknown(fresh: Database) -> None:
    """Without tracking of functions their calls are unknown, and so are statements where no module counts them."""
    with fresh.connect("postgres") as connection:
        connection.execute(f"ALTER DATABASE {fresh.name} SET track_functions = 'none'".encode())
    found = fresh.work()
    assert found.functions is None and found.statements is None and "users" in found.tables


def test_long_statements_are_seen_whole(fresh: Database) -> None:
    """An object mapper names each column, and what tells which rows it reads comes after all of them."""
    wide = f"SELECT {', '.join(f'id AS shop_product_column_{number:03}' for number in range(40))} FROM users WHERE id = 1"
    with psycopg.connect(fresh.server_url(), autocommit=True) as one, fresh.watch() as ours, fresh.connect() as there:
        one.execute(wide.encode())
        (seen,) = postgres.activity(ours)[fresh.name].statements
        one.execute(wide.encode())
        (beside,) = postgres.activity_beside(there)[fresh.name].statements
    assert len(wide) > 1_024 and seen[1] == beside[1] == wide


def test_old_statements_are_not_shown(fresh: Database) -> None:
    """A backend that was asked nothing for a second is unused, and its last statement is left out."""

    def seen(connection: psycopg.Connection[Any]) -> tuple[tuple[str, str], ...]:
        return postgres.activity(connection)[fresh.name].statements

    with psycopg.connect(fresh.server_url(), autocommit=True) as one, fresh.connect("postgres") as ours:
        assert eventually(
            lambda: bool(one.execute("SELECT 'lately'")) and seen(ours) == (("idle", "SELECT 'lately'"),), DATABASE_S
        )
        assert eventually(lambda: seen(ours) == (), DATABASE_S)
        assert postgres.activity(ours)[fresh.name].waits == {"unused": 1}
