"""What the lab's own requests ask for while a server is loaded."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

import psycopg
import pytest

from builders import waiting
from builders.cluster import SCALE
from builders.contracts import SEEDS
from builders.facts import result
from builders.requests import asking
from fairground.contract import expected
from fairground.generators.slots import Templates
from fairground.host import free_port
from fairground.inputs import workload_files
from fairground.judge.written import Probe, findings
from fairground.measure import prober
from fairground.model import LoadRequest, Workload, Written, data
from fairground.model.contract import AnswerRules
from fairground.model.slot import names_of
from fairground.postgres import Database

PROBED = [one for one in workload_files.load_workloads(SEEDS) if one.audit.writes]


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test's prober asks without long pauses."""
    monkeypatch.setattr(prober, "EVERY_S", 0.01)


class Zero(random.Random):
    """Chance that gives 0 wherever it may, and else what it gives another time."""

    def randint(self, a: int, b: int) -> int:
        return 0 if a <= 0 <= b else super().randint(a, b)


def test_a_probe_moves_something() -> None:
    """A write of nothing would be taken for one that never came: no slot is 0, even where its range holds it."""
    assert {"tx", "transfer", "transfer-ordered"} <= {workload.id for workload in PROBED}
    for workload in PROBED:
        rendered = workload_files.render(workload, 1)
        templates = Templates.of(rendered.first)
        values = prober.draw_values(templates, Zero(), {})
        slots = prober.held_in(templates, values)
        assert set(slots) == set(names_of(rendered.first)) and "0" not in slots.values()
        assert not {"{", "}"} & set(prober.render("GET", templates, values, True).target)


def held(path: str, seed: int) -> dict[str, int]:
    """The numbers that a probe of this path holds."""
    templates = Templates.of(LoadRequest("x", "GET", path))
    drawn = prober.held_in(templates, prober.draw_values(templates, random.Random(seed), {}))
    return {name: int(value) for name, value in drawn.items()}


def test_a_probe_stays_within_the_loads_ranges() -> None:
    """Both ends of a range are drawn, and nothing beyond."""
    found = {held("/x?a={int:1..3}&b={int:-2..0}", seed)["b"] for seed in range(100)}
    assert found == {-2, -1}


def test_a_probe_names_two_where_the_load_does() -> None:
    """A slot that must differ from another does, and has both ends of its range all the same."""
    found = [held("/x?from={int:1..3}&to={int:1..3!=from}", seed) for seed in range(100)]
    assert all(set(one) == {"from", "to"} and one["from"] != one["to"] for one in found)
    assert {one["to"] for one in found} == {1, 2, 3}


def test_a_probe_names_the_smaller_one_first_where_the_load_does() -> None:
    """Both lie within their range, and each value that can be is drawn."""
    found = [held("/x?from={low:1..3}&to={high:1..3}&amount={int:1..9}", seed) for seed in range(100)]
    assert {(one["from"], one["to"]) for one in found} == {(1, 2), (1, 3), (2, 3)}


def test_a_probes_own_rows() -> None:
    """On transfers they are two users beyond the load's, no two alike, in rising order where the load's are."""
    found = {}
    for workload in PROBED:
        assert workload.audit.written is not None
        if (own := workload.audit.written.own) is not None:
            found[workload.id] = [prober.draw_own_rows(own, workload.first.path, random.Random(seed)) for seed in range(50)]
    assert set(found) == {"transfer", "transfer-ordered"}
    for drawn in found.values():
        assert all(set(one) == {"from", "to"} and 100 < min(one.values()) < max(one.values()) for one in drawn)
    assert all(one["from"] < one["to"] for one in found["transfer-ordered"])
    assert {one["from"] < one["to"] for one in found["transfer"]} == {True, False}


def test_a_cell_is_looked_for_as_it_stands_in_its_table() -> None:
    """A path and a form have it percent-encoded. Statements and ledgers have it as it is, by its own name where it has one."""
    tables = {"t": data.Rows(("c", "n"), (("a b+c", 7),))}
    form = (("content-type", "application/x-www-form-urlencoded"),)
    templates = Templates.of(LoadRequest("x", "POST", "/x?a={who=t.c}&b={int:5..5}", form, "c={t.c}"), tables)
    values = prober.draw_values(templates, random.Random(1), {})
    sent = prober.render("POST", templates, values, True)
    assert (sent.target, sent.body) == ("/x?a=a%20b%2Bc&b=5", b"c=a%20b%2Bc")
    assert prober.held_in(templates, values) == {"who": "a b+c", "b": "5", "t.c": "a b+c", "t.n": "7"}


class Rows:
    """A database that notes what it is asked and with which values, and answers 5 to all of it."""

    def __init__(self) -> None:
        self.asked: list[tuple[bytes, Any]] = []

    def connect(self) -> Rows:
        return self

    def __enter__(self) -> Rows:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def close(self) -> None:
        return None

    def execute(self, statement: bytes, values: Any = None) -> Rows:
        self.asked.append((statement, values))
        return self

    def fetchone(self) -> tuple[int]:
        return (5,)


def test_a_probe_names_its_own_rows_and_looks_at_one() -> None:
    """Both are made before the first probe; each probe moves something between them, and looks at the one that is debited."""
    (workload,) = (one for one in PROBED if one.id == "transfer")
    rows = Rows()
    slots = probed(workload, free_port(), rows).slots
    made = [values["it"] for statement, values in rows.asked[:2] if statement.startswith(b"INSERT") and values]
    assert [slots["from"], slots["to"]] == made and 1 <= int(slots["amount"]) <= 10
    assert [values for statement, values in rows.asked if statement.startswith(b"SELECT credits")][:1] == [{"it": slots["from"]}]


class Asked(Rows):
    """A database without the table that the workload looks at."""

    def execute(self, statement: bytes, values: Any = None) -> Rows:
        if b"todos" in statement:
            raise psycopg.errors.UndefinedTable
        return super().execute(statement, values)


def probes(looking: Workload, port: int, database: object, least: int = 1) -> list[Probe]:
    """The probes of a server on this port, this many or more."""
    probing = prober.Prober(looking, ("127.0.0.1", port), cast(Database, database), lambda: True, True)
    assert waiting.eventually(lambda: len(probing.probes) >= least)
    probing.stop()
    return probing.probes


def probed(looking: Workload, port: int, database: object) -> Probe:
    """The first probe of a server on this port."""
    return probes(looking, port, database)[0]


def todos(statement: str) -> Workload:
    """A workload that writes a title, which is found by this statement."""
    (workload,) = (one for one in PROBED if one.id == "tx")
    written = Written(slot="title", sql=statement)
    return replace(asking(workload, method="GET", path="/todos?title={seq}"), audit=replace(workload.audit, written=written))


def test_a_look_that_is_refused_before_the_request_is_told() -> None:
    """The server is asked all the same, so that its acknowledged write counts as one that could not be looked for."""
    with answering(b"{}") as port:
        found = probed(todos("SELECT count(*) FROM todos WHERE title = %s"), port, Asked())
    assert (found.acknowledged, found.looked) == (True, False)
    (told,) = findings([found], prober.PATIENCE_S, result())
    assert told.id == "writes-not-looked-for"


def test_a_connection_that_is_over_is_opened_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server of HTTP/1.0 closes after each answer and need not say so: it acknowledges each probe all the same."""
    monkeypatch.setattr(prober, "PATIENCE_S", 0.05)
    with answering(b"{}", "HTTP/1.0") as port:
        found = probes(todos("SELECT count(*) FROM todos WHERE title = %s"), port, Rows(), 2)
    assert [one.acknowledged for one in found[:2]] == [True, True]


def test_a_statement_names_its_value_as_often_as_it_likes() -> None:
    """Each `%s` is the one value, and any other `%` is itself, doubled or not: `check` prepares what the lab asks."""
    statement = "SELECT 1 WHERE id = %s AND id % 2 < 5 %% 3 AND %s <> '' AND title LIKE '%%s'"
    asked = ("id = %(it)s AND id %% 2 < 5 %% 3 AND %(it)s <> ''", "id = $1 AND id % 2 < 5 % 3 AND $1 <> ''")
    assert expected.place_value(statement, "%(it)s", "%%") == f"SELECT 1 WHERE {asked[0]} AND title LIKE '%%s'"
    assert expected.place_value(statement, "$1", "%") == f"SELECT 1 WHERE {asked[1]} AND title LIKE '%s'"


@pytest.mark.live
@pytest.mark.parametrize("more", ["", " AND length(title) % 2 < 2 AND 3 %% 2 = 1 AND %s <> ''"])
def test_a_number_in_a_column_of_texts_is_looked_for(database: Database, monkeypatch: pytest.MonkeyPatch, more: str) -> None:
    """A title that is a number is compared with texts: a server that acknowledges before it writes is found."""
    monkeypatch.setattr(prober, "PATIENCE_S", 0.3)
    database.reset(SEEDS.data(SCALE))
    with database.connect() as connection:
        connection.execute("CREATE TABLE todos (title text)")
    with answering(b"{}") as port:
        found = probed(todos(f"SELECT count(*) FROM todos WHERE title = %s{more}"), port, database)
    assert (found.acknowledged, found.looked, found.late_ms) == (True, True, None)


class Ledger(Rows):
    """A database that says whether it has what an answer says: `there`, from the second look on."""

    def __init__(self, there: bool) -> None:
        super().__init__()
        self._there, self._looks = there, 0

    def fetchall(self) -> list[tuple[bool]]:
        self._looks += 1
        return [(self._there and self._looks > 1,)]


@contextmanager
def answering(body: bytes, version: str = "HTTP/1.1") -> Iterator[int]:
    """A server on loopback that gives this JSON to whatever it is asked: its port."""

    class Always(BaseHTTPRequestHandler):
        protocol_version = version

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Always) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()


@pytest.mark.parametrize("there", [True, False])
def test_what_an_answer_says_is_looked_for(there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The statement gets the answer, keys in lower case, until it is true: what comes late is late, and what never comes is lost."""
    if not there:
        monkeypatch.setattr(prober, "PATIENCE_S", 0.3)
    (workload,) = (one for one in PROBED if one.id == "tx")
    written = replace(workload.audit, written=Written(holds="SELECT :answer->>'colour' = 'red'"))
    painting = replace(asking(workload, method="GET", path="/paint"), audit=written)
    rows = Ledger(there)
    with answering(b'{"Colour":"red"}') as port:
        found = probed(painting, port, rows)
    assert found.acknowledged and (found.late_ms is not None and found.late_ms > 0 if there else found.late_ms is None)
    said = [values for statement, values in rows.asked if b"jsonb" in statement]
    assert said and {str(values) for values in said} == {str({"answer": '{"colour": "red"}'})}


class Refusing(Rows):
    """A database that refuses the question whether it has a row, with this error."""

    def __init__(self, error: type[psycopg.Error]) -> None:
        super().__init__()
        self._error = error

    def fetchall(self) -> list[tuple[bool]]:
        raise self._error


@pytest.mark.parametrize(
    ("error", "looked", "late_ms"), [(psycopg.errors.UndefinedTable, False, 0.0), (psycopg.DataError, True, None)]
)
def test_a_refused_question_is_no_write_that_is_there(
    error: type[psycopg.Error], looked: bool, late_ms: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A statement that the database refuses tells nothing; a value that no row can have means that the write is not there."""
    monkeypatch.setattr(prober, "PATIENCE_S", 0.3)
    (workload,) = (one for one in PROBED if one.id == "tx")
    written = replace(workload.audit, written=Written(holds="SELECT :answer->>'colour' = 'red'"))
    painting, rows = replace(asking(workload, method="GET", path="/paint"), audit=written), Refusing(error)
    with answering(b'{"colour":"red"}') as port:
        found = probed(painting, port, rows)
    assert (found.acknowledged, found.looked, found.late_ms) == (True, looked, late_ms)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"server": "text", "date": "text"}, None),
        ({"server": "text", "x-cache": "text"}, "the answer has no header `x-cache`"),
        ({"server": {"equals": "other"}, "date": "text"}, "the header `server` is"),
    ],
)
def test_headers_of_its_answers_are_looked_at(rules: dict[str, object], said: str | None) -> None:
    """A date that the load wants to be there is held to this moment here, as the contract has it."""
    (workload,) = (one for one in PROBED if one.id == "tx")
    contract = replace(workload.contract, answers=AnswerRules(headers={"server": "text", "date": "now"}))
    written = replace(workload.audit, written=Written(holds="SELECT :answer->>'colour' = 'red'"))
    expect = replace(workload.first.expect, headers=rules)
    painting = replace(asking(workload, method="GET", path="/paint", expect=expect), audit=written, contract=contract)
    with answering(b'{"colour":"red"}') as port:
        found = probed(painting, port, Ledger(True)).header
    assert found is None if said is None else found is not None and found.startswith(said)


def test_a_fault_that_ends_the_probes_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody reads a thread's traceback: without its words a load would look as if all of its writes had been looked for."""

    def broken(*_: object) -> None:
        raise OverflowError("year 99999999999999999999")

    monkeypatch.setattr(prober, "header_problem", broken)
    (workload,) = (one for one in PROBED if one.id == "tx")
    asked = replace(asking(workload, method="GET", path="/paint"), audit=replace(workload.audit, written=None))
    expect = replace(asked.first.expect, headers={"server": "text"})
    with answering(b"{}") as port:
        headed = asking(asked, expect=expect)
        probing = prober.Prober(headed, ("127.0.0.1", port), cast(Database, Rows()), lambda: True, True)
        assert waiting.eventually(lambda: probing.ended_by is not None)
        probing.stop()
    assert "probes-ended" in {one.id for one in probing.findings(result())}
    assert probing.ended_by == "OverflowError: year 99999999999999999999"
