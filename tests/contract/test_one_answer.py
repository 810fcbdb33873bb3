"""The judgement of one answer: its body, its headers, its error, and what is said of it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime
from typing import Any
from uuid import UUID

import pytest

from builders.contracts import EVERY_WORKLOAD, SEEDS
from fairground.contract import rules
from fairground.contract.case import Expect, Request
from fairground.contract.expected import disproof, number_names, perfect_body, quote_bytes
from fairground.contract.judge import AnswerJudge, header_problem, problem
from fairground.contract.wire import HttpAnswer
from fairground.model import ContractError, shape

GET = Request("GET", "/users")
ONE_USER = {"id": 1, "name": "Ann", "active": True}


def judged(body: bytes, expect: Expect, kind: str = "application/json; charset=utf-8", status: int = 200) -> str | None:
    """What is wrong with an answer when the database says that the right one is a user, or a list of her."""

    def probe(sql: str, values: object = None) -> list[tuple[object, ...]]:
        return [([ONE_USER],)] if sql == MANY else [(ONE_USER,)]

    answer = HttpAnswer(status, "1.1", (("content-type", kind), ("content-length", str(len(body)))), body)
    return problem(answer, GET, expect, AnswerJudge(SEEDS, probe))


MANY, ONE, PAGE = "SELECT many", "SELECT one", "SELECT page"
JSON = "application/json"


@pytest.mark.parametrize("charset", ["", "; charset=utf-8", ";charset=utf-8", ";charset=UTF-8"])
def test_json_is_json_with_or_without_its_charset(charset: str) -> None:
    """RFC 8259 knows no charset, and frameworks write it in several ways; each workload of the contract takes all of them."""
    kind = f"application/json{charset}"
    assert judged(b'{"id":1,"name":"Ann","active":true}', Expect((200,), body={"json": {"sql": ONE}}), kind) is None
    own = [one for one in EVERY_WORKLOAD if one.contract.id == SEEDS.id]
    assert own and all(kind in (one.first.expect.content_type or ()) for one in own)
    other = "application/json; charset=latin-1"
    assert "content-type" in (
        judged(b'{"id":1,"name":"Ann","active":true}', Expect((200,), body={"json": {"sql": ONE}}), other) or ""
    )


BODIES = [
    (b'[{"active":true,"name":"Ann","id":1}]', MANY, None),
    (b'{"id":1,"name":"A\\u006en","active":true}', ONE, None),
    (b"[]", MANY, "the body has 0 elements, expected 1"),
    (b'[{"id":1,"name":"Ann","active":true},{}]', MANY, "2 elements"),
    (b'[{"id":1,"name":"Ann"}]', MANY, "has the keys id, name; expected id, name, active"),
    (b'[{"id":1,"name":"Ann","active":true,"x":0}]', MANY, "has the keys"),
    (b'[{"id":"1","name":"Ann","active":true}]', MANY, "`id` in element 0 of the body"),
    (b'[{"id":1.0,"name":"Ann","active":true}]', MANY, None),
    (b'[{"id":1.5,"name":"Ann","active":true}]', MANY, "is `1.5`, expected `1`"),
    (b'[{"id":true,"name":"Ann","active":true}]', MANY, "is `true`, expected `1`"),
    (b'[{"id":1,"name":"Ann","active":1}]', MANY, "is `1`, expected `true`"),
    (b'[{"id":1,"id":1,"name":"Ann","active":true}]', MANY, "a key occurs twice"),
    (b'[{"id":NaN,"name":"Ann","active":true}]', MANY, "`NaN` is not JSON"),
    (b'[{"id":1,"name":"\xff","active":true}]', MANY, "is not JSON"),
    (b'{"users":[]}', MANY, "the body is"),
    (b"null", ONE, "the body is `null`"),
]


@pytest.mark.parametrize(("body", "statement", "wrong"), BODIES)
def test_body_against_the_database(body: bytes, statement: str, wrong: str | None) -> None:
    """A JSON body is right when it equals what the database says, whatever its spacing, key order and way of writing a number."""
    found = judged(body, Expect((200,), body={"json": {"sql": statement}}))
    assert found is None if wrong is None else found is not None and wrong in found


@pytest.mark.parametrize(("body", "right"), [(b'{"ok":false,"message":"no"}', True), (b'{"ok":true,"message":"no"}', False),
                                             (b'{"ok":false}', False), (b'{"ok":0,"message":"no"}', False),
                                             (b'{"ok":false,"message":null}', False), (b'[false,"no"]', False)])  # fmt: skip
def test_error_object(body: bytes, right: bool) -> None:
    """An error is as the contract says, unless the framework's own error will do."""
    assert (judged(body, Expect((400,)), status=400) is None) is right
    assert judged(body, Expect((400,), own_error=True), kind="text/html", status=400) is None


@pytest.mark.parametrize(("says", "right", "wrong"), [
    ({"body": {"json": {"error": "text"}}}, '"error":"no"', '"eror":"no"'),
    ({"matches": "milk"}, '"error":"no milk"', '"error":"no"'),
    ({"content_type": "text/plain"}, None, '"error":"no"'),
])  # fmt: skip
def test_an_error_has_the_body_that_its_case_says(says: dict[str, Any], right: str | None, wrong: str | None) -> None:
    """A case of errors alone says what is theirs, besides the contract's rules; where good answers will do, it is theirs."""
    for own, is_right in ((right, True), (wrong, False)):
        if own is not None:
            body = f'{{"ok":false,"message":"no",{own}}}'.encode()
            assert (judged(body, Expect((422, 400), **says), status=422) is None) is is_right
            assert judged(body, Expect((200, 422), **says), status=422) is None
    assert judged(b"{}", Expect(422, **says), status=422) is not None


def test_own_error_may_end_with_its_connection() -> None:
    """Only a framework's own error may have neither a length nor chunks without saying that it closes the connection."""
    bare = HttpAnswer(400, "1.1", (), b"")
    says = "so its end cannot be known"
    assert problem(bare, GET, Expect((400,), own_error=True), AnswerJudge(SEEDS)) is None
    assert says in (problem(bare, GET, Expect((400,)), AnswerJudge(SEEDS)) or "")
    assert says in (problem(replace(bare, status=200), GET, Expect((200,), own_error=True), AnswerJudge(SEEDS)) or "")


def test_an_answer_is_confirmed_by_the_database() -> None:
    """A statement gets the answer as JSON, and what earlier answers said; where it is not true, the answer is wrong."""
    asked: list[tuple[str, object]] = []

    def probe(sql: str, values: object = None) -> list[tuple[object, ...]]:
        asked.append((sql, values))
        return [("7" in str(values),)]

    expect = Expect((200,), holds="SELECT (:answer->>'id')::int = :id AND 5 % 2 = 1")
    known = AnswerJudge(SEEDS, probe, {"id": "7", "unused": "1"})
    answer = HttpAnswer(200, "1.1", (("content-type", "application/json; charset=utf-8"), ("content-length", "8")), b'{"id": 7}')
    assert problem(answer, GET, expect, known) is None
    assert asked == [("SELECT ((%(answer)s::jsonb)->>'id')::int = %(id)s AND 5 %% 2 = 1", {"id": "7", "answer": '{"id": 7}'})]
    found = problem(replace(answer, body=b'{"id": 8}'), GET, expect, replace(known, sent={"id": "9"}))
    assert found is not None and "the database says otherwise" in found
    assert "is not JSON" in (problem(replace(answer, body=b"seven"), GET, expect, known) or "")


def test_a_name_that_begins_like_the_answers_is_another() -> None:
    """A type `answer_kind` and a kept `answer_id` stay what they are, in a trial and in `check`."""
    asked: list[str] = []

    def probe(sql: str, values: object = None) -> list[tuple[object, ...]]:
        asked.append(sql)
        return [(True,)]

    body = HttpAnswer(200, "1.1", (), b"no JSON")
    for kept in ({}, {"answer_id": "7"}):
        assert disproof(body, "SELECT 'a'::answer_kind = 'a' AND :answer_id = 7", probe, kept, any_case=False) is None
    right = "SELECT (:answer->>'k')::answer_kind = 'yes' AND id = :answer_id"
    assert disproof(replace(body, body=b"{}"), right, probe, {"answer_id": "7"}, any_case=False) is None
    assert asked == [
        "SELECT 'a'::answer_kind = 'a' AND :answer_id = 7",
        "SELECT 'a'::answer_kind = 'a' AND %(answer_id)s = 7",
        "SELECT ((%(answer)s::jsonb)->>'k')::answer_kind = 'yes' AND id = %(answer_id)s",
    ]
    assert number_names(right, ["answer_id"]) == "SELECT (($2::jsonb)->>'k')::answer_kind = 'yes' AND id = $1"


@pytest.mark.parametrize(("waited_s", "wrong"), [(0.0, "s old"), (6.0, None)])
def test_a_date_may_be_that_of_its_request(waited_s: float, wrong: str | None) -> None:
    """What a server says late is held against the moment of its request: a machine that stalls it makes no date wrong."""
    told = format_datetime(datetime.now(UTC) - timedelta(seconds=6), usegmt=True)
    found = header_problem("date", told, "now", waited_s)
    assert found is None if wrong is None else found is not None and wrong in found


@pytest.mark.parametrize(("rule", "value", "wrong"), [
    ("text", "nginx", None), ("text", None, "has no header"), ("text", " ", "is empty"), ("absent", "x", "must not have"),
    ({"equals": "miss"}, "miss", None), ({"equals": "miss"}, "hit", "is `hit`, expected miss"),
    ({"one_of": ["1", "2"]}, "3", "expected 1 or 2"), ("now", "Thu, 01 Jan 1970 00:00:00 GMT", "s old"),
    ("now", "yesterday", "no date of HTTP"), ("now", "now", None),
    ("now", "Mon, 01 Jan 99999999999999999999 00:00:00 GMT", "no date of HTTP"),
])  # fmt: skip
def test_headers(rule: object, value: str | None, wrong: str | None) -> None:
    """A header is right by its rule: any text, the time now, one of some texts, or none at all."""
    told = format_datetime(datetime.now(UTC), usegmt=True) if value == "now" else value
    found = header_problem("x-it", told, rule)
    assert found is None if wrong is None else found is not None and wrong in found


@pytest.mark.parametrize(("known", "right", "wrong"), [
    (Decimal("2.50"), b"2.5", b'"2.50"'), (Decimal("10.00"), b"10", b"10.01"), (Decimal(2**60 + 1), b"1152921504606846977", b"1"),
    (10.0, b"10", b"true"), ([Decimal(1), None], b"[1.0, null]", b"[1]"), (False, b"false", b"0"), ("a", b'"a"', b"a"),
])  # fmt: skip
def test_what_a_database_says_is_held_by_its_value(known: object, right: bytes, wrong: bytes) -> None:
    """Its numbers of any kind are numbers of JSON, and nothing else is one."""
    expect = Expect(body={"json": {"sql": "SELECT x"}})
    for body, is_right in ((right, True), (wrong, False)):
        answer = HttpAnswer(200, "1.1", (("content-type", "application/json"), ("content-length", "1")), body)
        assert (problem(answer, GET, expect, AnswerJudge(SEEDS, lambda *_: [(known,)])) is None) is is_right
    assert perfect_body({"json": {"sql": "SELECT x"}}, lambda *_: [(known,)]) is not None


@pytest.mark.parametrize("known", [datetime.now(UTC), UUID(int=1), Decimal("NaN"), [b"x"], float("inf")])
def test_what_is_no_json_is_a_mistake_of_the_contract(known: object) -> None:
    """It is said with the statement, and no server is blamed for it."""
    answer = HttpAnswer(200, "1.1", (("content-type", "application/json"), ("content-length", "1")), b"1")
    with pytest.raises(ContractError, match="`SELECT x` gives no JSON, but a value of the kind `[a-z]+`") as told:
        problem(answer, GET, Expect(body={"json": {"sql": "SELECT  x"}}), AnswerJudge(SEEDS, lambda *_: [(known,)]))
    assert "to_json" in (told.value.hint or "")


@pytest.mark.parametrize(
    ("value", "sent", "right"),
    [
        (5, "5", True), (5.0, "5", True), (2.5, "2.50", True), ("2.50", "2.50", True), (1000, "1e3", True),
        ("2.5", "2.50", False), (2.51, "2.50", False), (7, "007", False), (True, "1", False),
        (True, "true", True), (False, "false", True), (True, "false", False), (True, "True", False), (10**20 + 1, str(10**20), False),
    ],
)  # fmt: skip
def test_a_number_is_what_was_sent_by_its_value(value: object, sent: str, right: bool) -> None:
    """A price of 2.50 is told as 2.5 in much JSON. A text is what was sent, letter by letter."""
    assert (rules.difference(value, {"slot": "n"}, {"n": sent}) is None) is right


@pytest.mark.parametrize(("sent", "right"), [({"n": "2"}, True), ({"n": "3"}, False), ({"n": "two"}, False), ({}, False)])
def test_a_length_is_what_an_earlier_answer_said(sent: dict[str, str], right: bool) -> None:
    """Where that was no number the answer is wrong, and the lab does not stumble."""
    for value, rule in (([1, 2], {"list": {"length": {"slot": "n"}}}), ("ab", {"text": {"length": {"slot": "n"}}})):
        assert (rules.difference(value, rule, sent) is None) is right


def test_names_of_headers_have_no_case() -> None:
    """A contract, or a case in its place, may write them in any letters."""
    headers = (("content-type", "application/json"), ("content-length", "2"), ("server", "x"), ("x-powered-by", "y"))
    answer = HttpAnswer(200, "1.1", headers, b"{}")
    assert answer.header("Server") == answer.header("server") == "x"
    assert problem(answer, GET, Expect(headers={"Server": "text"}), AnswerJudge(SEEDS)) is None
    assert "must not have" in (problem(answer, GET, Expect(headers={"X-Powered-By": "absent"}), AnswerJudge(SEEDS)) or "")
    once = replace(SEEDS, errors=replace(SEEDS.errors, headers={"503": {"Server": "x"}}))
    assert problem(replace(answer, status=503), GET, Expect(503, own_error=True), AnswerJudge(once)) is None


@pytest.mark.parametrize(("rule", "wrong"), [
    ({"object": {"userId": "integer", "of": {"list": {"each": {"json": {"aB": {"equals": {"cD": 1}}}}}}}}, None),
    ({"object": {"userID": {"integer": [2, 3]}, "of": "any"}}, "expected an integer from 2 to 3"),
])  # fmt: skip
def test_keys_of_a_rule_are_in_any_case_as_the_answers(rule: dict[str, object], wrong: str | None) -> None:
    """Where keys have any case, it is no matter how the contract writes them."""
    for body in (b'{"userId": 1, "of": [{"aB": {"cD": 1}}]}', b'{"USERID": 1, "Of": [{"ab": {"CD": 1}}]}'):
        found = judged(body, Expect(body={"any_case": True, **rule}))
        assert found is None if wrong is None else found is not None and wrong in found


@pytest.mark.parametrize(("value", "wrong"), [
    ({"a": None}, None), ({"a": ["x", None]}, None), ({}, "has no key `a`"), ({"a": [1]}, "expected any text"), (None, "expected an object"),
])  # fmt: skip
def test_null_is_right_where_a_rule_says_so(value: object, wrong: str | None) -> None:
    """A nullable field must be there, and may be null or what the rule asks for."""
    rule = {"json": {"a": {"nullable": {"list": {"each": {"nullable": "text"}}}}}}
    found = rules.difference(value, rule, {})
    assert found is None if wrong is None else found is not None and wrong in found
    assert shape.mistake(rule) is None and shape.mistake({"nullable": "texts"}) is not None


@pytest.mark.parametrize(("values", "right"), [
    ([1, 1, 2.5], True), ([2, 10], True), (["10", "2", "a"], True), ([], True), ([2, 1], False), (["b", "a"], False),
    ([1, "2"], False), ([None, None], False), ([False, True], False),
])  # fmt: skip
def test_a_list_may_have_to_ascend(values: list[object], right: bool) -> None:
    """Numbers go by value and texts by their characters, as under load; what has no order does not ascend."""
    rule = {"list": {"each": {"json": {"Id": "any"}}, "ascending": "Id"}}
    found = rules.difference([{"Id": one, "more": 1} for one in values], rule, {})
    assert found is None if right else found is not None and found.endswith("and does not ascend"), found
    folded = judged(json.dumps([{"ID": one} for one in values]).encode(), Expect(body={"any_case": True, **rule}))
    assert (folded is None) is right and shape.mistake(rule) is None


@pytest.mark.parametrize(
    "each", [{}, {"each": "any"}, {"each": {"json": {"name": "text"}}}, {"each": {"json": {"id": {"optional": "integer"}}}}]
)
def test_a_list_ascends_by_a_field_that_is_there(each: dict[str, object]) -> None:
    """The engine would refuse another one."""
    assert "`ascending` of the rule names no field" in (shape.mistake({"list": {**each, "ascending": "id"}}) or "")


def test_sentences_are_escaped_and_short() -> None:
    """What a server sent is shown escaped, on one line, and shortened."""
    text = quote_bytes(b"\x1b[31m\r\n`" + "é".encode() + b"\xff" + b"x" * 1000)
    assert text.startswith(r"`\x1b[31m\r\n'\xe9\\xff") and text.endswith("bytes more") and len(text) < 200


@pytest.mark.parametrize(("body", "expect", "wrong"), [
    (b"[" * 127 + b"]" * 127, Expect(body={"list": {"each": "any"}}), None),
    (b"[" * 128 + b"]" * 128, Expect(body={"list": {"each": "any"}}), "the body is not JSON (it is too deep)"),
    (b"[" * 9999, Expect(body={"list": {"each": "any"}}), "the body is not JSON (it is too deep)"),
    (b'{"a":' * 600 + b"1" + b"}" * 600, Expect(body={"object": {"a": "any"}, "any_case": True}), "the body is not JSON (it is too deep)"),
    (b'{"t":1' + b"0" * 400 + b"}", Expect(body={"json": {"t": {"unix_now_within_s": 5}}}), "expected a time in Unix seconds"),
    (b"<p>a</p><![x y]>", Expect(content_type=JSON, body={"html": {"sql": PAGE}}), "the page cannot be read"),
    (b"<p> a </p>", Expect(content_type=JSON, body={"html": {"sql": PAGE}}), None),
])  # fmt: skip
def test_no_answer_ends_the_run(body: bytes, expect: Expect, wrong: str | None) -> None:
    """What no reader takes is a wrong answer, whatever its reader says of it."""
    answer = HttpAnswer(200, "1.1", (("content-type", JSON), ("content-length", str(len(body)))), body)
    found = problem(answer, GET, expect, AnswerJudge(SEEDS, lambda *_: [("<p>a</p>",)]))
    assert found is None if wrong is None else found is not None and wrong in found


def test_own_error_is_held_to_the_headers_of_its_case() -> None:
    """Those of its case hold, and those of the contract's errors do not: it stands in place of one."""
    contract = replace(SEEDS, errors=replace(SEEDS.errors, headers={"405": {"retry-after": "1"}}))
    said = Expect(405, headers={"allow": {"equals": "GET"}}, own_error=True)
    for headers, wrong in (((("allow", "GET"),), None), ((), "no header `allow`")):
        found = problem(HttpAnswer(405, "1.1", headers, b""), GET, said, AnswerJudge(contract))
        assert found is None if wrong is None else found is not None and wrong in found
