"""The database beneath the servers: two durability classes, fresh data for every trial, its counters, and settings of a person."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from builders.cluster import SCALE, contents
from builders.contracts import SEEDS
from builders.waiting import DATABASE_S, eventually
from fairground import postgres
from fairground.host import Keeper
from fairground.model import ContractError, Durability, LabError
from fairground.model.contract import ContractData, SqlFile
from fairground.postgres import Database, embedded, template
from fairground.postgres.database import MARK, DatabaseAddress

READ = """
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO fairground_rights;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO fairground_rights"""
"""The rights of a server that reads."""


@pytest.fixture
def fresh(database: Database) -> Database:
    """The session's database with fresh data."""
    database.reset(SEEDS.data(SCALE))
    return database


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
    database = postgres.start(keeper, cache, durability)
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
def test_other_machines_connect_only_where_they_are_named(keeper: Keeper, cache: Path) -> None:
    """Each at its address, with a password that is new. The next start for this machine alone lets none of them in."""

    def started(*clients: str) -> tuple[set[str], str]:
        database = postgres.start(keeper, cache, Durability.RELAXED, clients=clients)
        try:
            with database.connect("postgres") as connection:
                rows = connection.execute("SELECT address FROM pg_hba_file_rules WHERE address IS NOT NULL").fetchall()
            assert not {"hba_file", "password"} & database.settings().keys()
            return {str(address) for (address,) in rows}, database.admin.password
        finally:
            database.stop()

    alone, first = started()
    admitted, second = started("10.9.9.9", "fd00::7")
    assert admitted == {keeper.address, "10.9.9.9", "fd00::7"} and not {"10.9.9.9", "fd00::7"} & alone
    assert first != second and started() == (alone, second)


@pytest.mark.live
def test_servers_log_in_as_an_ordinary_role(fresh: Database) -> None:
    """The role of servers is no superuser, may make nothing, and owns neither the trial's database nor a table."""
    with psycopg.connect(fresh.server_url()) as connection:
        row = connection.execute(
            "SELECT current_user, rolsuper, rolcreatedb, rolcreaterole FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
        assert row == ("fairground_app", False, False, False)
        owned = "SELECT relname FROM pg_class WHERE relowner = current_user::regrole"
        assert connection.execute(owned).fetchall() == []
        assert connection.execute("SELECT count(*) FROM users").fetchone() == (100,)


# ---------------------------------------------------------------- reset


@pytest.mark.live
def test_reset_gives_the_same_bytes(fresh: Database) -> None:
    """After changes of every kind a reset brings back every row in its place, and counters at zero."""
    before = contents(fresh)
    with fresh.connect() as connection:
        connection.execute("SELECT pgbench_tx(1, 1, 1, 5)")
        connection.execute("DELETE FROM users WHERE id > 50")
        connection.execute("INSERT INTO web_users (name, email) VALUES ('new', 'new@example.com')")
        connection.execute("CREATE TABLE other (id integer)")
    assert contents(fresh) != before
    fresh.reset(SEEDS.data(SCALE))
    assert replace(fresh.counters(), sessions=0) == postgres.Counters(0, 0, 0, 0, 0)
    assert contents(fresh) == before


@pytest.mark.live
def test_reset_with_connections_open(fresh: Database) -> None:
    """Connections that a server left open, one inside a transaction, do not keep a reset from happening."""
    idle, busy = psycopg.connect(fresh.server_url(), autocommit=True), psycopg.connect(fresh.server_url())
    with suppress(psycopg.Error), idle, busy:
        busy.execute("UPDATE web_users SET credits = 0")
        assert len(fresh.backends()) == 2
        fresh.reset(SEEDS.data(SCALE))
        assert len(fresh.backends()) == 0
        with pytest.raises(psycopg.OperationalError):
            idle.execute("SELECT 1")
    assert fresh.query("SELECT count(*) FROM web_users WHERE credits = 0") == [(0,)]


@pytest.mark.live
def test_half_made_template_is_made_anew(database: Database) -> None:
    """A `_building` database that an interrupted build left is dropped, and the template made whole."""
    name = database.prepare(SEEDS.data(SCALE))
    with database.connect("postgres") as connection:
        for place in ("fairground_trial", name):
            connection.execute(f"DROP DATABASE IF EXISTS {place} WITH (FORCE)".encode())
        connection.execute(f"CREATE DATABASE {name}_building".encode())
        connection.execute(f"COMMENT ON DATABASE {name}_building IS '{MARK}'".encode())
    with database.connect(f"{name}_building") as connection:
        connection.execute("CREATE TABLE users (half integer)")
    assert database.prepare(SEEDS.data(SCALE)) == name
    database.reset(SEEDS.data(SCALE))
    assert database.query("SELECT count(*) FROM users") == [(100,)]
    with database.connect("postgres") as connection:
        assert not connection.execute("SELECT 1 FROM pg_database WHERE datname LIKE '%\\_building'").fetchall()


def test_template_is_named_after_its_data() -> None:
    """Another schema, other seeds, other rights or another scale is another template; where there are no rights they do not count."""
    made = (("a", "b", "c", 1), ("a2", "b", "c", 1), ("a", "b2", "c", 1), ("a", "b", "c2", 1), ("a", "b", "c", 2))
    data = [ContractData("one", scale, *texts) for *texts, scale in made]
    data += [replace(data[0], before=SqlFile("index.sql", text)) for text in ("d", "d2")]
    assert len({template.name_of(one, rights=True) for one in data}) == 7
    assert len({template.name_of(one, rights=False) for one in data}) == 6


@pytest.mark.live
@pytest.mark.parametrize(("part", "said"), [("schema", "line 2: type"), ("seed", "line 2: column"), ("rights", "role")])
def test_a_contract_that_the_database_refuses_is_named_with_its_line(database: Database, part: str, said: str) -> None:
    """What is wrong in a contract's SQL is said with its file, the line where there is one, and the database's own words."""
    wrong = {
        "schema": "CREATE TABLE a (b integer);\nCREATE TABLE c (d nothing);",
        "seed": "\nINSERT INTO a SELECT none FROM a;",
        "rights": "GRANT SELECT ON a TO nobody_of_that_name;",
    }
    texts = {"schema": "CREATE TABLE a (b integer);", "seed": "", "rights": "", part: wrong[part]}
    with pytest.raises(LabError) as caught:
        database.prepare(ContractData("mine", 1, **texts))
    assert caught.value.message.startswith(f"the database refuses `contracts/mine/{part}.sql`") and said in caught.value.message
    with database.connect("postgres") as connection:  # half of a template is of no use to anybody
        assert not connection.execute("SELECT 1 FROM pg_database WHERE datname LIKE '%\\_building'").fetchall()


@pytest.mark.live
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("CREATE INDEX ON a (b);\nCREATE INDEX ON a (c);", 'line 2: column "c" does not exist'),
        ("-- too many\n\nUPDATE a SET b = b / 0;", "line 3: division by zero"),
        ("SELECT 1; CREATE INDEX CONCURRENTLY ON a (b);", "CREATE INDEX CONCURRENTLY cannot"),
    ],
)
def test_sql_before_a_load_that_is_refused_is_named_as_it_was_typed(database: Database, text: str, said: str) -> None:
    """The file, its line where there is one, and what the database said; it is wrong input, and nothing was measured."""
    data = ContractData("mine", 1, "CREATE TABLE a (b integer)", "INSERT INTO a VALUES (1)", "", SqlFile("my/index.sql", text))
    with pytest.raises(LabError) as caught:
        database.prepare(data)
    assert caught.value.message.startswith("the database refuses `my/index.sql`") and said in caught.value.message
    assert caught.value.exit_code == 2


@pytest.mark.live
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT setseed(0.5);\nCREATE INDEX ON a (md5(b::text));\nCREATE INDEX ON a (c);", "line 3: index row "),
        ("SELECT 1;\nSELECT currval('s');", 'line 2: currval of sequence "s" is not yet defined'),
        ("SET statement_timeout = '10ms';\nSELECT pg_sleep(60);", "line 2: canceling statement due to statement timeout"),
        ("COPY a FROM stdin;", "COPY "),
    ],
    ids=["row-too-large", "not-ready", "timeout", "copy"],
)
def test_a_file_that_exceeds_a_limit_is_named_with_its_line(database: Database, text: str, said: str) -> None:
    """What PostgreSQL counts among faults of operation is a fault of the file all the same."""
    schema = "CREATE SEQUENCE s; CREATE TABLE a (b integer, c text);"
    seed = "INSERT INTO a SELECT 1, string_agg(md5(random()::text), '') FROM generate_series(1, 300);\n"
    with pytest.raises(LabError) as caught:
        database.prepare(ContractData("mine", 1, schema + seed, text, ""))
    assert caught.value.message.startswith("the database refuses `contracts/mine/seed.sql`") and said in caught.value.message
    assert caught.value.exit_code == 2


def fill_refused(error: psycopg.Error, *, closed: bool = False) -> None:
    """Fill a template at a connection that answers the first file with an error."""

    def execute(_: bytes) -> None:
        raise error

    refused: Any = SimpleNamespace(closed=closed, execute=execute)
    template.fill(refused, ContractData("mine", 1, "CREATE EXTENSION y", "", ""), rights=True, migrate=lambda _: None)


@pytest.mark.parametrize(
    ("error", "closed"), [(psycopg.OperationalError("server closed the connection"), True), (psycopg.errors.DiskFull(), False)]
)
def test_a_server_that_ends_or_is_full_is_no_fault_of_a_file(error: psycopg.Error, closed: bool) -> None:
    """It is told by whoever watches the server."""
    with pytest.raises(type(error)):
        fill_refused(error, closed=closed)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (psycopg.errors.FeatureNotSupported, 'extension "y" is not available'),
        (psycopg.errors.UndefinedFile, 'could not open extension control file "/x/y.control": No such file or directory'),
    ],
)
def test_words_for_an_extension_that_is_not_there(error: type[psycopg.Error], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL 14 misses its file, in place of a feature."""
    monkeypatch.setattr(template, "_failed_at", lambda *_: 0)
    with pytest.raises(LabError, match="extension") as caught:
        fill_refused(error(said))
    assert "--database URL" in str(caught.value.hint)


@pytest.mark.live
def test_an_extension_that_is_not_there_needs_another_server(database: Database) -> None:
    """Nobody can install one on the lab's own, as PostgreSQL would have it."""
    with pytest.raises(
        LabError, match="`contracts/mine/schema.sql`, line 2: extension .nothing_of_contrib. is not ava"
    ) as caught:
        database.prepare(ContractData("mine", 1, "SELECT 1;\nCREATE EXTENSION nothing_of_contrib", "", ""))
    assert "--database URL" in str(caught.value.hint)


@pytest.mark.live
def test_sql_before_a_load_is_on_the_fresh_data_of_whoever_asks(database: Database) -> None:
    """Each reset has it, a server may read what it made, and data without it are as they were."""
    plain = ContractData("mine", 1, "CREATE TABLE a (b integer)", "INSERT INTO a VALUES (1)", READ)
    indexed = replace(plain, before=SqlFile("index.sql", "CREATE INDEX a_b ON a (b); CREATE TABLE c AS SELECT 7 AS d"))
    for data, indexes in ((plain, 0), (indexed, 1), (plain, 0), (indexed, 1)):
        database.reset(data)
        assert database.query("SELECT count(*) FROM pg_indexes WHERE indexname = 'a_b'") == [(indexes,)]
    with psycopg.connect(database.server_url()) as connection:
        assert connection.execute("SELECT d FROM c").fetchall() == [(7,)]


def test_url_quotes_what_must_be_quoted() -> None:
    """Users and passwords with URL characters survive the way into `DATABASE_URL`."""
    address = DatabaseAddress("127.0.0.1", 5555, "us@er", "p/w:?#")
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
        assert eventually(lambda: fresh.count_backends("Lock:") == 1, DATABASE_S)
        with fresh.connect("postgres") as connection:
            seen = dict(postgres.waits(connection))
        holder.rollback()
        thread.join()
        wanter.rollback()
        assert seen == {"idle in transaction": 1, "Lock:transactionid": 1}
        assert fresh.count_backends("Lock:") == 0


@pytest.mark.live
def test_wal_and_sever(fresh: Database) -> None:
    """WAL grows with writes, a checkpoint is allowed to us, and severing cuts the server's connections and not ours."""
    before = fresh.wal_position()
    with psycopg.connect(fresh.server_url(), autocommit=True) as theirs, fresh.connect() as ours:
        theirs.execute("UPDATE web_users SET name = name")
        after = fresh.wal_position()
        assert before is not None and after is not None and after > before
        assert fresh.checkpoint()
        assert fresh.sever() == 1
        with pytest.raises(psycopg.OperationalError):
            theirs.execute("SELECT 1")
        assert ours.execute("SELECT 1").fetchone() == (1,)


# ---------------------------------------------------------------- settings of a person


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("work_men", "PostgreSQL has no setting `work_men`"),
        ("fsync", "the PostgreSQL setting `fsync` is the lab's own"),
        ("Synchronous_Commit", "the PostgreSQL setting `Synchronous_Commit` is the lab's own"),
        ("listen_addresses", "the PostgreSQL setting `listen_addresses` is the lab's own"),
        ("logging_collector", "the PostgreSQL setting `logging_collector` is the lab's own"),
        ("log_destination", "the PostgreSQL setting `log_destination` is the lab's own"),
        ("track_counts", "the PostgreSQL setting `track_counts` is the lab's own"),
        ("track_activities", "the PostgreSQL setting `track_activities` is the lab's own"),
        ("session_replication_role", "the PostgreSQL setting `session_replication_role` is the lab's own"),
    ],
)
def test_settings_that_cannot_be_replaced(name: str, message: str) -> None:
    """A name that PostgreSQL does not know is refused with its neighbours, and so is what the lab itself decides."""
    with pytest.raises(LabError) as caught:
        postgres.check({"jit": "on", "log_connections": "on", name: "off"})
    assert caught.value.message == message and caught.value.hint


@pytest.mark.live
def test_settings_are_replaced(keeper: Keeper, cache: Path) -> None:
    """A setting given by a person stands in for the lab's own, and is disclosed."""
    database = postgres.start(keeper, cache, Durability.RELAXED, {"work_mem": "7MB", "max_connections": "77"})
    try:
        assert {"work_mem": "7MB", "max_connections": "77", "fsync": "off"}.items() <= database.settings().items()
    finally:
        database.stop()


@pytest.mark.live
def test_setting_with_a_bad_value(keeper: Keeper, cache: Path) -> None:
    """A value that PostgreSQL refuses ends the start with its own words."""
    with pytest.raises(LabError, match="^the embedded PostgreSQL did not start$") as caught:
        postgres.start(keeper, cache, Durability.RELAXED, {"work_mem": "many"})
    assert caught.value.hint is not None and 'invalid value for parameter "work_mem": "many"' in caught.value.hint


@pytest.mark.live
def test_errors_are_logged_where_they_are_asked_for(database: Database) -> None:
    """Errors of the trial's database are kept from when they are asked for, taken once, and gone with the trial's database."""
    database.reset(SEEDS.data(1))
    database.log_errors()
    for _ in range(2):
        with psycopg.connect(database.server_url()) as client, pytest.raises(psycopg.Error):
            client.execute("SELECT nothing_of_the_kind")
    assert database.take_errors().count('column "nothing_of_the_kind" does not exist') == 2
    assert database.take_errors() == ""
    database.reset(SEEDS.data(1))
    with psycopg.connect(database.server_url()) as client, pytest.raises(psycopg.Error):
        client.execute("SELECT nothing_of_the_kind")
    assert database.take_errors() == ""


@pytest.mark.live
def test_who_is_wrong_about_a_statement(fresh: Database) -> None:
    """A statement that no value makes right is the contract's mistake; a value that it cannot take may be a server's."""
    with pytest.raises(ContractError, match="the database refuses `SELECT none`: column"):
        fresh.probe("SELECT none")
    with pytest.raises(LabError) as caught:
        fresh.probe("SELECT (%(answer)s::jsonb->>'id')::int", {"answer": '{"id": "seven"}'})
    assert not isinstance(caught.value, ContractError) and "seven" in caught.value.message
