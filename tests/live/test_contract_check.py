"""`check --contract` on the embedded database: right contracts pass, and each kind of mistake is told where it stands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.orchard import make_orchard
from builders.paths import ROOT
from fairground.lab import contract_check
from fairground.lab.contract_check import ContractChecked
from fairground.lab.places import Places
from fairground.postgres import Database, databases

Spoiled = tuple[tuple[str, str, str], ...]
ARM = 91
MANY: Spoiled = (
    ("workloads/trees.toml", 'path = "$trees?id', 'path = "$tree?id'),
    ("workloads/pick.toml", "FROM basket WHERE tree", "FROM baskets WHERE tree"),
    ("workloads/pick.toml", 'equals = "before + acknowledged"', 'equals = "7"'),
    ("workloads/pick.toml", "functions = { pick", "functions = { plant"),
    ("workloads/pick.toml", '"SELECT pick($1)"', '"SELECT pick($1)", "DELETE FROM basket WHERE id = $1"'),
    ("all.sql", "FROM tree", "FROM trees"),
    ("cases/one.toml", "SELECT count(*) FROM tree\" }", "SELECT sum(apples) FROM tree WHERE id > 99\" }"),
    ("cases/one.toml", "(:answer->>'apples')::int > 0", "(:answer->>'apples')::int > 0 +"),
    ("cases/one.toml", "WHERE id = 1", "WHERE id = 0"),
)  # fmt: skip
TOLD = (
    ("unknown `$tree`", "trees.toml", 8),
    ("relation \"baskets\" does not exist", "pick.toml", 19),
    ("is 1 on fresh data, and should be 7", "pick.toml", 23),
    ("names no function", "pick.toml", 16),
    ("may not run `audit.statements[1]` (permission denied for table basket)", "pick.toml", 15),
    ("relation \"trees\" does not exist", "all.sql", 3),
    ("no server could pass case `number`", "one.toml", 18),
    ("the database refuses `case[2].steps[1].expect.holds`", "one.toml", 31),
    ("selects no row that could be locked", "one.toml", 2),
)  # fmt: skip


@pytest.fixture
def places(tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch) -> Places:
    """A project's folder beside the lab's; the session's database stands for one that is started."""

    @contextmanager
    def running(*_: Any) -> Iterator[Database]:
        yield database.arm(ARM)

    monkeypatch.setattr(databases, "open_database", running)
    return Places(ROOT, tmp_path / "servers", tmp_path / "results", tmp_path / "cache")


def told(places: Places, tmp_path: Path, *spoiled: tuple[str, str, str]) -> ContractChecked:
    """What is found in an orchard with these texts spoiled."""
    make_orchard(tmp_path / "contracts", spoiled)
    return contract_check.check_contract(places, "orchard")


@pytest.mark.live
@pytest.mark.parametrize(("name", "least"), [("seeds", 30), ("techempower", 30), ("todo", 20)])
def test_what_ships_is_right(places: Places, name: str, least: int) -> None:
    """Of each contract that ships, and of the example's, every statement is right."""
    found = contract_check.check_contract(replace(places, servers=ROOT / "examples" / "todo" / "servers"), name)
    assert found.wrong == () and found.right > least


@pytest.mark.live
@pytest.mark.parametrize(("asked", "wrong"), [("$trees", []), ("$treees", ["unknown `$treees` in a request of"])])
def test_a_name_in_a_disturbance_stands_for_something(places: Places, tmp_path: Path, asked: str, wrong: list[str]) -> None:
    """It would be sent as it is written, and no server could pass a procedure."""
    ask = '[disturbance.ask]\nrequest = "GET {}"'
    found = told(places, tmp_path, ("cases/one.toml", ask.format("$trees"), ask.format(asked)))
    assert len(found.wrong) == len(wrong)
    assert all(said in one.message for said, one in zip(wrong, found.wrong, strict=True))


@pytest.mark.live
@pytest.mark.parametrize(("column", "wrong"), [("number", 0), ("age", 0), ("numbre", 1)])
def test_a_column_that_no_table_has_is_told(places: Places, tmp_path: Path, column: str, wrong: int) -> None:
    """Columns of a statement and those that are kept of an answer are there; the table that asks may stand before the one it asks for."""
    tables = (
        '[data.ages]\nfor_each = "people"\nrequest = { method = "GET", path = "/" }\nkeep = { age = "age" }\n'
        '[data.people]\nsql = "SELECT id AS number FROM tree"\n[numbers]'
    )
    asked = ("workloads/pick.toml", "/pick?tree={int:1..$rows}", f"/pick?tree={{tree=ages.{column}}}")
    found = [one.message for one in told(places, tmp_path, ("contract.toml", "[numbers]", tables), asked).wrong]
    assert len(found) == wrong and all("the table `ages` has no column `numbre` for `request.path` of" in one for one in found)


@pytest.mark.live
def test_a_request_that_fills_a_table_names_columns_that_are_there(places: Places, tmp_path: Path) -> None:
    """Those of a statement only the database knows."""
    tables = (
        '[data.ages]\nfor_each = "people"\nrequest = { method = "GET", path = "/{people.numbre}" }\nkeep = { age = "age" }\n'
        '[data.people]\nsql = "SELECT id AS number FROM tree"\n[numbers]'
    )
    (found,) = told(places, tmp_path, ("contract.toml", "[numbers]", tables)).wrong
    assert found.message.startswith("`data.people` has no `numbre` for `data.ages.request` of") and "`number`" in str(found.hint)


@pytest.mark.live
@pytest.mark.parametrize(("column", "wrong"), [("number", 0), ("numbre", 3)])
def test_statements_around_a_case_are_of_its_row(places: Places, tmp_path: Path, column: str, wrong: int) -> None:
    """They are prepared where they name a column of the row, whose value only a trial has."""
    table = '[data.people]\nsql = "SELECT id AS number FROM tree"\n[numbers]'
    own = f"WHERE id = :{column}"
    around = f'request = "GET $trees?id={{people.number}}"\nbefore = "DELETE FROM basket {own}"\nafter = "DELETE FROM tree {own}"'
    number = f'[case.database]\n"SELECT count(*) FROM tree {own}" = 0'
    case = f"[[case]]\nid = 'own'\ntitle = 'its own'\n{around}\n{number}\n\n"
    spoiled = (
        ("contract.toml", "[numbers]", table),
        ("cases/one.toml", '[[case]]\nid = "every"', f'{case}[[case]]\nid = "every"'),
    )
    found = [one.message for one in told(places, tmp_path, *spoiled).wrong]
    assert len(found) == wrong and all('syntax error at or near ":"' in one for one in found), found


@pytest.mark.live
@pytest.mark.parametrize(
    ("columns", "words"),
    [("id, apples AS id", "has two columns `id`"), ("id, apples + 1", "a column `?column?`, which no slot can name")],
)
def test_columns_have_names_of_their_own(places: Places, tmp_path: Path, columns: str, words: str) -> None:
    """The engine draws from no others, and each trial would be void."""
    table = f'[data.some]\nsql = "SELECT {columns} FROM tree"\n[numbers]'
    (found,) = told(places, tmp_path, ("contract.toml", "[numbers]", table)).wrong
    assert found.message.startswith("`data.some` has") and words in found.message, found.message


@pytest.mark.live
def test_each_mistake_is_told(places: Places, tmp_path: Path) -> None:
    """A contract without a mistake passes; of many mistakes each is told, with its file and its line, and no other."""
    assert told(places, tmp_path).wrong == ()
    found = [one.message for one in told(places, tmp_path, *MANY).wrong]
    for words, file, line in TOLD:
        assert any(words in one and f"{file}`, line {line}" in one for one in found), (words, file, line, *found)
    assert len(found) == len(TOLD), found


@pytest.mark.live
def test_a_function_may_be_in_any_schema(places: Places, tmp_path: Path) -> None:
    """Its calls are counted wherever it is."""
    moved = (
        ("schema.sql", "CREATE FUNCTION pick(", "CREATE SCHEMA yard;\nCREATE FUNCTION yard.pick("),
        ("rights.sql", "ON FUNCTION pick FROM PUBLIC", "ON FUNCTION yard.pick FROM PUBLIC"),
        ("rights.sql", "ON FUNCTION pick TO", "ON FUNCTION yard.pick TO"),
        ("rights.sql", "GRANT USAGE ON SCHEMA public", "GRANT USAGE ON SCHEMA yard, public"),
        ("workloads/pick.toml", '"SELECT pick($1)"', '"SELECT yard.pick($1)"'),
    )
    assert told(places, tmp_path, *moved).wrong == ()


@pytest.mark.live
def test_a_policy_may_read_what_a_server_sets_first(places: Places, tmp_path: Path) -> None:
    """A statement that is planned with such a setting alone is not tried, and is no mistake."""
    policy = "ALTER TABLE tree ENABLE ROW LEVEL SECURITY;\nCREATE POLICY own ON tree USING (apples = current_setting('app.tenant')::int);\n"
    found = told(places, tmp_path, ("rights.sql", "GRANT USAGE", f"{policy}GRANT USAGE"))
    assert found.wrong == ()
    assert found.untried == (
        "`audit.statements[0]` in `orchard/workloads/trees.toml` cannot be planned by itself"
        ' (unrecognized configuration parameter "app.tenant"): not tried',
    )


@pytest.mark.live
def test_right_answers_are_what_the_database_says(places: Places, tmp_path: Path) -> None:
    """Numbers and texts of any type are held as its own texts or as JSON, and what is neither is one mistake each."""

    def case(id: str, body: str) -> str:
        return f"[[case]]\nid='{id}'\ntitle='t'\nrequest='GET $trees'\nexpect={{ {body} }}\n\n"

    right = [
        ("average", "body.json.sql='SELECT avg(apples) FROM tree'"),
        ("money", "body.json.sql='SELECT to_json(10.00::numeric)'"),
        ("row", "body.sql='SELECT row_to_json(tree) FROM tree ORDER BY id;', matches='^.\"id\":1,\"apples\":1.$'"),
        ("truth", "body.sql='SELECT count(*) > 9, 1 FROM tree -- many', matches='^true$'"),
        ("page", "body.html.sql='SELECT apples > 0 FROM tree', matches='^true$'"),
    ]
    wrong = [
        ("moment", "body.json.sql='SELECT now()'", "`SELECT now()` gives no JSON, but a value of the kind `datetime`"),
        ("key", "body.json.sql='SELECT gen_random_uuid()'", "gives no JSON, but a value of the kind `uuid`"),
    ]
    texts = "".join(case(*one) for one in (*right, *((id, body) for id, body, _ in wrong)))
    found = told(places, tmp_path, ("cases/one.toml", '[[case]]\nid = "every"', f'{texts}[[case]]\nid = "every"')).wrong
    assert len(found) == len(wrong), [one.message for one in found]
    for (id, _, words), one in zip(wrong, found, strict=True):
        assert f"no server could pass case `{id}`" in one.message and words.replace("`", "'") in one.message, one.message


@pytest.mark.live
@pytest.mark.parametrize(
    ("spoiled", "words"),
    [
        (("schema.sql", "apples integer", "apples integr"), 'schema.sql`, line 1: type "integr" does not exist'),
        (("seed.sql", "VALUES (1)", "VALUES (1 / 0)"), "seed.sql`, line 3: division by zero"),
        (("seed.sql", "SELECT i, i FROM", "SELECT 7, i FROM"), "seed.sql`, line 2: duplicate key"),
        (("rights.sql", "GRANT SELECT ON tree", "GRANT SELECT ON three"), 'rights.sql`, line 3: relation "three"'),
        (("workloads/trees.toml", "SELECT apples FROM tree WHERE id = 1;", "\\\\sit x 1"), "pgbench refuses `limit`"),
        (("workloads/trees.toml", "SELECT id, apples FROM", "SELECT id FROM"), "gives 1 columns, and needs two"),
        (
            ("workloads/trees.toml", "SELECT id, apples FROM", "SELECT id, now() FROM"),
            "gives no JSON, but a value of the kind `datetime`",
        ),
        (("workloads/trees.toml", "tables = { tree", "tables = { twig"), "names no table"),
        (("workloads/trees.toml", "{ scans = 1 }", "{ scans = 1, also = ['Twig'] }"), "Twig` names no table"),
        (("cases/one.toml", 'matches = "^[0-9]+$"', 'matches = "^x"'), "the right body does not match"),
        (("cases/one.toml", 'matches = "^[0-9]+$"', 'status = 422, matches = "^x"'), "the right body does not match"),
        (("cases/one.toml", 'workloads = ["pick"]', 'workloads = ["prick"]'), "there is no workload `prick`"),
        (("cases/one.toml", "AND :tree <> ''\"", "AND :twig <> ''\""), "syntax error at or near"),
        (("cases/one.toml", "SELECT (:answer", "SELECT 'f'::text --"), "always counts as true"),
        (("cases/one.toml", '"SELECT count(*) FROM basket" = 1', '"SELECT id FROM tree" = 1'), "no single number"),
        (("contract.toml", "rows = 40", "rows = 40 40"), "is not TOML"),
        (
            ("contract.toml", "[numbers]", "[data.a]\nsql = 'SELECT NULL AS b'\n[numbers]"),
            "`data.a.sql` gives NULL, which no request can have",
        ),
    ],
)
def test_a_mistake_of_each_kind(places: Places, tmp_path: Path, spoiled: tuple[str, str, str], words: str) -> None:
    """One mistake is told as one, in its own words."""
    found = [one.message for one in told(places, tmp_path, spoiled).wrong]
    assert len(found) == 1 and words in found[0], found
