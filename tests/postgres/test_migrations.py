"""An application's own migrations make the template: on a server of the lab's and on a given one, and nothing of a secret is said."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from fairground import postgres
from fairground.host import Keeper
from fairground.inputs import contracts
from fairground.model import LabError
from fairground.model.contract import Migrations
from fairground.postgres import Database, DatabaseAddress, migrations

CONTRACT = """title = "Notes"
default = "notes"
[numbers.scaled]
people = 7
[ready]
path = "/"
status = 200
"""
SCHEMA = """[schema]
run = ["{python}", "migrate.py", "$people"]
environment = {{ NOTES_DB = "$database_url", NOTES_WORD = "$database_password" }}
"""
PROGRAM = """import os, sys, psycopg
print("told", sorted(os.environ))
with psycopg.connect(os.environ["NOTES_DB"]) as connection:
    connection.execute("CREATE TABLE note (id serial PRIMARY KEY, person integer NOT NULL)")
    connection.execute("CREATE TABLE scale AS SELECT %s::int AS people", [sys.argv[1]])
"""
FILES = {
    "migrate.py": PROGRAM,
    "seed.sql": "INSERT INTO note (person) SELECT i FROM generate_series(1, $people) AS i;",
    "rights.sql": "GRANT SELECT ON note TO fairground_rights;",
}


def make(folder: Path, schema: str = SCHEMA, **files: str) -> contracts.Contract:
    """A contract with migrations of its own, read from its folder; `files` stand in place of others: `migrate`, `seed`."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {**FILES, **{f"{name}.{'py' if name == 'migrate' else 'sql'}": text for name, text in files.items()}}
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "contract.toml").write_text(CONTRACT + schema.format(python=sys.executable))
    return contracts.read_contract(folder)


@pytest.fixture
def arm(database: Database, keeper: Keeper) -> Iterator[Database]:
    """An arm on the session's server, which may run migrations."""
    found = database.arm(81)
    found.keeper = keeper
    yield found


@pytest.mark.live
def test_migrations_make_the_tables(arm: Database, tmp_path: Path) -> None:
    """The command is told where the template is; seed and rights follow, at the scale that is asked for."""
    contract = make(tmp_path / "notes")
    arm.reset(contract.data(2))
    assert arm.query("SELECT people, (SELECT count(*) FROM note) FROM scale") == [(14, 14)]
    with psycopg.connect(arm.server_url()) as server:
        assert server.execute("SELECT count(*) FROM note").fetchone() == (14,)
    with psycopg.connect(arm.server_url()) as server, pytest.raises(psycopg.errors.InsufficientPrivilege):
        server.execute("SELECT people FROM scale")


@pytest.mark.live
def test_migrations_run_on_a_given_server(database: Database, keeper: Keeper, tmp_path: Path) -> None:
    """A given server's template is made by them, too, and nothing stays on it."""
    database.drop_arms()
    address = database.admin
    given = postgres.given_database(address.url("postgres"))
    given.keeper = keeper
    try:
        given.reset(make(tmp_path / "notes").data(1))
        assert given.query("SELECT count(*) FROM note") == [(7,)]
    finally:
        given.stop()


@pytest.mark.live
@pytest.mark.parametrize(
    ("program", "words"),
    [
        (
            "import os, sys; print(os.environ['NOTES_DB'], os.environ['NOTES_WORD'], '\\x1b[31mno'); sys.exit(3)",
            "ended with exit code 3: ",
        ),
        ("print('done')", "made no table in the database that it was told"),
        ("import no_such_module", "ended with exit code 1: "),
    ],
)
def test_failed_migrations_are_one_sentence(arm: Database, tmp_path: Path, program: str, words: str) -> None:
    """It has the command, how it ended and its last lines, and neither an escape nor the password; no template is left."""
    contract = make(tmp_path / "notes", migrate=program)
    with pytest.raises(LabError) as caught:
        arm.reset(contract.data(1))
    said = caught.value.message
    assert words in said and "`notes`" in said and caught.value.exit_code == 2
    assert arm.admin.password not in said and "\x1b" not in said and "\n" not in said
    with arm.connect("postgres") as connection:
        name = arm._templates[contract.data(1)]
        assert not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchall()


@pytest.mark.live
def test_a_given_urls_own_words_are_passed_on(keeper: Keeper, tmp_path: Path) -> None:
    """Where the lab's own connections need TLS, those of migrations do; what the lab's environment says of databases is not told."""
    program = (sys.executable, "-c", "import os, sys; print(os.environ['X'], sorted(os.environ)); sys.exit(1)")
    one = Migrations(program, (("X", "$database_url $database_name"),), tmp_path, (".",))
    address = DatabaseAddress("h", 1, "u", "a-password-of-somebody", (("sslmode", "require"),))
    with pytest.raises(LabError) as caught:
        migrations.migrate(keeper, one, "notes", address, "data")
    assert "@h:1/data?sslmode=require data ['HOME', 'LANG', " in caught.value.message and "a-password" not in caught.value.message


@pytest.mark.live
def test_a_program_that_is_not_there_is_said(arm: Database, tmp_path: Path) -> None:
    """As a shell would: code 127."""
    schema = '[schema]\nrun = ["no-such-program"]\nenvironment = {{ X = "$database_name" }}\n'
    with pytest.raises(LabError, match="`no-such-program`, .* ended with exit code 127"):
        arm.reset(make(tmp_path / "notes", schema).data(1))


@pytest.mark.live
def test_other_files_are_another_template(arm: Database, tmp_path: Path) -> None:
    """What migrations read is read once for a database, so that a run has the same data; the next one has what was changed."""
    contract = make(tmp_path / "notes")
    first = arm.prepare(contract.data(1))
    make(tmp_path / "notes", migrate=PROGRAM.replace("CREATE TABLE scale", "CREATE TABLE other"))
    assert arm.prepare(contract.data(1)) == first
    later = Database(arm.admin, arm.owner, 82)
    later.keeper = arm.keeper
    assert later.prepare(contract.data(1)) != first


def test_only_what_is_read_counts(tmp_path: Path) -> None:
    """Another text is another digest; a name that `.gitignore` has, history and other folders are none."""
    for name in ("sql/one.sql", "sql/.git/HEAD", "sql/node_modules/a.js", "README"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    (tmp_path / "sql" / ".gitignore").write_text("/node_modules/\n")
    one = Migrations(("x",), (), tmp_path, ("sql",))
    before = migrations.digest_of(one)
    for name in ("sql/.git/HEAD", "sql/node_modules/a.js", "README"):
        (tmp_path / name).write_text("2")
    assert migrations.digest_of(one) == before
    (tmp_path / "sql" / "one.sql").write_text("2")
    assert migrations.digest_of(one) != before
    (tmp_path / "sql" / "gone").symlink_to("nowhere")
    assert migrations.digest_of(one) != before


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ('[schema]\nrun = []\nenvironment = {{ X = "$database_url" }}', "empty command"),
        ('[schema]\nrun = ["psql", "$database_url"]', "is a secret, and the process list shows"),
        ('[schema]\nrun = ["migrate"]', "is not told where the database is"),
        ('[schema]\nrun = ["migrate"]\nenvironment = {{ X = "$database_uri" }}', "unknown `$database_uri`"),
        ('[schema]\nrun = ["migrate"]\nenvironment = {{ X = "$pool_size" }}', "unknown `$pool_size`"),
        ('[schema]\nrun = ["migrate"]\nenvironment = {{ "A B" = "$database_url" }}', "not a valid name"),
        ('[schema]\nrun = ["migrate", "$database_name"]\nfolder = "app"', "there is no"),
        ('[schema]\nrun = ["migrate", "$database_name"]\nfiles = ["sql"]', "there is no `sql`"),
        ('[schema]\nrun = ["migrate", "$database_name"]\nfile = ["sql"]', "unknown key `file`"),
    ],
)
def test_each_mistake_has_its_line(tmp_path: Path, schema: str, words: str) -> None:
    """A mistake in `[schema]` is one sentence with the file."""
    with pytest.raises(LabError) as caught:
        make(tmp_path / "notes", schema)
    assert words in caught.value.message and "notes/contract.toml`, line" in caught.value.message


def test_tables_are_made_once(tmp_path: Path) -> None:
    """`schema.sql` beside migrations is a mistake: nobody could tell which of them counts."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "schema.sql").write_text("CREATE TABLE a (b integer);")
    with pytest.raises(LabError, match="both make the tables of"):
        make(tmp_path / "notes")
