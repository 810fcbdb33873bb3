"""A database server of somebody else: used with its owner's rights, left behind clean, refused in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest

from builders.contracts import SEEDS
from fairground import postgres
from fairground.host import Keeper
from fairground.model import Durability, LabError, RunSettings
from fairground.postgres import Database, databases, rehearsal, rights
from fairground.postgres.database import DatabaseAddress

SCALE = 1


def url_of(database: Database, user: str | None = None, password: str | None = None) -> str:
    """A URL for `given`, as the superuser or another."""
    address = database.admin
    return DatabaseAddress(address.host, address.port, user or address.user, password or address.password).url("postgres")


def refusal(url: str) -> LabError:
    """Why a given server is refused."""
    with pytest.raises(LabError) as caught:
        postgres.given_database(url)
    return caught.value


def trial_databases(database: Database) -> set[str]:
    """The databases of arms on a server."""
    with database.connect("postgres") as connection:
        rows = connection.execute("SELECT datname FROM pg_database WHERE datname LIKE 'fairground\\_trial%'").fetchall()
    return {str(row[0]) for row in rows}


def ours(database: Database) -> set[str]:
    """The databases and roles on a server that are called as the lab's are."""
    named = "SELECT datname FROM pg_database WHERE datname ~ 'fairground' UNION SELECT rolname FROM pg_roles WHERE rolname ~ 'fairground_'"
    with database.connect("postgres") as connection:
        return {str(row[0]) for row in connection.execute(named.encode()).fetchall()}


def roles(database: Database) -> set[str]:
    """The roles of arms on a server."""
    with database.connect("postgres") as connection:
        rows = connection.execute("SELECT rolname FROM pg_roles WHERE rolname ~ '^fairground_app'").fetchall()
    return {str(row[0]) for row in rows}


def drop_templates(database: Database) -> None:
    """Remove the lab's templates and the role that holds the rights in them: whoever comes next makes them as its own."""
    with database.connect("postgres") as connection:
        for (name,) in connection.execute("SELECT datname FROM pg_database WHERE datname ~ '^fairground_template'").fetchall():
            connection.execute(f"DROP DATABASE {name}".encode())
        connection.execute("DROP ROLE IF EXISTS fairground_rights")


@contextmanager
def somebody(database: Database, rights: str) -> Iterator[str]:
    """A user of these rights on a server that has no databases of the lab, as a URL for `given`."""
    drop_templates(database)
    with database.connect("postgres") as connection:
        connection.execute(f"CREATE ROLE somebody LOGIN PASSWORD 'word' {rights}".encode())
        connection.execute("GRANT CONNECT ON DATABASE postgres TO somebody")
        try:
            yield url_of(database, "somebody", "word")
        finally:
            drop_templates(database)
            connection.execute("DROP OWNED BY somebody")
            connection.execute("DROP ROLE somebody")


@pytest.fixture
def bare(database: Database) -> Iterator[Database]:
    """The session's server without any arm's database, before and after."""

    database.drop_arms()
    yield database
    database.drop_arms()


@pytest.mark.live
def test_given_server_is_used_and_left_behind_clean(bare: Database) -> None:
    """On somebody else's server the lab resets its own database, measures no process, and removes it at the end."""
    found = postgres.given_database(url_of(bare))
    assert found.child is None and found.remarks == ()
    found.reset(SEEDS.data(SCALE))
    assert found.query("SELECT count(*) FROM users") == [(100,)]
    assert found.server_url().endswith("/fairground_trial")
    found.arm(2).reset(SEEDS.data(SCALE))
    assert trial_databases(bare) == {"fairground_trial", "fairground_trial_2"}
    found.stop()
    assert trial_databases(bare) == set()


@pytest.mark.live
def test_a_given_server_is_left_as_it_was(bare: Database) -> None:
    """Neither templates nor roles of the lab stay, and what somebody else called so does."""
    drop_templates(bare)
    with bare.connect("postgres") as connection:
        connection.execute("CREATE DATABASE fairground_template_7_0123456789")
        before = ours(bare)
        try:
            found = postgres.given_database(url_of(bare))
            found.reset(SEEDS.data(SCALE))
            found.arm(2).reset(SEEDS.data(SCALE))
            assert len(ours(bare) - before) >= 5
            found.stop()
            assert ours(bare) == before
        finally:
            connection.execute("DROP DATABASE fairground_template_7_0123456789")


@pytest.mark.live
def test_what_a_server_under_test_has_made_elsewhere_goes_with_its_role(bare: Database) -> None:
    """It may log in to `postgres`, too, and make large objects there."""
    drop_templates(bare)
    before = ours(bare)
    with somebody(bare, "CREATEDB CREATEROLE") as url:
        found = postgres.given_database(url)
        found.reset(SEEDS.data(SCALE))
        with bare.connect("postgres") as connection:
            connection.execute("GRANT CONNECT ON DATABASE postgres TO PUBLIC")
            try:
                with psycopg.connect(found.app.url("postgres"), autocommit=True) as theirs:
                    theirs.execute("SELECT lo_create(0)")
            finally:
                connection.execute("REVOKE CONNECT ON DATABASE postgres FROM PUBLIC")
            found.stop()
            assert ours(bare) == before
            assert connection.execute("SELECT count(*) FROM pg_largeobject_metadata").fetchone() == (0,)


@pytest.mark.live
def test_a_refused_server_is_left_as_it_was(bare: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the rehearsal made goes, the role with the rights as well."""

    def refuse(_: Database) -> None:
        raise LabError("not this one")

    drop_templates(bare)
    before = ours(bare)
    monkeypatch.setattr(rehearsal, "_require_plain", refuse)
    assert refusal(url_of(bare)).message == "not this one"
    assert ours(bare) == before


@pytest.mark.live
def test_a_password_of_the_environment_is_used(bare: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """`PGPASSWORD` is heard where the URL has no password, and a wrong one there is refused."""
    address = bare.admin
    url = f"postgresql://{address.user}@{address.host}:{address.port}/postgres"
    monkeypatch.setenv("PGPASSWORD", address.password)
    found = postgres.given_database(url)
    assert found.admin.password == address.password and found.version()
    found.stop()
    monkeypatch.setenv("PGPASSWORD", "another")
    assert "password authentication failed" in refusal(url).message


@pytest.mark.live
def test_given_server_loses_what_a_killed_lab_left(bare: Database) -> None:
    """Databases that carry our mark are dropped when a session begins, and one that somebody else called so is left alone."""
    killed = postgres.given_database(url_of(bare))
    killed.reset(SEEDS.data(SCALE))
    killed.arm(3).reset(SEEDS.data(SCALE))
    with bare.connect("postgres") as connection:
        connection.execute("CREATE DATABASE fairground_trial_2")
    found = postgres.given_database(url_of(bare))
    assert trial_databases(bare) == {"fairground_trial_2"}
    with pytest.raises(LabError, match="a database `fairground_trial_2` that the lab did not make"):
        found.arm(2).reset(SEEDS.data(SCALE))


@pytest.mark.live
def test_one_lab_measures_on_a_given_server(bare: Database, keeper: Keeper, tmp_path: Path) -> None:
    """Another would drop its databases in mid-window: it is told that one is at work, and may begin when that has ended."""
    url = url_of(bare)
    with databases.open_database(keeper, tmp_path, url, RunSettings()) as first:
        first.reset(SEEDS.data(SCALE))
        again = databases.open_database(keeper, tmp_path, url, RunSettings())
        with pytest.raises(LabError, match="^another lab measures on the given server$") as caught, again:
            pytest.fail("two labs measure on one server")
        assert caught.value.exit_code == 3 and trial_databases(bare) == {first.name}
    with databases.open_database(keeper, tmp_path, url, RunSettings()) as second:
        assert second.version()


@pytest.mark.live
def test_the_durability_of_a_given_server_is_its_own(bare: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its commits wait for no disk nothing durable can be measured; where they wait, and nobody asked for it, that is said."""
    with pytest.raises(LabError, match="^commits do not wait for the disk on the given server") as caught:
        postgres.given_database(url_of(bare), None, Durability.DURABLE)
    assert caught.value.exit_code == 2
    waits = "commits wait for the disk on the given server: `fsync` and `synchronous_commit` are on"
    assert waits not in postgres.given_database(url_of(bare), None, Durability.RELAXED).remarks
    monkeypatch.setattr(rehearsal, "WAITS", "true")
    assert waits in postgres.given_database(url_of(bare), None, Durability.RELAXED).remarks
    found = postgres.given_database(url_of(bare), None, Durability.DURABLE)
    assert waits not in found.remarks
    found.stop()


@pytest.mark.live
def test_given_server_without_the_right_to_create(bare: Database) -> None:
    """A user that may not create databases is refused, with the statement that gives the right."""
    with somebody(bare, "") as url:
        error = refusal(url)
    assert error.message == "the given user `somebody` may not create databases"
    assert error.hint == 'as a superuser: ALTER ROLE "somebody" CREATEDB'
    assert error.exit_code == 2


@pytest.mark.live
def test_given_server_without_the_right_to_create_roles(bare: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers under test then log in as the lab does, with the password that a file holds; every right that is lacking is said."""
    with somebody(bare, "CREATEDB") as url:
        (tmp_path / "pass").write_text("*:*:*:somebody:word\n")
        (tmp_path / "pass").chmod(0o600)
        monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pass"))
        found = postgres.given_database(url.replace(":word@", "@"))
        assert [said.split(" (")[0] for said in found.remarks] == [
            "the given user `somebody` may not see the sessions of others",
            "the given user `somebody` may not checkpoint",
        ]
        found.reset(SEEDS.data(SCALE))
        found.limit_connections(1)
        with psycopg.connect(found.server_url()) as one, psycopg.connect(found.server_url()):
            assert one.execute("SELECT current_user").fetchone() == ("somebody",)
            assert len(found.backends()) == 2
        assert found.refusals() is None
        assert found.shared is not None and 'ALTER ROLE "somebody" CREATEROLE' in found.shared
        found.stop()


@pytest.mark.live
def test_sessions_that_a_user_may_not_see_take_room_all_the_same(bare: Database) -> None:
    """Without `pg_read_all_stats` the kind of a superuser's sessions is hidden, and they are there."""
    with somebody(bare, "CREATEDB") as url, psycopg.connect(url, autocommit=True) as ours, ExitStack() as others:
        before = rights.room(ours, shared=False)
        for _ in range(5):
            others.enter_context(bare.connect("postgres"))
        assert rights.room(ours, shared=False) == before - 5


@pytest.mark.live
def test_given_server_that_allows_roles(bare: Database) -> None:
    """An ordinary user that may create roles sees what an arm's role does, limits it, and leaves no role of an arm behind."""
    with somebody(bare, "CREATEDB CREATEROLE") as url:
        found = postgres.given_database(url)
        found.reset(SEEDS.data(SCALE))
        found.limit_connections(1)
        with psycopg.connect(found.server_url(), autocommit=True) as one:
            one.execute("SELECT 'seen'")
            with found.connect("postgres") as ours:
                assert postgres.activity(ours)[found.name].statements == (("idle", "SELECT 'seen'"),)
            with pytest.raises(psycopg.OperationalError, match="too many connections for role"):
                psycopg.connect(found.server_url())
        assert found.shared is None and found.refusals() is None
        found.stop()
        assert roles(bare) == set()


@pytest.mark.live
def test_given_server_with_a_role_of_somebody_else(bare: Database) -> None:
    """A role of our name without our mark is never touched."""
    with bare.connect("postgres") as connection:
        connection.execute("CREATE ROLE fairground_app")
        try:
            with pytest.raises(LabError, match="a role `fairground_app` that the lab did not make, and it will not be touched"):
                postgres.given_database(url_of(bare))
        finally:
            connection.execute("DROP ROLE fairground_app")


@pytest.mark.live
def test_given_server_with_a_database_of_somebody_else(bare: Database) -> None:
    """A database of our name without our mark is never touched."""
    found = postgres.given_database(url_of(bare))
    with bare.connect("postgres") as connection:
        connection.execute("CREATE DATABASE fairground_trial")
    error = refusal(url_of(bare))
    assert (
        error.message
        == "the given server has a database `fairground_trial` that the lab did not make, and it will not be touched"
    )
    assert error.hint == "rename it, or use another server: ALTER DATABASE fairground_trial RENAME TO …"
    with pytest.raises(LabError):
        found.reset(SEEDS.data(SCALE))
    found.stop()
    assert bare.query("SELECT 1") == [(1,)]


@pytest.mark.live
def test_embedded_database_left_without_its_mark_is_made_anew(bare: Database) -> None:
    """In the lab's own server a database that an interruption left unmarked is no reason to stop."""
    with bare.connect("postgres") as connection:
        connection.execute("CREATE DATABASE fairground_trial")
    bare.reset(SEEDS.data(SCALE))
    assert bare.query("SELECT count(*) FROM users") == [(100,)]


@pytest.mark.live
def test_given_server_that_is_too_old(bare: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL older than 14 is refused by its version."""
    monkeypatch.setattr(psycopg.ConnectionInfo, "server_version", property(lambda self: 130_014))
    assert refusal(url_of(bare)).message == "the given PostgreSQL is version 13, and 14 or newer is needed"
    monkeypatch.setattr(psycopg.ConnectionInfo, "server_version", property(lambda self: 140_000))
    assert postgres.given_database(url_of(bare)).owner is None


@pytest.mark.live
def test_given_server_of_another_version(bare: Database) -> None:
    """A version that is asked for has to be the server's; its own is taken."""
    with pytest.raises(LabError, match="^the given PostgreSQL is version 18, and version 17 is asked for$") as caught:
        postgres.given_database(url_of(bare), 17)
    assert caught.value.exit_code == 2 and caught.value.hint == "leave out `--database`, or ask for 18 or no version"
    assert postgres.given_database(url_of(bare), 18).version().startswith("18.")


@pytest.mark.live
def test_given_server_without_tls(bare: Database) -> None:
    """TLS that is asked for is not left out where the server has none."""
    assert "SSL was required" in refusal(url_of(bare) + "?sslmode=require").message


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
    assert "Connection refused" in error.message and "check host, port" in (error.hint or "")
    assert error.message.startswith("cannot connect to the given database: ")
    assert "\n" not in error.message


def test_given_text_that_is_no_url() -> None:
    """Something else than a URL is refused, with the form that is wanted."""
    error = refusal("mysql://nobody")
    assert error.message == "`--database` is not a connection URL"
    assert error.hint == "postgresql://USER:PASSWORD@HOST:PORT/postgres"
