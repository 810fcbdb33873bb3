"""The schema of a running database as a contract has it: tables and functions, no row, and nothing of the password."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from fairground.host import Keeper
from fairground.model import LabError
from fairground.model.contract import ContractData
from fairground.postgres import Database
from fairground.postgres.schema_dump import dump_schema

TABLES = """
CREATE SCHEMA shop;
CREATE TABLE shop.item (id serial PRIMARY KEY, name text NOT NULL);
CREATE TABLE person (id bigint PRIMARY KEY, item integer REFERENCES shop.item);
CREATE FUNCTION many() RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM public.person $$;
INSERT INTO shop.item (name) VALUES ('a-row-that-nobody-takes');
"""
ODD = """
COMMENT ON TABLE person IS 'it''s
SET row_security = off;


\\a line of it';
CREATE FUNCTION rename() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    UPDATE shop.item
SET name = 'new';
SET row_security = off;
    RETURN 'renamed';
END $$;
CREATE FOREIGN DATA WRAPPER far;
CREATE SERVER elsewhere FOREIGN DATA WRAPPER far;
CREATE USER MAPPING FOR CURRENT_USER SERVER elsewhere OPTIONS ("user" 'me; too', password 'a-word-that-nobody-takes');
"""


@pytest.mark.live
def test_what_functions_and_comments_say_stays(database: Database, keeper: Keeper, tmp_path: Path) -> None:
    """Their lines may look like those of a session. The mapping of a user is left out, and a mark says so."""
    arm = database.arm(83)
    arm.make_empty()
    with arm.connect() as connection:
        connection.execute((TABLES + ODD).encode())
    said = "SELECT obj_description('person'::regclass), (SELECT prosrc FROM pg_proc WHERE proname = 'rename')"
    before, text = arm.query(said), dump_schema(keeper, arm.admin.url(arm.name), tmp_path)
    assert "a-word-that-nobody-takes" not in text and "CREATE USER MAPPING" not in text
    (mark,) = (line for line in text.splitlines() if line.startswith("-- decide: "))
    assert "for elsewhere is left out" in mark
    arm.reset(ContractData("odd", 1, text, "", ""))
    assert arm.query(said) == before


@pytest.mark.live
def test_what_a_dump_leaves_behind_has_a_mark(database: Database, keeper: Keeper, tmp_path: Path) -> None:
    """A view has no rows until it is filled, and who a policy is for need not be there."""
    arm = database.arm(83)
    arm.make_empty()
    with arm.connect() as connection:
        more = 'CREATE MATERIALIZED VIEW shop."all items" AS SELECT * FROM shop.item; ALTER TABLE shop.item ENABLE ROW LEVEL SECURITY;'
        policies = (
            "CREATE POLICY mine ON shop.item FOR SELECT TO CURRENT_USER USING (true); CREATE POLICY all_of_us ON shop.item;"
        )
        connection.execute((TABLES + more + policies).encode())
    text = dump_schema(keeper, arm.admin.url(arm.name), tmp_path)
    view, policy = (line for line in text.splitlines() if line.startswith("-- decide: "))
    assert view.endswith('has no rows: write `REFRESH MATERIALIZED VIEW shop."all items";` into seed.sql')
    assert policy.startswith(f"-- decide: the policy mine is for {arm.admin.user}, which must be there")
    arm.reset(
        ContractData("shop", 1, text, 'INSERT INTO person VALUES (1, NULL); REFRESH MATERIALIZED VIEW shop."all items";', "")
    )
    assert arm.query('SELECT count(*) FROM shop."all items"') == [(0,)]


@pytest.mark.live
def test_tables_are_taken_and_no_row(database: Database, keeper: Keeper, tmp_path: Path) -> None:
    """The dump makes the same tables as a contract's schema, after which its seed finds them by their names."""
    arm = database.arm(83)
    arm.make_empty()
    with arm.connect() as connection:
        connection.execute(TABLES.encode())
    text = dump_schema(keeper, arm.admin.url(arm.name), tmp_path)
    assert "CREATE TABLE shop.item" in text and "a-row-that-nobody-takes" not in text
    assert arm.admin.password not in text and "\n\\" not in text and "search_path" not in text
    arm.reset(ContractData("shop", 1, text, "INSERT INTO person VALUES (1, NULL);", ""))
    assert arm.query("SELECT many(), (SELECT count(*) FROM shop.item)") == [(1, 0)]


@pytest.mark.live
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("fairground_none", ""), 'database "fairground_none" does not exist'),
        (("", "?service=mine"), "`--database` says `service`"),
    ],
)
def test_a_database_that_cannot_be_read_is_one_sentence(
    database: Database, keeper: Keeper, tmp_path: Path, change: tuple[str, str], words: str
) -> None:
    """In the words of who refuses it, without the password."""
    with pytest.raises(LabError) as caught:
        dump_schema(keeper, database.admin.url(change[0] or "postgres") + change[1], tmp_path)
    assert words in caught.value.message and database.admin.password not in caught.value.message


@pytest.mark.live
def test_what_is_no_url_is_said(keeper: Keeper, tmp_path: Path) -> None:
    """Without a piece of it, which may be the password."""
    with pytest.raises(LabError, match="^`--database` is not a connection URL$"):
        dump_schema(keeper, "postgresql:/secret word", tmp_path)


def test_every_word_of_a_url_is_one_of_libpq() -> None:
    """None of them is misspelt: libpq knows each."""
    from fairground.postgres.schema_dump import VARIABLES

    known = {one.keyword.decode(): (one.envvar or b"").decode() for one in psycopg.pq.Conninfo.get_defaults()}
    assert {name: known[name] for name in VARIABLES} == dict(VARIABLES)
