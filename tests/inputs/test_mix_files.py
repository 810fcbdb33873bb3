"""Workloads of several requests: what is read of them, and each sentence about a mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders.mix import CONTRACT, DAY, contract_at, day_at
from fairground.model import Edge, LabError, LedgerEntry, LoadRequest
from fairground.model.slot import has_slot, is_number, names_of, sources_of


def test_a_mix_is_read(tmp_path: Path) -> None:
    """Each request has its weight, its right answer, its needs and what it keeps; tables stand in the order of their need."""
    day = day_at(tmp_path)
    page, create, remove = day.requests
    assert day.is_mix and [(one.name, one.weight) for one in day.requests] == [("page", 6), ("create", 2), ("remove", 1)]
    assert page.edges == (Edge("no-token", 0.01, {}, (401,), {"authorization": "Bearer nobody"}),)
    assert create.ledger == (LedgerEntry("lists", "sessions.person", "1"),) and create.keep == {"id": "id"}
    assert [one.expect.content_type for one in day.requests] == ["application/json", "application/json", None]
    assert (page.writes, create.writes, remove.writes) == (False, True, True)
    assert list(day.data) == ["people", "sessions"] and day.uses_database
    assert day.audit.written is not None and day.audit.written.of == "create"


ERRORS = """
[errors]
content_type = "application/problem+json"
body = { json = { title = "text" } }
headers.409 = { Allow = "GET" }
"""


@pytest.mark.parametrize(
    ("method", "expect", "kind", "body", "headers"),
    [
        ("POST", "status = 409", "application/problem+json", {"json": {"title": "text"}}, {"allow": {"equals": "GET"}}),
        ("POST", "status = 410", "application/problem+json", {"json": {"title": "text"}}, {}),
        ("HEAD", "status = 410", "application/problem+json", None, {}),
        ("POST", "status = 409, content_type = 'a/b', body = { exact = '' }, headers = { ALLOW = 'text' }", "a/b", {"exact": ""}, {"allow": "text"}),
        ("POST", "status = 201", "application/json", None, {}),
    ],
)  # fmt: skip
def test_an_error_that_is_right_is_held_to_the_rules_of_errors(
    method: str, expect: str, kind: str, body: object, headers: object, tmp_path: Path
) -> None:
    """As at an edge and in a case: those of good answers are for good answers alone, and what the request says goes before both."""
    contract = CONTRACT.replace('[errors]\ncontent_type = "application/json"\n', ERRORS)
    again = f'[[request]]\nname = "again"\nweight = 1\nmethod = "{method}"\npath = "/a"\nexpect = {{ {expect} }}\n\n[audit]\n'
    found = day_at(tmp_path, DAY.replace("[audit]\n", again, 1), contract).request("again").expect
    assert (found.content_type, found.body, found.headers) == (kind, body, headers)


@pytest.mark.parametrize(
    ("ways", "writes", "at_times"),
    [
        ("inserted = 0.5, updated = 0.5", True, False), ("inserted = 0.4, updated = 0.5", False, True),
        ("inserted = 0.5, deleted = 0.5", False, True), ("deleted = 1", True, False), ("scans = 1", False, False),
    ],
)  # fmt: skip
def test_an_upsert_writes_each_time(ways: str, writes: bool, at_times: bool, tmp_path: Path) -> None:
    """It inserts its row or updates it, and what is below 1 altogether writes nothing at times."""
    text = 'title = "A"\nwhy = "B."\n[request]\nmethod = "POST"\npath = "/"\n[expect]\nstatus = 200\n'
    audit = f"[audit]\nwrites = true\nrows_per_answer = 0\ncommits_per_answer = 0\ntables = {{ seen = {{ {ways} }} }}\n"
    found = day_at(tmp_path, text + audit).first
    assert (found.writes, found.writes_at_times) == (writes, at_times)


def test_cells_of_a_table_draw_no_number_whatever_its_name() -> None:
    """A ledger cannot sum a cell of `seqs`, which begins as what draws a number does."""
    asked = LoadRequest("x", "GET", "/x?id={seqs.id}&n={seq}&m={int:1..9}")
    assert [is_number(asked, name) for name in ("seqs.id", "n", "m")] == [False, True, True]


def test_names_of_slots(tmp_path: Path) -> None:
    """Rules name what is drawn, and every column of a table that is drawn from; a kept value is one of another request."""
    page, create, remove = day_at(tmp_path).requests
    assert names_of(page) == ("page", "sessions.token") and names_of(create) == ("title", "sessions.token")
    assert has_slot(create, "sessions.person") and not has_slot(create, "people.person") and not has_slot(create, "colour")
    assert sources_of(remove) == {"create", "sessions"}


def test_any_name_of_a_table_is_one(tmp_path: Path) -> None:
    """PostgreSQL takes every name within quotes."""
    day = day_at(tmp_path, DAY.replace("entries = { inserted = 1 }", '"User entry" = { inserted = 1 }'))
    assert list(day.request("create").need.tables) == ["User entry"]


def test_names_are_filled_in_everywhere(tmp_path: Path) -> None:
    """Paths of a server and numbers of the data reach each request and each table."""
    day = day_at(tmp_path).fill({"entries": "/api/list", "people": 3})
    assert [one.path for one in day.requests] == ["/api/list?page={int:1..2}", "/api/list", "/api/list/{create.id:once}"]
    assert day.data["people"].sql.endswith("LIMIT 3")
    written = CONTRACT.replace(
        'sql = "SELECT person, email FROM people LIMIT $people"', 'rows = [{ person = "$people", email = "a$people" }]'
    )
    assert day_at(tmp_path, contract=written).fill({"people": 3}).data["people"].rows == ({"person": 3, "email": "a3"},)


REMOVED = "expect = { status = 204 }\nneeds = { commits_per_answer = 2, tables = { entries = { scans = 1, deleted = 1 } } }"
REFUSED = f'{REMOVED}\n[[request.ledger]]\nname = "lists"\naccount = "sessions.person"\nadd = "-1"\n'
MISTAKES = [
    ('name = "create"', 'name = "page"', "`page` is not a name of its own for a request in"),
    ("weight = 6", "weight = 0", "`request[0].weight` is below 1 in"),
    ('path = "$entries?page', 'path = "entries?page', "`request[0].path` is `entries?page={int:1..2}` in"),
    ('path = "$entries"', 'path = "$entry"', "unknown `$entry` in `request[1].path` of"),
    ('{ slot = "title" }', '{ slot = "colour" }', "the request has no slot `colour` for `request[1].expect.body.json.title` of"),
    ('account = "sessions.person"', 'account = "person"', "the request has no slot `person` for `request[1].ledger` of"),
    ('account = "sessions.person"\nadd = "-1"', 'account = "create.id"\nadd = "-1"', "`create.id` is kept of an answer, and no account for"),
    ('add = "1"', 'add = "title"', "the slot `title` holds words and cannot be added, in"),
    ('add = "1"', 'add = "-sessions.person"', "the slot `sessions.person` holds words and cannot be added, in"),
    ("[audit.written]", '[audit.history]\nof = "create"\nslots = ["title"]\nsql = ""\n[audit.written]', "`title` of `audit.history` holds words"),
    ("{choice:milk|bread}", "{file:titles}", "`{file:titles}` is no slot, in `request[1].body` of"),
    ("{create.id:once}", "{create.key:once}", "the request `create` keeps no `key` for `request[2].path` of"),
    ("{create.id:once}", "{made.id}", "nothing is called `made` for a slot of `request[2].path` of"),
    ('body = \'{{"title":"{choice:milk|bread}"}\'', 'body = \'{{"title":"{title=create.id}"}\'', "`create` names what `create` keeps, in"),
    ("entries = { inserted = 1 }", "\"\" = { inserted = 1 }", "`` is not a valid name for `request[1].needs.tables` of"),
    ("commits_per_answer = 2", "commits_per_answer = 2, statements_per_answer = 0", "`request[2].needs.statements_per_answer` is not"),
    ('headers = { authorization = "Bearer nobody" }', 'headers = { cookie = "x" }', "the request has no header `cookie` for"),
    ('headers = { authorization = "Bearer nobody" }', 'values = { "sessions.token" = "{word}" }', "`{word}` is no slot, in `request[0].edge[0].values` of"),
    ('{ authorization = "Bearer nobody" }', '{ authorization = "$nobody" }', "unknown `$nobody` in `request[0].edge[0].headers.authorization`"),
    ('total = "integer"', 'total = { equals = "$poeple" }', "unknown `$poeple` in `request[0].expect.body.json.total.equals` of"),
    ('total = "integer"', 'total = { list = { length = "$entries" } }', "`request[0].expect.body` is unclear (`length` of `total` in"),
    ("expect = { status = 204 }", "expect = { status = 404 }", "`request[2].needs.commits_per_answer` is said of a request whose right answer is an error, and would not be held, in"),
    (REMOVED, "expect = { status = 404 }", "`request[2].ledger` is said of a request whose right answer is an error, and would not be held, in"),
    (REFUSED, "expect = { status = 404 }\n", "right answers to `remove` are errors, which `good.remove` would not count, in `audit.invariants[0].equals` of"),
    ("good.create -", "good.made -", "there is no request for `good.made` in `audit.invariants[0].equals` of"),
    ('of = "create"', 'of = "make"', "there is no request `make` for `audit.written.of` of"),
    ('of = "create"', "", "a mix needs `audit.written.of` of"),
    ('of = "create"', 'of = "remove"', "`audit.written.of` names what `create` keeps, in"),
]  # fmt: skip


@pytest.mark.parametrize(("right", "wrong", "said"), MISTAKES)
def test_a_mistake_is_told(right: str, wrong: str, said: str, tmp_path: Path) -> None:
    """Each is one sentence with the file and its line."""
    assert right in DAY
    with pytest.raises(LabError) as error:
        day_at(tmp_path, DAY.replace(right, wrong, 1))
    assert said in error.value.message and "day.toml`, line " in error.value.message and error.value.hint


def test_no_writes_are_looked_for_behind_errors(tmp_path: Path) -> None:
    """A request whose right answer is an error writes nothing."""
    text = DAY.replace(REFUSED, "expect = { status = 404 }\n").replace('of = "create"', 'of = "remove"')
    with pytest.raises(
        LabError, match=r"right answers to `remove` are errors, and write nothing for `audit\.written` of"
    ) as error:
        day_at(tmp_path, text)
    assert "day.toml`, line " in error.value.message and error.value.hint == "known requests: create, page"


TABLES = [
    (
        'sql = "SELECT person, email FROM people LIMIT $people"',
        'rows = [{ person = 1, email = "a" }, { person = 2 }]',
        "`data.people.rows[1]` has other columns in",
    ),
    ('sql = "SELECT', 'rows = [{ person = 1, email = "a" }]\nsql = "SELECT', "`data.people` is unclear in"),
    ('default = "day"', 'default = "day"\nbacklog = 0', "`backlog` is 0 in"),
    ('sql = "SELECT person, email FROM people LIMIT $people"', "", "`data.people` is unclear in"),
    ("LIMIT $people", "LIMIT $persons", "unknown `$persons` in `data.people.sql` of"),
    ('for_each = "people"', 'for_each = "persons"', "there is no table `persons` for `data.sessions.for_each` of"),
    ('keep = { token = "token" }', "", "`data.sessions.keep` is missing in"),
    (
        'keep = { token = "token" }',
        'keep = { token = "token?" }',
        "`token?` may be missing, and each row needs it, for `data.sessions",
    ),
    ('path = "/login"', 'path = "login"', "`data.sessions.request.path` is `login` in"),
    (
        'sql = "SELECT person, email FROM people LIMIT $people"',
        'rows = [{ person = "$persons", email = "a" }]',
        "unknown `$persons` in `data.people.rows[0].person` of",
    ),
    (
        'sql = "SELECT person, email FROM people LIMIT $people"',
        'rows = [{ token = 1, email = "a" }]',
        "`data.sessions` has two columns `token`, in",
    ),
    ('keep = { token = "token" }', 'keep = { "the token" = "token" }', "`data.sessions` has a column `the token`, which no slot"),
    ("{people.email}", "{people.email:once}", "`{people.email:once}` in `data.sessions.request.body` is no cell of `people` in"),
    ("{people.email}", "{people}", "`{people}` in `data.sessions.request.body` is no cell of `people` in"),
    ('path = "/login"', 'path = "/login/{int:1..9}"', "`{int:1..9}` in `data.sessions.request.path` is no cell of `people` in"),
    (
        'content-type = "application/json"',
        'x = "{sessions.token}"',
        "`{sessions.token}` in `data.sessions.request.headers.x` is no",
    ),
    ("[data.people]", "[data.People]", "`People` is not a valid name for a table of"),
]


@pytest.mark.parametrize(("right", "wrong", "said"), TABLES)
def test_a_mistake_in_a_table_is_told(right: str, wrong: str, said: str, tmp_path: Path) -> None:
    """A table has a statement, or asks the server for each row of one that has."""
    assert right in CONTRACT
    with pytest.raises(LabError) as error:
        contract_at(tmp_path, CONTRACT.replace(right, wrong, 1))
    assert said in error.value.message and "contract.toml`" in error.value.message


def test_the_request_of_a_table_names_cells_that_are_there(tmp_path: Path) -> None:
    """Columns that are written down are known, and braces of JSON are no slots."""
    written = CONTRACT.replace('sql = "SELECT person, email FROM people LIMIT $people"', 'rows = [{ person = 1, email = "a" }]')
    contract_at(tmp_path, written.replace('\'{{"email":"{people.email}"}\'', '\'{"a":{"email":"{people.email}"}}\''))
    with pytest.raises(LabError, match=r"`\{people.emial\}` in `data.sessions.request.body` is no cell of `people` in") as error:
        contract_at(tmp_path, written.replace("{people.email}", "{people.emial}"))
    assert error.value.hint == "write {people.person}, {people.email}; a brace is `{{`"


@pytest.mark.parametrize(("commits", "said"), [(0, None), (1, "`audit.commits_per_answer` is said of a request whose")])
def test_an_audit_of_an_error_needs_nothing(commits: int, said: str | None, tmp_path: Path) -> None:
    """Its keys must be there, and are 0: what is refused needs nothing."""
    text = 'title = "A"\nwhy = "B."\n[request]\nmethod = "GET"\npath = "/"\n[expect]\nstatus = 404\n'
    text += f"[audit]\nwrites = false\nrows_per_answer = 0\ncommits_per_answer = {commits}\n"
    if said is None:
        assert day_at(tmp_path, text).first.expect.status == 404
        return
    with pytest.raises(LabError, match=said):
        day_at(tmp_path, text)


def test_one_request_may_be_written_without_an_audit(tmp_path: Path) -> None:
    """Nothing is then held in the database, and what it needs is not declared."""
    text = 'title = "A"\nwhy = "B."\n[request]\nmethod = "GET"\npath = "/"\n[expect]\nstatus = 200\n'
    found = day_at(tmp_path, text)
    assert found.first.needs is None and not found.audit.writes and not found.is_mix and found.first.name == "day"
