"""Given servers in odd dress: sessions of lab and servers get the settings that they rely on, or one sentence says why not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import psycopg
import pytest

from builders.contracts import SEEDS
from fairground import postgres, topology
from fairground.host import Keeper
from fairground.model import Durability, LabError, Topology
from fairground.postgres import Database, rehearsal, session
from fairground.postgres.embedded import Cluster
from fairground.postgres.given import hold_alone
from fairground.postgres.schema_dump import dump_schema
from fairground.topology import kind

SCALE = 1

# ---------------------------------------------------------------- without a server


class FakeSession:
    """A session in which some settings have these values. It keeps what it is told."""

    class Info:
        server_version = 180_000

    info = Info()

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = {**session.VALUES, **values}
        self._wanted: list[str] = []
        self.told: list[str] = []

    def execute(self, statement: Any, wanted: Any = None) -> FakeSession:
        if wanted is None:
            self.told.append(statement.as_string())
        else:
            (self._wanted,) = wanted
        return self

    def fetchall(self) -> list[tuple[str, str]]:
        return [(name, value) for name, value in self._values.items() if name in self._wanted]


def test_settings_are_told_apart() -> None:
    """Another value is told with its name, another spelling of the same is none."""
    alike = {"TimeZone": "Etc/UTC", "DateStyle": "iso, mdy", "search_path": '"$user",public'}
    assert session.other(FakeSession(alike)) == {}  # type: ignore[arg-type]
    others = {"DateStyle": "German, DMY", "transaction_timeout": "1s", "track_counts": "off"}
    assert session.other(FakeSession({**alike, **others})) == others  # type: ignore[arg-type]


def test_a_role_gets_values_in_one_database_alone() -> None:
    """A list of names is given part by part: else it would be one name."""
    told = FakeSession({})
    session.settle(told, "somebody", "trial", ("search_path", "DateStyle"))  # type: ignore[arg-type]
    assert told.told == [
        """ALTER ROLE "somebody" IN DATABASE "trial" SET "search_path" TO '$user', 'public'""",
        """ALTER ROLE "somebody" IN DATABASE "trial" SET "DateStyle" TO 'ISO, MDY'""",
    ]


def test_the_labs_sessions_ask_for_what_they_may() -> None:
    """What a version does not know, or only a superuser may set, is asked for where it can be had."""
    assert "-c DateStyle=ISO,\\ MDY -c" in session.options()
    for name in session.NEEDED:
        assert f"-c {name}=" in session.options()
    assert "transaction_timeout" not in session.options(16) and "transaction_timeout" in session.options(17)
    assert "lc_messages" not in session.options(18) and "-c lc_messages=C" in session.options(18, superuser=True)


@pytest.mark.parametrize(
    ("other", "said", "hint"),
    [
        ({"track_counts": "off"}, "keeps `track_counts = off`", "as a superuser: ALTER SYSTEM SET track_counts = on"),
        ({"lock_timeout": "1s"}, "keeps `lock_timeout = 1s`", "look for what sets it when a role logs in"),
    ],
)
def test_a_setting_that_stays_is_refused(other: Mapping[str, str], said: str, hint: str) -> None:
    """The sentence names the setting and what is needed; without another value there is none."""
    with pytest.raises(LabError, match=said) as caught:
        rehearsal._require(other)
    assert f"need `{next(iter(other))} = {session.VALUES[next(iter(other))]}`" in caught.value.message
    assert (caught.value.hint, caught.value.exit_code) == (hint, 2)
    rehearsal._require({})


@pytest.mark.parametrize(
    ("plain", "encrypted", "refused"),
    [(True, True, False), (True, False, False), (False, True, True)],
)
def test_a_server_without_plain_connections_is_refused(
    monkeypatch: pytest.MonkeyPatch, plain: bool, encrypted: bool, refused: bool
) -> None:
    """It is known by what it lets in, and never by its words, which are in its own language."""

    def connect(*_: object, **words: object) -> FakeConnection:
        if not (plain if words["sslmode"] == "disable" else encrypted):
            raise psycopg.OperationalError("FATAL: kein Eintrag für Host »h«, keine Verschlüsselung")
        return FakeConnection()

    monkeypatch.setattr(psycopg, "connect", connect)
    database = Database(postgres.DatabaseAddress("h", 1, "u", "p"), None)
    monkeypatch.setattr(Database, "make_empty", lambda self: None)
    assert rehearsal.role_refusal(database) is None
    if not refused:
        rehearsal._require_plain(database)
        return
    for one, who in ((database, "the roles `fairground_app…`"), (Database(database.admin, None, shared="so"), "`u`")):
        with pytest.raises(LabError, match="takes no plain connections") as caught:
            rehearsal._require_plain(one)
        assert who in caught.value.message and "hostssl" in str(caught.value.hint)


class FakeConnection:
    """A connection that is only closed."""

    adapters = Mock()

    def close(self) -> None:
        pass


# ---------------------------------------------------------------- a second server


@pytest.fixture(scope="module")
def other(keeper: Keeper, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A server of its own whose databases are LATIN1. It is started as the lab's own, and given as somebody else's."""
    with pytest.MonkeyPatch.context() as patch:
        real = Cluster._carry_out

        def latin(self: Cluster, keeper: Keeper, command: Sequence[str]) -> tuple[int | None, str]:
            return real(self, keeper, ["--encoding=LATIN1" if word == "--encoding=UTF8" else word for word in command])

        patch.setattr(Cluster, "_carry_out", latin)
        found = postgres.start(keeper, tmp_path_factory.mktemp("latin"), Durability.RELAXED)
    yield found
    found.stop()


def url_of(database: Database) -> str:
    """The server as somebody gives it."""
    return database.admin.url("postgres")


@contextmanager
def wearing(database: Database, settings: Mapping[str, str]) -> Iterator[None]:
    """The server, with these values in each session that does not ask for others."""
    with database.connect("postgres") as connection:
        for name, value in settings.items():
            connection.execute(f"ALTER ROLE ALL SET {name} TO '{value}'".encode())
        try:
            yield
        finally:
            connection.execute("ALTER ROLE ALL RESET ALL")


@pytest.mark.live
@pytest.mark.parametrize(
    "settings",
    [
        {"datestyle": "German, DMY", "intervalstyle": "sql_standard", "timezone": "Asia/Tokyo", "extra_float_digits": "-5"},
        {"default_transaction_read_only": "on", "default_transaction_isolation": "serializable"},
        {"default_transaction_isolation": "repeatable read", "search_path": "nowhere", "password_encryption": "md5"},
        {"statement_timeout": "200ms", "lock_timeout": "1ms", "idle_in_transaction_session_timeout": "1s"},
        {"client_encoding": "SQL_ASCII", "bytea_output": "escape", "track_counts": "off"},
        {"lc_numeric": "C.UTF-8", "default_text_search_config": "german", "session_replication_role": "replica"},
    ],
    ids=lambda settings: "-".join(settings),
)
def test_sessions_have_what_they_rely_on(other: Database, settings: Mapping[str, str]) -> None:
    """Lab and servers have it, in a database of the lab's own form; nothing of it is left on the server."""
    with wearing(other, settings):
        found = postgres.given_database(url_of(other))
        assert all(any(name in said.lower() for said in found.remarks) for name in settings if name != "client_encoding")
        arm = found.arm(2)
        arm.reset(SEEDS.data(SCALE))
        assert len(arm.probe(SEEDS.statement("users.sql"))[0][0]) == 100
        with psycopg.connect(arm.server_url()) as theirs, arm.connect() as ours:
            assert session.other(theirs) == session.other(ours) == {}
            row = theirs.execute("SELECT current_setting('server_encoding'), lower('Ä') FROM users LIMIT 1").fetchone()
            assert row == ("UTF8", "Ä")
        found.stop()
    with other.connect("postgres") as connection:
        assert connection.execute("SELECT count(*) FROM pg_db_role_setting").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM pg_database WHERE datname ~ '^fairground_trial'").fetchone() == (0,)


@pytest.mark.live
def test_a_setting_of_superusers_is_said(other: Database) -> None:
    """A user who may not switch the counters on again is refused before anything is measured."""
    with wearing(other, {"track_counts": "off"}), other.connect("postgres") as connection:
        connection.execute("CREATE ROLE small LOGIN PASSWORD 'word' CREATEDB")
        connection.execute("GRANT CONNECT ON DATABASE postgres TO small")
        try:
            address = replace(other.admin, user="small", password="word")
            with pytest.raises(LabError, match="keeps `track_counts = off`, and sessions of servers under test need"):
                postgres.given_database(address.url("postgres"))
        finally:
            connection.execute("DROP OWNED BY small")
            connection.execute("DROP ROLE small")


@pytest.mark.live
def test_a_role_that_becomes_another_is_one_of_the_labs(other: Database) -> None:
    """Who logs in as the lab is the lab, whatever role it then has: its own sessions are not a server's, and those of a server are."""
    with other.connect("postgres") as connection:
        connection.execute("CREATE ROLE becomes LOGIN PASSWORD 'word' CREATEDB CREATEROLE")
        connection.execute("CREATE ROLE owning CREATEDB CREATEROLE")
        connection.execute("GRANT owning TO becomes")
        connection.execute("GRANT CONNECT ON DATABASE postgres TO becomes, owning")
        connection.execute("ALTER ROLE becomes SET role = 'owning'")
        try:
            found = postgres.given_database(replace(other.admin, user="becomes", password="word").url("postgres"))
            found.reset(SEEDS.data(SCALE))
            with found.connect() as ours:
                assert ours.execute("SELECT current_user, session_user").fetchone() == ("owning", "becomes")
                assert len(found.backends()) == 0
                with psycopg.connect(found.server_url()):
                    assert len(found.backends()) == 1
            found.stop()
        finally:
            connection.execute("DROP OWNED BY becomes, owning")
            connection.execute("DROP ROLE becomes, owning")


@pytest.mark.live
def test_roles_and_tables_of_another_encoding_are_read(other: Database, keeper: Keeper, tmp_path: Path) -> None:
    """A name of LATIN1 beside the lab's databases ends no session, and a schema in LATIN1 is dumped as UTF-8."""
    with other.connect("postgres") as connection:
        connection.execute("CREATE TABLE kunde (name text DEFAULT 'Müller')")
        connection.execute('CREATE ROLE "Müller"')
        try:
            assert "'Müller'" in dump_schema(keeper, url_of(other), tmp_path)
            arm = other.arm(2)
            arm.make_empty()
            with arm.connect() as utf8:  # which reads the bytes of the name as they are
                names = [name for (name,) in utf8.execute("SELECT rolname FROM pg_roles").fetchall()]
            assert "M�ller" in names
            found = postgres.given_database(url_of(other))
            found.stop()
        finally:
            connection.execute('DROP ROLE "Müller"')
            connection.execute("DROP TABLE kunde")


@pytest.mark.live
@pytest.mark.parametrize("text", ["plain", "Ж", "ü€"])
def test_statements_are_seen_as_they_are(other: Database, text: str) -> None:
    """A server of another encoding than the arms' translates none of them, and so it can refuse none."""
    arm = other.arm(2)
    arm.make_empty()
    with psycopg.connect(arm.server_url(), autocommit=True, client_encoding="UTF8") as theirs, other.watch() as ours:
        theirs.execute(f"SELECT '{text}'".encode())
        assert postgres.activity(ours)[arm.name].statements == (("idle", f"SELECT '{text}'"),)


@pytest.mark.live
@pytest.mark.parametrize("name", ["pgbouncer-session", "pgbouncer-tx"])
def test_a_pooler_is_no_server(keeper: Keeper, other: Database, tmp_path: Path, name: str) -> None:
    """The address of a pooler is refused in one sentence: its sessions outlive their connections, and keep no lock of the lab's."""
    if kind.version("pgbouncer", os.environ.get("PATH")) is None:
        pytest.skip("pgbouncer is not installed here")
    running = topology.start_pooler(keeper, Topology(pooler=name, pooler_size=2), url_of(other), tmp_path, None, 1)
    try:
        with pytest.raises(LabError, match="a pooler answers at the given address") as caught:
            postgres.given_database(topology.at(url_of(other), running.host, running.port))
        assert caught.value.exit_code == 2 and "--pooler" in str(caught.value.hint)
        with pytest.raises(LabError, match="a pooler answers at the address of the service's database") as caught:
            postgres.open_beside(topology.at(url_of(other), running.host, running.port))
        assert caught.value.exit_code == 2
        assert postgres.open_beside(url_of(other)).name == "postgres"
        pooler = topology.at(url_of(other), running.host, running.port)
        with pytest.raises(LabError, match="a pooler answers"), hold_alone(pooler):
            postgres.given_database(pooler)
        with hold_alone(url_of(other)):
            pass
    finally:
        running.stop()


@pytest.mark.live
def test_words_for_a_lost_statement_are_the_servers_own(other: Database) -> None:
    """They are what a client reads whose statement is lost, with the name in place."""
    words = other.lost_statement_errors() if other.reset(SEEDS.data(SCALE)) is None else ()

    def said(use: Callable[[psycopg.Connection[Any]], object]) -> str:
        with other.connect() as connection, pytest.raises(psycopg.Error) as caught:
            use(connection)
        return str(caught.value.diag.message_primary)

    assert said(lambda one: one.execute("EXECUTE fairground_lost")) in words
    assert said(lambda one: one.execute("PREPARE fairground_lost AS SELECT 1; PREPARE fairground_lost AS SELECT 1")) in words
    assert len(words) == 4
