"""The contract's cases: their files, their judgement, and their trial against a server that is right but for one fault."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest

from builders.contracts import CASES, EVERY_WORKLOAD, SEEDS
from builders.paths import ROOT
from fairground import contract, postgres
from fairground.contract import case_file, procedures
from fairground.contract.case import CaseKind, CaseStep, Expect, ProcedureSettings, Request
from fairground.contract.exchange import PAUSE_BETWEEN_PARTS_S, Target, exchange, split
from fairground.contract.expected import kept_values
from fairground.contract.judge import AnswerJudge
from fairground.contract.wire import HttpAnswer
from fairground.inputs import workload_files
from fairground.model import Audit, ContractError, Finding, LabError, Needs, OwnRows, Severity, Written
from fairground.model.contract import AnswerRules, ErrorRules
from fairground.model.workload import Invariant, TableNeed, WriteHistory
from reference import FAULTS, Database, ReferenceStage, Server
from reference.rows import USER_KEYS, caesar, expected_users, iso_milliseconds

BY_ID = {case.id: case for case in CASES}
URL_CASES = [case.id for case in CASES if case.kind is not CaseKind.PROCEDURE]
PROCEDURES = [case.id for case in CASES if case.kind is CaseKind.PROCEDURE]
WORKLOADS = (
    "ping",
    "time",
    "db-ping",
    "db-time",
    "users",
    "tx",
    "transfer",
    "transfer-ordered",
    "lookup",
    "read",
    "page",
    "create",
    "update",
    "crud",
)
HASTY_S = 0.8
"""Time for a case that is expected to fail, so that hanging faults do not make the tests slow."""
HASTY_PROCEDURE_S = 4.5
"""The same of a procedure. One of them takes five refusals of 700 ms each."""
HASTY_LEAK_S = 2.0
"""The same of a procedure in which a connection that leaks is waited for to the end."""


@pytest.fixture(scope="module")
def healthy() -> Iterator[tuple[Server, Database]]:
    """A server without faults."""
    database = Database()
    server = Server(database, contract.ProcedureSettings(pool_size=10))
    yield server, database
    server.stop()


def tried(case_id: str, *faults: str, timeout_s: float = HASTY_S) -> Finding:
    """The finding of one case on a fresh server with `faults`."""
    database = Database()
    stage = ReferenceStage(database, faults)
    host, port = stage.start(contract.ProcedureSettings(pool_size=10))
    case = replace(BY_ID[case_id], timeout_s=timeout_s)
    report = contract.run([case], address=(host, port), contract=SEEDS, probe=database.probe, stage=stage)
    stage.server.stop()
    (finding,) = report.findings
    return finding


# ---------------------------------------------------------------- the right server passes


@pytest.mark.live
@pytest.mark.parametrize("case_id", URL_CASES)
def test_right_server_passes(case_id: str, healthy: tuple[Server, Database]) -> None:
    """Every case that needs but a URL passes on the reference server."""
    server, database = healthy
    report = contract.run(CASES, address=("127.0.0.1", server.port), contract=SEEDS, probe=database.probe, only=[case_id])
    assert [(finding.severity, finding.sentence) for finding in report.findings] == [(Severity.NOTE, BY_ID[case_id].title)]


@pytest.mark.live
@pytest.mark.parametrize("case_id", PROCEDURES)
def test_right_server_passes_procedure(case_id: str) -> None:
    """Every procedure passes on the reference server and its stage."""
    assert tried(case_id, timeout_s=60).sentence == BY_ID[case_id].title


# ---------------------------------------------------------------- one fault, one failing case


@pytest.mark.live
@pytest.mark.parametrize(("fault", "case_id", "says"), FAULTS, ids=[f"{fault}-{case_id}" for fault, case_id, _ in FAULTS])
def test_fault_is_found(fault: str, case_id: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server with one fault is rejected by the case that looks for it, in a sentence that says what came instead."""
    monkeypatch.setattr(procedures, "WORKS_AGAIN_WITHIN_S", HASTY_S)
    of_procedure = HASTY_LEAK_S if fault.startswith("leaks-") else HASTY_PROCEDURE_S
    finding = tried(case_id, *fault.split("+"), timeout_s=of_procedure if BY_ID[case_id].procedure else HASTY_S)
    assert finding.severity is Severity.REJECT, finding.sentence
    assert says in finding.sentence
    assert len(finding.sentence) < 700


def test_every_case_can_fail() -> None:
    """No case is there that no fault makes fail."""
    assert {case.id for case in CASES} == {case_id for _, case_id, _ in FAULTS}


# ---------------------------------------------------------------- the statements of the contract


@pytest.mark.live
def test_statements_say_what_the_oracle_says(database: postgres.Database) -> None:
    """The list of users by the contract's SQL is the one that Python makes of the rows, cipher and dates included."""
    database.reset(SEEDS.data(1))
    ((said,),) = database.probe(SEEDS.statement("users.sql"))
    rows = database.query("SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id")
    assert said == [
        dict(zip(USER_KEYS, (*row[:4], caesar(row[4]), row[5], iso_milliseconds(row[6])), strict=True)) for row in rows
    ]
    assert said[0]["birthdate"] == "1956-01-09T00:00:00.000Z" and len(said) == 100


def test_caesar_by_example() -> None:
    """Letters move by 14 inside their case."""
    assert caesar("Az-Ma, 1 Åé") == "On-Ao, 1 Åé"


# ---------------------------------------------------------------- running


def test_a_request_names_cells() -> None:
    """Of path, headers and body; a brace of JSON and a name without a table are none."""
    asked = Request("POST", "/a/{people.id}/{kept}", headers=(("authorization", "Bearer {log-ins.to-ken}"),), body=b'{"a":{x.y}}')
    assert asked.cells == (("people", "id"), ("log-ins", "to-ken"), ("x", "y"))
    filled = asked.with_kept({"people.id": "7", "log-ins.to-ken": "secret", "x.y": "1"})
    assert (filled.target, filled.headers[0][1], filled.body) == ("/a/7/{kept}", "Bearer secret", b'{"a":1}')


def test_what_is_kept_is_one_value_of_a_path() -> None:
    """As in a load; a link that is the whole target stays one, and headers and bodies have it as it is."""
    asked = Request("GET", "/notes?cursor={next}&of={people.name}", headers=(("x", "{next}"),), body=b"{next}")
    filled = asked.with_kept({"next": "a+b c/é", "people.name": "x&y"})
    assert filled.target == "/notes?cursor=a%2Bb%20c%2F%C3%A9&of=x%26y"
    assert (filled.headers, filled.body) == ((("x", "a+b c/é"),), "a+b c/é".encode())
    assert Request("GET", "{next}").with_kept({"next": "/notes?cursor=a+b"}).target == "/notes?cursor=a+b"


def test_a_request_names_what_is_kept() -> None:
    """Of path and headers each name, of a body whole values alone: what else has braces there may be a query."""
    asked = Request("POST", "${paths}/{id}", headers=(("x", "a{of}b"),), body=b'{"a":"{one}","b":{two},"query":"{users{name}}"}')
    assert asked.kept_names == ("id", "of", "one", "two")
    assert Request("GET", "", raw=b"GET /{id}").kept_names == ()


def test_a_case_is_tried_with_one_row(healthy: tuple[Server, Database]) -> None:
    """The row is asked for once a case; its cells are in requests, and by their columns in statements."""
    server, _ = healthy
    asked, told = list[str](), list[object]()

    def rows(table: str, address: tuple[str, int]) -> dict[str, str]:
        asked.append(f"{table} {address[1]}")
        return {"path": "ping", "person": "7"}

    def probe(statement: str, values: object = None) -> list[tuple[bool]]:
        told.append((statement, values))
        return [(True,)]

    step = BY_ID["ping"].steps[0]
    expect = replace(step.expect, holds="SELECT :person = '7'")
    steps = tuple(replace(step, request=replace(step.request, target="/{places.path}"), expect=expect) for _ in range(2))
    cases = [replace(BY_ID["ping"], steps=steps), replace(BY_ID["users"], id="refused", steps=steps)]
    report = contract.run(cases, address=("127.0.0.1", server.port), contract=SEEDS, probe=probe, terms=contract.Terms(rows=rows))
    assert report.passed and asked == [f"places {server.port}"] * 2
    assert told == [("SELECT %(person)s = '7'", {"person": "7"})] * 12

    def none(table: str, address: tuple[str, int]) -> dict[str, str]:
        raise LabError("`POST /login`, which fills the table `data.places`, was answered with status 500")

    refused = contract.run(
        cases[:1], address=("127.0.0.1", server.port), contract=SEEDS, probe=probe, terms=contract.Terms(rows=none)
    )
    assert "could not be carried out: `POST /login`" in refused.findings[0].sentence and not refused.passed
    untried = contract.run(cases[:1], address=("127.0.0.1", server.port), contract=SEEDS, probe=probe)
    assert untried.findings[0].severity is Severity.WARN


def test_statements_around_a_case_are_of_its_row(healthy: tuple[Server, Database]) -> None:
    """Its numbers below `database`, and what is done before and after it, name columns of the row as the others do."""
    told = list[object]()

    def probe(statement: str, values: object = None) -> list[tuple[int]]:
        told.append((statement.partition(" ")[0], values))
        return [(len(told),)]

    (step,) = BY_ID["ping"].steps[:1]
    step = replace(step, request=replace(step.request, target="/{places.path}"))
    case = replace(
        BY_ID["ping"], steps=(step,), database={"SELECT :person": 2}, before="UPDATE t SET a = :person", after="DELETE :person"
    )
    rows = contract.Terms(rows=lambda *_: {"path": "ping", "person": "7"})
    (found,) = contract.run([case], address=("127.0.0.1", healthy[0].port), contract=SEEDS, probe=probe, terms=rows).findings
    assert told == [(verb, {"person": "7"}) for verb in ("SELECT", "UPDATE", "DELETE", "SELECT")]
    assert "should have moved by 2, and moved by 3" in found.sentence

    def refusing(statement: str, values: object = None) -> list[tuple[int]]:
        raise LabError("the database refuses `SELECT :person`: `x` is no integer")

    (found,) = contract.run([case], address=("127.0.0.1", healthy[0].port), contract=SEEDS, probe=refusing, terms=rows).findings
    assert "could not be carried out: the database refuses" in found.sentence


def test_bodies_are_handed_on(healthy: tuple[Server, Database]) -> None:
    """The body that was found right is in the report, byte for byte; a failed case hands on none."""
    server, database = healthy
    cases = [
        BY_ID["users"],
        replace(BY_ID["db-ping"], id="wrong", steps=BY_ID["ping"].steps[:1] + BY_ID["unknown-path"].steps[:1]),
    ]
    cases[1] = replace(cases[1], steps=(replace(cases[1].steps[1], expect=Expect((200,))),))
    report = contract.run(cases, address=("127.0.0.1", server.port), contract=SEEDS, probe=database.probe)
    assert set(report.bodies) == {"users"} and json.loads(report.bodies["users"]) == expected_users()
    assert not report.passed


def test_nothing_listens() -> None:
    """A server that is not there is a finding for each case."""
    report = contract.run(
        [BY_ID["ping"], BY_ID["pipeline"], BY_ID["hang-up"], BY_ID["split-ping"]], address=("127.0.0.1", 1), contract=SEEDS
    )
    assert [finding.severity for finding in report.findings] == [Severity.REJECT] * 4
    assert all("could not connect" in finding.sentence for finding in report.findings)


def test_skipped_and_untried() -> None:
    """A case is skipped when all its workloads are; without a stage or a probe it is untried, which is not passed over."""
    cases = [BY_ID[name] for name in ("tx", "db-wrong-method", "transfer", "terminates")]
    skip = {"tx": "static files only", "transfer": "no database"}
    report = contract.run(cases, address=("127.0.0.1", 1), contract=SEEDS, terms=contract.Terms(skip))
    by_id = {finding.id: finding for finding in report.findings}
    assert by_id["case:tx"].sentence == "skipped: static files only"
    assert by_id["case:db-wrong-method"].severity is Severity.REJECT
    assert by_id["case:transfer"].severity is by_id["case:terminates"].severity is Severity.WARN


def test_a_server_that_is_told_no_pool_is_held_to_none() -> None:
    """Neither the size of its pool nor the wait for it is tried then, and the reason is said."""
    names = ["connections", "pool-wait-none", "ping"]
    cases = [BY_ID[name] for name in names]
    report = contract.run(
        cases,
        address=("127.0.0.1", 1),
        contract=SEEDS,
        stage=ReferenceStage(Database()),
        terms=contract.Terms(is_told=lambda _: False),
    )
    said = {finding.id: finding.sentence for finding in report.findings if finding.severity is Severity.NOTE}
    assert said == {
        "case:connections": "skipped: the server is not told `$pool_size`",
        "case:pool-wait-none": "skipped: the server is not told `$pool_wait_ms`",
    }


def test_stage_that_cannot_start() -> None:
    """A server that does not start under a procedure's settings is a finding."""

    class Broken(ReferenceStage):
        def start(self, settings: contract.ProcedureSettings) -> tuple[str, int]:
            raise LabError("the server was not ready within 10 s")

    report = contract.run([BY_ID["terminates"]], address=("127.0.0.1", 1), contract=SEEDS, stage=Broken(Database()))
    assert report.findings[0].sentence.endswith("could not be carried out: the server was not ready within 10 s")


@pytest.mark.live
def test_a_statement_that_the_database_refuses_is_no_fault_of_a_server(healthy: tuple[Server, Database]) -> None:
    """A mistake in the contract ends the trial of its cases with a sentence, and rejects nobody; values that an answer brought do."""
    server, _ = healthy

    def tried(error: LabError) -> contract.Report:
        def probe(sql: str, values: object = None) -> list[tuple[object, ...]]:
            raise error

        asked = replace(BY_ID["ping"].steps[0], expect=Expect((200,), holds="SELECT (:answer->>'ok')::int"))
        case = replace(BY_ID["ping"], steps=(asked,))
        return contract.run([case], address=("127.0.0.1", server.port), contract=SEEDS, probe=probe)

    with pytest.raises(ContractError, match="no such column"):
        tried(ContractError("the database refuses `SELECT x`: no such column"))
    (finding,) = tried(LabError("the database refuses `…`: `yes` is no integer")).findings
    assert finding.severity is Severity.REJECT and "`yes` is no integer" in finding.sentence


def test_a_procedure_meets_no_server_that_failed() -> None:
    """Before the first procedure after a failed case the server is stopped; after one that went well it may go on."""
    told: list[str] = []

    class Noted(ReferenceStage):
        def start(self, settings: contract.ProcedureSettings) -> tuple[str, int]:
            told.append("start")
            return super().start(settings)

        def stop(self) -> contract.Exit:
            told.append("stop")
            return super().stop()

    stage = Noted(database := Database(), ["spaces"])
    host, port = stage.start(contract.ProcedureSettings(pool_size=10))
    cases = [BY_ID[name] for name in ("ping", "ready", "debit-first", "hang-up-in-transaction")]
    report = contract.run(cases, address=(host, port), contract=SEEDS, probe=database.probe, stage=stage)
    stage.server.stop()
    assert [finding.severity for finding in report.findings] == [Severity.REJECT] + [Severity.NOTE] * 3
    assert told == ["start", "stop", "start", "start"]


def test_unknown_case_is_an_error() -> None:
    """Asking for a case that is not there names those that are."""
    with pytest.raises(LabError, match="unknown case `pong`") as caught:
        contract.run(CASES, address=("127.0.0.1", 1), contract=SEEDS, only=["pong"])
    assert "ping" in (caught.value.hint or "")


@pytest.mark.parametrize("workload", WORKLOADS)
def test_quick_cases(workload: str) -> None:
    """Each workload has a few quick cases, one of them its right answer, none of them a procedure."""
    quick = contract.select(CASES, workload)
    assert 1 <= len(quick) <= 6 and all(case.kind is CaseKind.EXCHANGE for case in quick)
    assert any(step.expect.statuses in ((200,), (201,)) for case in quick for step in case.steps)
    assert {case.id for case in quick} < {case.id for case in contract.select(CASES, workload, quick=False)}


# ---------------------------------------------------------------- files


TABLES = (
    case_file.RequestTable, case_file.ExpectTable, case_file.StepTable, case_file.CaseTable, case_file.DisturbanceTable,
    ProcedureSettings, workload_files.MixedRequest, workload_files.SingleWorkload, Audit, Needs, TableNeed, Written, OwnRows,
    WriteHistory, Invariant,
)  # fmt: skip
UNTOLD = {"id", "name", "sentence", "workload"}
"""Keys whose names say what they are."""


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
def test_the_page_of_contracts_has_every_key(table: type[Any]) -> None:
    """A key that stands nowhere is found by nobody."""
    page = (ROOT / "docs" / "contracts.md").read_text(encoding="utf-8")
    keys = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"```toml\n.*?```|`[^`\n]+`", page, re.DOTALL))))
    assert {one.name for one in fields(table)} - UNTOLD <= keys


def test_documents_agree_on_the_routes() -> None:
    """The README's table, the OpenAPI document and the cases' good answers name the same routes."""
    folder = SEEDS.folder
    table = set(re.findall(r"^\| `(?:GET|POST|PUT) (/[a-zA-Z/]+)", (folder / "README.md").read_text(), re.MULTILINE))
    described = set(re.findall(r"^  (/[a-z/{}]+):$", (folder / "openapi.yaml").read_text(), re.MULTILINE))
    good = [step.request for case in CASES for step in case.steps if step.expect.statuses in ((200,), (201,), (204,))]
    asked = {re.sub(r"/\d+$", "/ID", request.target.partition("?")[0]) for request in good if request.raw is None}
    assert table == {path.replace("{id}", "ID") for path in described} == asked


def test_the_page_of_the_audit_tells_each_edge() -> None:
    """Each workload with edges has its rows in the table, with their shares, and no other one has."""
    page = (ROOT / "docs" / "reference" / "audit.md").read_text(encoding="utf-8")
    told: dict[str, float] = {}
    for names, share in re.findall(r"^\| (`[^|]+) \| [^|]+ \| ([\d.]+) % \|", page, re.MULTILINE):
        for name in re.findall(r"`([^`]+)`", names):
            told[name] = told.get(name, 0.0) + float(share)
    own = [one for one in EVERY_WORKLOAD if one.id in WORKLOADS]
    shares = {one.id: 100 * max(sum(edge.share for edge in request.edges) for request in one.requests) for one in own}
    assert told == pytest.approx({name: share for name, share in shares.items() if share})


A = "[[case]]\nid='a'\ntitle='t'\n"
DISTURBED = "[disturbance]\nblock = { request = 'GET /' }\nrows = ['SELECT 1']\n"
MISTAKES = [
    (A + "requets=['GET /']", "unknown key `requets`", "did you mean `requests`?"),
    ("[[cases]]\nid='a'", "unknown key `cases`", "did you mean `case`?"),
    ("[[case]]\nid='a'\nrequest='GET /'", "`case[0].title` is missing", "add it"),
    (A + "request='GET'", "has no path", "GET /ping"),
    (A, "sends nothing", "add `request`"),
    (A + "request=5", "`case[0].request` is a number, not a text or a table, in", "write a text or a table"),
    (A + "request={lien='GET /'}", "unknown key `lien` in", "did you mean `line`?"),
    (A + "request={line=5}", "`case[0].request.line` is a number, not a text, in", "write a text"),
    (A + "request={line='GET /', version='2'}", "`case[0].request.version` is `2` in", "write `1.0` or `1.1`"),
    (A + "request={line='GET /', body_hex='zz'}", "`case[0].request.body_hex` is not hexadecimal in", "two digits"),
    (A + "[[case.steps]]\nrequest='GET'", "`case[0].steps[0].request` has no path in", "GET /ping"),
    (A + "request='GET /{people.id}'", "case `a` names `{people.id}`, and nothing is called `people` in", "tables"),
    (A + "procedure='answers'\nrequest='GET /{people.id}'", "is a procedure and names `{people.id}` in", "with `keep`"),
    (A + "request='GET /'\nrepeat=true", "`case[0].repeat` is true or false, not a whole number, in", "write a whole number"),
    (A + "[[case.steps]]\nrequest='GET /'\nkeep={id='id?'}", "case `a` keeps `id` from `id?`, which may be missing", "leave out `?`"),
    (A + "request='GET /'\nrepeat=0", "`case[0].repeat` is below 1 in", "how often"),
    (A + "request='GET /'\n[[case.steps]]\nrequest='GET /'\nrepeat=-1", "`case[0].steps[0].repeat` is below 1 in", "how often"),
    (A + "request='GET /'\ntimeout_s=0", "`case[0].timeout_s` is 0 in", "seconds above 0"),
    (A + "procedure='terminates'\ntimeout_s=-1.5", "`case[0].timeout_s` is -1.5 in", "seconds above 0"),
    (A + "expect={status=404}\n[[case.steps]]\nrequest='GET /'", "case `a` has `expect` and no request of its own", "below `[[case"),
    (A + "keep={x='y'}\n[[case.steps]]\nrequest='GET /'", "case `a` has `keep` and no request of its own", "below `[[case"),
    (A + "request='GET /'\n[[case.steps]]\nexpect={status=404}", "`case[0].steps[0]` sends nothing in", "add `request`"),
    (A + "request='GET /'\nworkloads=[1]", "`case[0].workloads[0]` is a number, not a text, in", "write a text"),
    (A + "kind='splitt'\nrequest='GET /'", "`case[0].kind` is `splitt` in", "write `exchange`"),
    (A + "kind='procedure'", "case `a` has no `procedure`", "known procedures: answers"),
    (A + "procedure='explode'", "`case[0].procedure` is `explode`", "known procedures: "),
    (A + "kind='split'\nrequests=['GET /','GET /b']", "has not one request", "a case for each"),
    (A + "request='GET /'\n[case.expect]\nbody.jsn={}", "`case[0].expect.body` is unclear (it needs one of", "the grammar"),
    (A + "request='GET /'\n[case.expect]\nbody.object.id='int'", "`id` in the rule is `int`, and the kinds are text", "grammar"),
    (A + "request='GET /'\n[case.expect]\nbody.list.length='$pge'", "`length` of the rule is no number, no range", "grammar"),
    (A + "request='GET /'\n[case.expect]\nbody.json.id.integer=['a','b']", "`integer` of `id` in the rule is not a range", ""),
    (A + "request='GET /'\n[case.expect]\nbody.json.id.number=[2,1]", "`number` of `id` in the rule is not a range", ""),
    (A + "request='GET /'\n[case.expect]\nbody.json.id.text.length=[true,1]", "`text` of `id` in the rule has no `length`", ""),
    (A + "request='GET /'\nkeep={n='n'}\nexpect={body.list.length.slot='n'}", "names the slot `n`, which no earlier step", "none"),
    (A + "request='GET /'\nkeep={id='id'}\n[[case.steps]]\nrequest='GET /{idd}'", "names `{idd}` in a request, and no", "names: id"),
    (A + "request={line='POST /', body='{\"id\":\"{idd}\"}'}", "names `{idd}` in a request, and no earlier step keeps it", "none"),
    (A + "kind='pipeline'\nrequest='GET /'\nkeep={id='id'}", "of kind `pipeline` has `keep`, and no later request", "leave it out"),
    ("[disturbance]\nask={request='GET /{id}'}\n" + A + "procedure='terminates'", "`disturbance` names `{id}` in a request", ""),
    ("[disturbance]\nask={request={line='GET /', headers=['a: {t.c}']}}\n" + A, "`disturbance` names `{t.c}`, and", "no cell"),
    (A + "request={raw='GET /日'}", "`case[0].request.raw` has `日`, which is no byte, in", "for each byte"),
    (A + "request='GET /'\n[case.expect]\nheaders.date='nwo'", "is none of text, now, absent, nor a table", ""),
    (A + "request='GET /'\n[case.expect]\nheaders.age.equals=5", "`case[0].expect.headers.age` needs a text as its `equals`, in", ""),
    (A + "request='GET /'\n[case.expect]\nmatches='('", "`case[0].expect.matches` is no pattern", "correct it"),
    (A + "procedure='deadlock'", "case `a` needs `disturbance.block`, which is missing", "[disturbance]"),
    (DISTURBED + A + "procedure='deadlock'", "case `a` needs two statements in `disturbance.rows`", "one for each row"),
    (A + "request='GET /'\n[case.settings]\npool=1", "unknown key `pool` in", "did you mean `pool_size`?"),
    (A + "request='GET /'\n[case.database]\n'SELECT 1'='x'", "is a text, not a whole number, in", "write a whole number"),
    (A + "request='GET /'\n" + A + "request='GET /'", "case id `a` occurs twice", "of its own"),
    ("[[case", "end of an array", "fix the syntax"),
    ("", "no cases", "[[case]]"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "hint"), MISTAKES, ids=[message for _, message, _ in MISTAKES])
def test_mistake_in_a_file(tmp_path: Path, text: str, message: str, hint: str) -> None:
    """A mistake in a case's file is named with file, line and key, and a hint that mends it."""
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "x.toml").write_text(text, encoding="utf-8")
    with pytest.raises(LabError) as caught:
        contract.load(replace(SEEDS, folder=tmp_path))
    told = caught.value.message
    assert f"`{tmp_path.name}/cases/x.toml`" in told or told.startswith(f"{tmp_path}/cases: ")
    assert ", line " in told or "TOML" in told or told.startswith(f"{tmp_path}/cases: ")
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


@pytest.mark.live
@pytest.mark.parametrize("after", [[], [(None,)], [(1, 2)], ContractError("no such table")])
def test_a_number_that_is_gone_is_a_wrong_outcome(healthy: tuple[Server, Database], after: object) -> None:
    """Where a server took the row away the case is wrong, and the next one, too; where it was never there the contract is."""
    server, _ = healthy
    answers: list[object] = [[(5,)], after, after]

    def probe(sql: str, values: object = None) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    case = replace(BY_ID["ping"], database={"SELECT balance": -3})
    cases = [case, replace(case, id="next")] if isinstance(after, list) else [case]
    found = contract.run(cases, address=("127.0.0.1", server.port), contract=SEEDS, probe=probe).findings
    assert all(one.severity is Severity.REJECT for one in found) and len(found) == len(cases)
    assert all("in the database `SELECT balance` gives no number any more" in one.sentence for one in found)
    answers[:] = [after]
    with pytest.raises(ContractError, match="`SELECT balance` gives no single number, for the case `ping`|no such table"):
        contract.run([case], address=("127.0.0.1", server.port), contract=SEEDS, probe=probe)


@pytest.mark.live
@pytest.mark.parametrize(
    ("was", "now", "right"),
    [
        (Decimal("0.50"), Decimal("-0.50"), True), (Decimal("0.10"), Decimal("-0.90"), True), (5, Decimal("4.00"), True),
        (1.5, 0.5, True), (Decimal("0.50"), -0.5, True), (5, Decimal("4.37"), False), (5, Decimal("3.63"), False), (5.0, 4.5, False),
    ],
)  # fmt: skip
def test_a_number_moves_with_its_fraction(healthy: tuple[Server, Database], was: object, now: object, right: bool) -> None:
    """Nothing of it is cut off before the two are compared."""
    answers = [[(was,)], [(now,)]]
    case = replace(BY_ID["ping"], database={"SELECT balance": -1})
    (found,) = contract.run(
        [case], address=("127.0.0.1", healthy[0].port), contract=SEEDS, probe=lambda *_: answers.pop(0)
    ).findings
    assert (found.severity is Severity.NOTE) is right, found.sentence


def test_what_is_kept_goes_into_any_bytes() -> None:
    """Bytes that are no text stay as they are beside kept values, whatever letters those have."""
    asked = Request("POST", "/{n}", headers=(("x", "{n}"),), body=b"\xff\xc3\xa9 {n} $rows")
    sent = asked.fill({"rows": "日"}).with_kept({"n": "é"})
    assert sent.body == b"\xff\xc3\xa9 \xc3\xa9 " + "日".encode()
    assert sent.encode("h", 1).startswith(b"POST /%C3%A9 HTTP/1.1\r\n")
    raw = Request("GET", "", raw=b"GET /\xff$path HTTP/1.1\r\n\r\n")
    assert raw.fill({"path": "x"}).raw == b"GET /\xffx HTTP/1.1\r\n\r\n"
    found, missing = kept_values(HttpAnswer(200, "1.1", (), b'{"id": "\\ud800"}'), {"n": "id"})
    assert missing is None and asked.with_kept(found).encode("h", 1)


def test_what_the_stage_cannot_do_is_not_tried() -> None:
    """A case that needs what this stage has not (a database that may be restarted) is told as not tried, and is no failure."""

    class Bound:
        def start(self, settings: contract.ProcedureSettings) -> tuple[str, int]:
            raise contract.NotStaged("the lab does not restart a given database")

    case = next(case for case in CASES if case.id == "database-restarts")
    report = contract.run([case], address=("127.0.0.1", 1), contract=SEEDS, probe=lambda sql, values=None: [(0,)], stage=Bound())  # type: ignore[arg-type]
    (finding,) = report.findings
    assert (finding.severity, finding.sentence) == (Severity.WARN, "not tried: the lab does not restart a given database")
    assert report.passed


@contextmanager
def answering(status: int, bodies: Iterable[bytes], after: Callable[[], None] = lambda: None) -> Iterator[Target]:
    """A server on loopback that gives these bodies one after another, and is held to no rule of a contract."""
    left = iter(bodies)

    class Asked(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = next(left)
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            after()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    bare = AnswerJudge(replace(SEEDS, errors=ErrorRules(), answers=AnswerRules()))
    with ThreadingHTTPServer(("127.0.0.1", 0), Asked) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield Target("127.0.0.1", server.server_port, bare, time.monotonic() + 30)
        finally:
            server.shutdown()


@pytest.mark.parametrize(("status", "wrong"), [(201, None), (500, None), (200, "expected status 201 or 500 or 503, got 200")])
def test_a_question_while_the_database_is_away_is_answered_as_its_case_says(status: int, wrong: str | None) -> None:
    """Where its right answer is 201, that is right before the database has gone, and 200 never is."""
    back = threading.Event()
    with answering(status, repeat(b""), back.set) as target:
        found = procedures._ask_until(back, CaseStep(Request("POST", "/"), Expect(201)), target)
    assert found == wrong


@pytest.mark.parametrize(
    ("bodies", "kept"), [((b"\x89PNG\xf1",) * 2, b"\x89PNG\xf1"), ((b"\xf1", b"\xf2"), None), ((b"",) * 2, b"")]
)
def test_a_right_answer_is_kept_as_its_bytes(bodies: tuple[bytes, ...], kept: bytes | None) -> None:
    """What is no text is kept and compared as what it is, and nothing is a right answer, too."""
    step = CaseStep(Request("POST", "/"), Expect(200, same_bytes=True), repeat=2)
    with answering(200, bodies) as target:
        found = exchange((step,), target)
    assert found.body == kept
    assert (found.wrong is None) == (kept is not None)


@pytest.mark.parametrize("size", [10, 2200])
def test_pauses_between_parts_are_not_the_servers_time(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each cut and each single byte but the first waits once, so that a long request has as much time for its answers as a short one."""
    given = list[tuple[int, float]]()

    def send(parts: tuple[bytes, ...], step: CaseStep, target: Target) -> None:
        given.append((len(parts), target.deadline_s))

    monkeypatch.setattr("fairground.contract.exchange._send_parts", send)
    target = Target("127.0.0.1", 1, AnswerJudge(SEEDS), 100.0)
    split((CaseStep(Request("GET", "/", headers=(("authorization", "x" * size),)), Expect()),), target)
    pauses = sum(parts - 1 for parts, _ in given)
    assert pauses > 2 * size
    assert {deadline_s for _, deadline_s in given} == {100.0 + PAUSE_BETWEEN_PARTS_S * pauses}
