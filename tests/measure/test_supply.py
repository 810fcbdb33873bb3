"""The rows that a load draws: of the database, and of logins that a server answers, or refuses."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from builders.contracts import SEEDS
from builders.mix import CONTRACT, day_at
from builders.odd import answer, odd
from fairground.contract.case import Request
from fairground.contract.wire import HttpAnswer
from fairground.host import free_port
from fairground.measure import audit, supply, tables
from fairground.model import Audit, Expectation, LabError, LedgerCheck, LoadRequest, Workload
from fairground.model.contract import DataRequest, DataTable
from fairground.model.data import Rows
from fairground.postgres import Database

PEOPLE = [(1, 'ann"@example.com'), (2, "bob@example.com")]


class People:
    """A database that has these rows to whatever it is asked."""

    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self.rows, self.asked = rows, list[bytes]()

    def connect(self) -> People:
        return self

    def __enter__(self) -> People:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def execute(self, statement: bytes) -> People:
        self.asked.append(statement)
        return self

    @property
    def description(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(name=name, type_code=kind) for name, kind in (("person", 23), ("email", 25))]

    @property
    def pgresult(self) -> SimpleNamespace:
        def get_value(row: int, column: int) -> bytes | None:
            value = self.rows[row][column]
            return None if value is None else str(value).encode()

        return SimpleNamespace(ntuples=len(self.rows), get_value=get_value)


@contextmanager
def logging_in(
    status: int, answer: str, closes: bool = False, version: str = "HTTP/1.1"
) -> Iterator[tuple[int, list[dict[str, str]]]]:
    """A server that answers each login so: its port, and what it was sent. `EMAIL` in the answer is that of the request.

    `closes`: it says that it closes the connection, and does.
    """
    seen: list[dict[str, str]] = []

    class Login(BaseHTTPRequestHandler):
        protocol_version = version

        def do_POST(self) -> None:
            sent = json.loads(self.rfile.read(int(self.headers["content-length"])))
            seen.append({"path": self.path, "type": self.headers["content-type"], **sent})
            body = answer.replace("EMAIL", json.dumps(sent["email"])[1:-1]).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            if closes:
                self.send_header("connection", "close")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Login) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield server.server_port, seen
        finally:
            server.shutdown()


@pytest.fixture
def day(tmp_path: Path) -> Workload:
    """A mix whose requests carry the token of a login."""
    return day_at(tmp_path).fill({"people": 2, "entries": "/entries"})


@pytest.mark.parametrize(("closes", "version"), [(False, "HTTP/1.1"), (True, "HTTP/1.1"), (False, "HTTP/1.0")])
def test_each_row_logs_in_once(closes: bool, version: str, day: Workload) -> None:
    """Its cells stand in the request, escaped as JSON is, and what the answer said stands beside them."""
    people = People(list(PEOPLE))
    with logging_in(200, '{"token":"of EMAIL"}', closes, version) as (port, seen):
        found, refused = supply.fill(day, cast(Database, people), supply.ServerAddress("127.0.0.1", port))
    assert refused is None and people.asked == [b"SELECT person, email FROM people LIMIT 2"]
    assert found.rows["people"] == Rows(("person", "email"), tuple(PEOPLE))
    assert found.rows["sessions"].columns == ("person", "email", "token")
    assert [row[2] for row in found.rows["sessions"].rows] == ['of ann"@example.com', "of bob@example.com"]
    assert seen == [{"path": "/login", "type": "application/json", "email": email} for _, email in PEOPLE]


@pytest.mark.parametrize(
    ("status", "answer", "said"),
    [
        (500, "no\x1b[31m", "was answered with status 500: no"),
        (200, '{"key":"x"}', "was answered without `token`"),
        (200, "x", "without"),
    ],
)
def test_a_refused_login_is_the_servers(status: int, answer: str, said: str, day: Workload) -> None:
    """The sentence says which request, and what came: a server that logs nobody in cannot be loaded."""
    with logging_in(status, answer) as (port, _):
        _, refused = supply.fill(day, cast(Database, People(list(PEOPLE))), supply.ServerAddress("127.0.0.1", port))
    assert refused is not None and said in refused and "`POST /login`" in refused and "\x1b" not in refused


@pytest.mark.live
def test_a_kept_connection_that_is_closed_without_a_word_refuses_nobody(day: Workload) -> None:
    """A client asks again on a new one; a new one that is closed as well is told."""
    with odd(lambda *_: answer(200, b'{"token":"t"}'), most=1) as port:
        found, refused = supply.fill(day, cast(Database, People(list(PEOPLE))), supply.ServerAddress("127.0.0.1", port))
    assert refused is None and [row[2] for row in found.rows["sessions"].rows] == ["t", "t"]
    with odd(lambda *_: None) as port:
        _, refused = supply.fill(day, cast(Database, People(list(PEOPLE))), supply.ServerAddress("127.0.0.1", port))
    assert refused is not None and "got no answer" in refused


@pytest.mark.live
def test_a_rate_limit_is_waited_for_once(monkeypatch: pytest.MonkeyPatch, day: Workload) -> None:
    """As long as it says, within limits; one that refuses again is told."""
    monkeypatch.setattr(supply, "AGAIN_S", 0.02)
    told = answer(200, b'{"token":"t"}')
    with odd(lambda number, _: told if number % 2 else answer(429)) as port:
        _, refused = supply.fill(day, cast(Database, People(list(PEOPLE))), supply.ServerAddress("127.0.0.1", port))
    assert refused is None
    with odd(lambda *_: answer(429, b"slow down")) as port:
        _, refused = supply.fill(day, cast(Database, People(list(PEOPLE))), supply.ServerAddress("127.0.0.1", port))
    assert refused is not None and refused.endswith("was answered with status 429: slow down")


def test_who_does_not_answer_is_told(day: Workload) -> None:
    """Nobody listens: no answer, in words, and no exception of ours."""
    _, refused = supply.fill(day, cast(Database, People(list(PEOPLE))), supply.ServerAddress("127.0.0.1", free_port()))
    assert refused is not None and "got no answer" in refused


@pytest.mark.parametrize("rows", [0, supply.MOST_ROWS + 1])
def test_a_table_needs_rows_and_not_too_many(rows: int, day: Workload) -> None:
    """That is a mistake of the contract, not of a server."""
    with pytest.raises(LabError, match=r"the statement of the contract's table `data\.people` gives"):
        supply.fill(day, cast(Database, People([(1, "x")] * rows)), supply.ServerAddress("127.0.0.1", 1))


def test_a_table_has_no_empty_cell(day: Workload) -> None:
    """No request can have NULL: the sentence names the column."""
    with pytest.raises(LabError, match=r"`data\.people` gives NULL as `email`, which no request can have"):
        supply.fill(day, cast(Database, People([*PEOPLE, (3, None)])), supply.ServerAddress("127.0.0.1", 1))


@pytest.mark.live
def test_cells_are_what_the_database_writes(database: Database) -> None:
    """Values of any type are texts as PostgreSQL writes them, and whole numbers are numbers."""
    sql = (
        "SELECT 7::bigint AS a, true AS b, 10.50::numeric AS c, '{\"k\": [1]}'::jsonb AS d, 'é' AS e, ARRAY[1, 2] AS f,"
        " '6f1c0a52-0000-4000-8000-000000000001'::uuid AS g, timestamp '2026-01-02 03:04:05.5' AS h, interval '1 day 2 hours' AS i"
    )
    database.reset(SEEDS.data(1))
    found, _ = supply.fill(
        Workload("w", "", "", (), Audit(), None, data={"all": DataTable(sql)}), database, supply.ServerAddress("127.0.0.1", 1)
    )
    assert found.rows["all"].columns == tuple("abcdefghi")
    assert found.rows["all"].rows == (
        (
            7,
            "true",
            "10.50",
            '{"k": [1]}',
            "é",
            "{1,2}",
            "6f1c0a52-0000-4000-8000-000000000001",
            "2026-01-02 03:04:05.5",
            "1 day 02:00:00",
        ),
    )


@pytest.mark.live
@pytest.mark.parametrize("key", ["timestamptz '2026-12-01 00:00:00+00'", "true", "7", "1.50", "'\\x01'::bytea", "ARRAY[1, 2]"])
def test_accounts_and_keys_are_what_the_database_writes(database: Database, key: str) -> None:
    """A ledger and a table of right answers find what a request had in its slot: a cell of the same value."""
    sql = f"SELECT {key} AS key, 5 AS n"
    database.reset(SEEDS.data(1))
    data, expect = {"all": DataTable(sql)}, Expectation(200, body={"table": {"by": "all.key", "sql": sql}})
    asked = Audit(True, ledgers=(LedgerCheck("sums", sql),))
    workload = Workload("w", "", "", (LoadRequest("w", "GET", "/", expect=expect),), asked, None, data=data)
    found, _ = supply.fill(workload, database, supply.ServerAddress("127.0.0.1", 1))
    slot = str(found.rows["all"].rows[0][0])
    assert audit.before(database, workload).ledgers == {"sums": {slot: 5}}
    body: Any = tables.resolve(workload, database).first.expect.body
    assert body["table"]["rows"] == {slot: {"equals": 5}}


def test_rows_that_are_written_down_need_no_database(tmp_path: Path) -> None:
    """Each of them logs in as one of a statement does."""
    written = CONTRACT.replace(
        'sql = "SELECT person, email FROM people LIMIT $people"',
        'rows = [{ person = 1, email = "ann" }, { person = 2, email = "bob" }]',
    )
    day = day_at(tmp_path, contract=written)
    with logging_in(200, '{"token":"of EMAIL"}', False) as (port, seen):
        found, refused = supply.fill(day, None, supply.ServerAddress("127.0.0.1", port))
    assert refused is None and found.rows["sessions"].rows == ((1, "ann", "of ann"), (2, "bob", "of bob"))
    assert [one["email"] for one in seen] == ["ann", "bob"]


@pytest.mark.parametrize(
    ("type", "body", "sent"),
    [
        ("application/x-www-form-urlencoded", "user={p.n}&password={p.w}", b"user=ann&password=p%26ss%2B1"),
        ("application/json", '{{"user":"{p.n}","password":"{p.w}"}', b'{"user":"ann","password":"p&ss+1"}'),
    ],
)
def test_a_login_sends_what_the_load_would(type: str, body: str, sent: bytes) -> None:
    """A password stays one value in a form, too, and a name in a path."""
    asked = list[Request]()

    def ask(request: Request) -> HttpAnswer:
        asked.append(request)
        return HttpAnswer(200, "1.1", (), b'{"token":"t"}')

    login = DataRequest("POST", "/login/{p.n}?w={p.w}", {"content-type": type}, body)
    asker, cells = cast(supply.Asker, SimpleNamespace(ask=ask, is_open=False)), {"p.n": "ann", "p.w": "p&ss+1"}
    assert supply._ask(asker, login, {"token": "token"}, cells) == {"token": "t"}
    assert (asked[0].target, asked[0].body) == ("/login/ann?w=p%26ss%2B1", sent)
