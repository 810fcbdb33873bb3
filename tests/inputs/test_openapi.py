"""OpenAPI documents as questions: what is asked, what answers it, and a mark wherever the document does not say."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from fairground.inputs import openapi
from fairground.inputs.answer_shapes import Shapes
from fairground.inputs.openapi import OpenDocument, OpenQuestion
from fairground.inputs.parameters import Parameter, sent_value
from fairground.model import LabError, shape

JSON_TYPES = ("application/json", "application/json; charset=utf-8", "application/json;charset=utf-8")


def document(tmp_path: Path, get: dict[str, Any], path: str = "/things", **root: Any) -> OpenDocument:
    """A document of one GET."""
    file = tmp_path / "api.json"
    file.write_text(json.dumps({"openapi": "3.0.3", "paths": {path: {"get": get}}, **root}))
    return openapi.read_document(file)


def question(tmp_path: Path, get: dict[str, Any], path: str = "/things", **root: Any) -> OpenQuestion:
    """The one question of such a document."""
    (found,) = document(tmp_path, get, path, **root).questions
    return found


def answer(schema: object, kind: str = "application/json") -> dict[str, Any]:
    """An operation that is answered with a schema."""
    return {"responses": {"200": {"description": "", "content": {kind: {"schema": schema}}}}}


def test_a_question_of_a_document(tmp_path: Path) -> None:
    """Path and query have slots, the case one value for each; an operation's own parameter stands in place of its path's."""
    number = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer", "minimum": 3, "maximum": 9}}
    get = {
        "operationId": "getThingByID", "summary": "One thing.", "description": "It is\nfound.", **answer({"type": "object"}),
        "parameters": [
            number,
            {"name": "fields[x]", "in": "query", "required": True, "schema": {"type": "string", "enum": ["a b", "c|d"]}},
            {"name": "limit", "in": "query", "schema": {"type": "integer", "default": 10}},
            {"name": "X-Tenant", "in": "header", "required": True, "schema": {"type": "string"}, "example": "one"},
        ],
    }  # fmt: skip
    item = {"parameters": [{**number, "schema": {"type": "integer"}}], "get": get, "post": {}}
    file = tmp_path / "api.json"
    file.write_text(
        json.dumps({"openapi": "3.0.3", "servers": [{"url": "https://example.com/v1/"}], "paths": {"/things/{id}.$x": item}})
    )
    found = openapi.read_document(file)
    (one,) = found.questions
    assert (found.base, one.id, one.title, one.about) == ("/v1", "get-thing-by-id", "One thing", "It is found.")
    assert one.path == "/things/{int:3..9}.%24x?fields[x]={choice:a%20b|c%7Cd}"
    assert one.example == "/things/3.%24x?fields[x]=a%20b"
    assert one.headers == {"accept": "application/json", "x-tenant": "one"} and one.others == ("limit (integer, default 10)",)
    assert (one.status, one.content_types, one.body) == (200, JSON_TYPES, {"json": {}})
    assert one.marks == ("which values `X-Tenant` has: only the example `one` is known",) and one.answer_marks == ()
    assert found.left_out == ("other methods than GET (1): say in workloads of your own what they write",)


@pytest.mark.parametrize(
    ("schema", "example", "slot", "marked"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 5}, None, "{int:1..5}", False),
        ({"type": "integer", "minimum": 5, "maximum": 5}, None, "5", False),
        ({"type": "integer", "minimum": 0, "exclusiveMinimum": True, "maximum": 9}, None, "{int:1..9}", False),
        ({"type": "integer", "minimum": 0, "exclusiveMinimum": False, "maximum": 9}, None, "{int:0..9}", False),
        ({"type": "integer", "exclusiveMinimum": 0, "maximum": 9, "exclusiveMaximum": True}, None, "{int:1..8}", False),
        ({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9}, None, "{int:1..8}", False),
        ({"type": "integer", "minimum": 0, "exclusiveMinimum": True}, None, "{int:1..10}", True),
        ({"type": "integer"}, None, "{int:1..10}", True),
        ({"type": "integer", "minimum": 7}, None, "{int:7..16}", True),
        ({"type": "integer", "minimum": -(10**18), "maximum": 10**18}, 4, "4", True),
        ({"type": "boolean"}, None, "{choice:true|false}", False),
        ({"type": "string", "enum": ["a", None, "b"]}, None, "{choice:a|b}", False),
        ({"type": "string", "enum": ["a"]}, None, "a", False),
        ({"type": "array", "items": {"enum": ["x", "y"]}}, None, "{choice:x|y}", False),
        ({"type": "array", "items": {"type": "string"}}, ["é/"], "%C3%A9%2F", True),
        ({"type": "string", "format": "uuid"}, None, "00000000-0000-0000-0000-000000000001", True),
        ({"type": "string"}, "{a}", "%7Ba%7D", True),
        ({}, None, "example", True),
        ({"type": "number"}, None, "1", True),
    ],
)
def test_what_is_sent_for_a_parameter(schema: dict[str, Any], example: object, slot: str, marked: bool) -> None:
    """What a document knows is sent; what is guessed has a mark."""
    found = sent_value(Parameter("id", "path", True, schema, example))
    assert (found.slot, bool(found.marks)) == (slot, marked)


@pytest.mark.parametrize(
    ("table", "example"),
    [
        ({"example": 7}, 7),
        ({"examples": {"one": {"value": "a"}}}, "a"),
        ({"schema": {"default": 0}}, 0),
        ({"schema": {"examples": ["b"]}}, "b"),
        ({"schema": {}}, None),
    ],
)
def test_examples_are_found(table: dict[str, Any], example: object) -> None:
    """Wherever a document has them."""
    assert Parameter.of({"name": "a", "in": "query", **table}, table.get("schema", {})).example == example


REFERRED = {
    "Thing": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}, "next": {"$ref": "#/defs/Thing"}}},
    "Named": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
}
THING = {"json": {"id": "integer", "next": {"optional": "any"}}}


@pytest.mark.parametrize(
    ("schema", "rule"),
    [
        ({"$ref": "#/defs/Thing"}, THING),
        ({"type": "array", "items": {"$ref": "#/defs/Thing"}, "maxItems": 3}, {"list": {"length": [0, 3], "each": THING}}),
        ({"allOf": [{"$ref": "#/defs/Thing"}, {"$ref": "#/defs/Named"}]}, {"json": {**THING["json"], "name": "text"}}),
        ({"allOf": [{"$ref": "#/defs/Thing"}], "nullable": True}, None),
        (
            {"type": "object", "additionalProperties": False, "properties": {"a": {"type": "null"}}},
            {"object": {"a": {"optional": "null"}}},
        ),
        ({"oneOf": [{"$ref": "#/defs/Thing"}, {"$ref": "#/defs/Named"}]}, {"json": {}}),
        ({"oneOf": [{"$ref": "#/defs/Thing"}, {"type": "array"}]}, None),
        ({"type": ["array", "string"], "items": {"type": "integer"}}, None),
        ({"type": "string"}, None),
        ({"$ref": "other.json#/x"}, None),
        ({"$ref": "#/defs/None"}, None),
        (None, None),
    ],
)
def test_a_body_has_a_shape(schema: object, rule: object) -> None:
    """References are resolved, one inside of itself is anything; None where a body is no object and no list."""
    assert Shapes({"defs": REFERRED}).body(schema) == rule


@pytest.mark.parametrize(
    ("schema", "rule"),
    [
        ({"type": "string", "nullable": True}, {"nullable": "text"}),
        ({"type": ["integer", "null"]}, {"nullable": "integer"}),
        ({"type": ["integer", "string"]}, "any"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"nullable": "text"}),
        ({"enum": ["a", "b", None]}, {"nullable": {"one_of": ["a", "b"]}}),
        ({"enum": [{"a": 1}, 2]}, "any"),
        ({"const": 1}, {"equals": 1}),
        ({"type": "integer", "minimum": 0, "maximum": 9}, {"integer": [0, 9]}),
        ({"type": "integer", "minimum": 0}, "integer"),
        ({"type": "integer", "minimum": 0, "maximum": 1e30}, "integer"),
        ({"type": "number", "minimum": 0, "maximum": 1}, {"number": [0, 1]}),
        ({"type": "string", "minLength": 1, "maxLength": 60}, {"text": {"length": [1, 60]}}),
        ({"type": "boolean", "x-nullable": True}, {"nullable": "boolean"}),
        ({}, "any"),
        (True, "any"),
    ],
)
def test_a_field_has_a_rule(schema: object, rule: object) -> None:
    """Kinds, ranges, lengths, enumerations, and what may be null."""
    found = Shapes({}).body({"type": "object", "required": ["a"], "properties": {"a": schema}})
    assert found == {"json": {"a": rule}} and shape.mistake(found) is None


def test_of_a_deep_body_the_outer_part_is_told() -> None:
    """A schema that opens up without end stays small, and is a rule of the grammar."""
    level: dict[str, Any] = {"type": "string"}
    for _ in range(9):
        level = {"type": "object", "properties": {name: level for name in "abcd"}}
    found = Shapes({}).body(level)
    assert found is not None and shape.mistake(found) is None and len(json.dumps(found)) < 10_000


@pytest.mark.parametrize(
    ("get", "status", "kinds", "marks"),
    [
        (answer({"type": "string"}), 200, JSON_TYPES, 1),
        (answer({}, "image/png"), 200, ("image/png",), 1),
        (answer({}, "text/csv"), 200, ("text/csv", "text/csv; charset=utf-8", "text/csv;charset=utf-8"), 1),
        (answer({"type": "object"}, "*/*"), 200, (), 1),
        ({"responses": {"default": {"description": ""}}}, 200, (), 2),
        ({}, 200, (), 2),
        ({"responses": {"302": {"description": ""}}}, 302, (), 0),
        ({"responses": {"204": {"description": ""}}}, 204, (), 0),
    ],
)
def test_answers_that_are_hardly_known(tmp_path: Path, get: dict[str, Any], status: int, kinds: Any, marks: int) -> None:
    """Where no shape is known nothing is held against the body, and a mark says so; what has no body needs none."""
    one = question(tmp_path, get)
    assert (one.status, one.content_types, one.body, len(one.answer_marks)) == (status, kinds, None, marks)


@pytest.mark.parametrize(
    ("schemes", "wanted", "words"),
    [
        (
            {"t": {"type": "http", "scheme": "bearer"}},
            [{"t": []}],
            "it asks for `t` (the header `authorization`, scheme bearer): ",
        ),
        ({"k": {"type": "apiKey", "in": "query", "name": "key"}}, [{"k": []}], "it asks for `k` (a key in the query `key`): "),
        ({"o": {"type": "oauth2"}, "k": {}}, [{"o": []}, {"k": []}], "it asks for `o` (oauth2) or `k`: "),
        ({}, [{}, {"k": []}], None),
        ({}, [], None),
    ],
)
def test_a_login_is_a_mark(tmp_path: Path, schemes: dict[str, Any], wanted: list[Any], words: str | None) -> None:
    """The document says what is asked for; none is where a request without any is allowed."""
    one = question(tmp_path, answer({"type": "object"}), security=wanted, components={"securitySchemes": schemes})
    assert [mark.startswith(words or "?") for mark in one.marks] == ([] if words is None else [True])


def test_version_two_is_read(tmp_path: Path) -> None:
    """Swagger 2.0 has its parameters' kinds, its content types and its paths elsewhere."""
    file = tmp_path / "api.json"
    parameter = {"name": "id", "in": "path", "required": True, "type": "integer", "minimum": 1, "maximum": 2}
    get = {"parameters": [{"$ref": "#/parameters/id"}], "responses": {"200": {"schema": {"$ref": "#/definitions/A"}}}}
    defined = {"definitions": {"A": {"type": "object"}}, "parameters": {"id": parameter}}
    file.write_text(json.dumps({"swagger": "2.0", "basePath": "/api", "produces": ["application/xml", "application/json"],
                                "paths": {"/a/{id}": {"get": get}}, **defined}))  # fmt: skip
    found = openapi.read_document(file)
    (one,) = found.questions
    assert (found.base, one.path, one.content_types, one.body) == ("/api", "/a/{int:1..2}", JSON_TYPES, {"json": {}})


def test_ids_are_unique_and_plain(tmp_path: Path) -> None:
    """Whatever operations are called; `all` means every workload elsewhere."""
    file = tmp_path / "api.json"
    paths = {f"/{number}": {"get": {"operationId": name}} for number, name in enumerate(("all", "a.B c", "aB-c", "…", "é"))}
    file.write_text(json.dumps({"openapi": "3.1.0", "paths": paths}))
    assert [one.id for one in openapi.read_document(file).questions] == ["get-all", "a-b-c", "a-b-c-2", "root", "root-2"]


def test_yaml_is_read(tmp_path: Path) -> None:
    """Numbers as keys and dates as values are no trouble."""
    file = tmp_path / "api.yaml"
    file.write_text("""openapi: 3.0.0
info: {title: "Things", version: 1}
paths:
  /things/{day}:
    get:
      parameters: [{name: day, in: path, required: true, schema: {type: string, format: date}, example: 2026-01-02}]
      responses: {200: {description: x, content: {application/json: {schema: {type: array, items: {type: integer}}}}}}
""")
    found = openapi.read_document(file)
    assert (found.title, found.questions[0].path, found.questions[0].body) == (
        "Things", "/things/2026-01-02", {"list": {"each": "integer"}},
    )  # fmt: skip


def test_countries_are_texts_in_yaml(tmp_path: Path) -> None:
    """`NO` and `on` are no truth values, `true` is one."""
    file = tmp_path / "api.yaml"
    schema = "{type: object, required: [c, t], properties: {c: {enum: [NO, SE, on]}, t: {enum: [true]}}}"
    answers = f"{{200: {{content: {{application/json: {{schema: {schema}}}}}}}}}"
    file.write_text(f"openapi: 3.0.0\npaths: {{/things: {{get: {{responses: {answers}}}}}}}\n")
    (found,) = openapi.read_document(file).questions
    assert found.body == {"json": {"c": {"one_of": ["NO", "SE", "on"]}, "t": {"equals": True}}}


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("https://[your-domain]/api/", "/api"),
        ("https://example.com:8080/v1?x=1", "/v1"),
        ("//example.com", ""),
        ("v2", "/v2"),
        ("https://{host}/v1", ""),
    ],
)
def test_the_path_before_all_others(tmp_path: Path, url: str, base: str) -> None:
    """It is read behind any host, also behind one that is to be filled in."""
    assert document(tmp_path, answer({}), servers=[{"url": url}]).base == base


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.json", '{"openapi": }', "is not JSON"),
        ("a.yaml", "a: [", "is neither JSON nor YAML"),
        ("a.json", '{"paths": {}}', "is no OpenAPI document"),
        ("a.json", '{"openapi": "3.0.0"}', "is no OpenAPI document"),
        ("a.yaml", "just words", "is no OpenAPI document"),
    ],
)
def test_what_is_no_document_is_one_sentence(tmp_path: Path, name: str, text: str, words: str) -> None:
    """With what was expected."""
    (tmp_path / name).write_text(text)
    with pytest.raises(LabError, match=words) as caught:
        openapi.read_document(tmp_path / name)
    assert caught.value.exit_code == 2 and caught.value.hint


def test_what_stands_in_another_file_is_said(tmp_path: Path) -> None:
    """A path there is left out by name, and an answer there is no answer that the document lacks."""
    (tmp_path / "a.json").write_text(json.dumps({
        "openapi": "3.0.3",
        "paths": {
            "/pets": {"$ref": "./paths/pets.yaml"},
            "/owners": {"$ref": "#/components/pathItems/owners"},
            "/shops": {"get": {"responses": {"200": {"$ref": "answers.yaml#/shops"}}}},
            "/towns": {"get": {"responses": {"200": {"content": {"application/json": {"schema": {"$ref": "town.yaml"}}}}}}},
        },
        "components": {"pathItems": {"owners": {"$ref": "owners.yaml"}}},
    }))  # fmt: skip
    found = openapi.read_document(tmp_path / "a.json")
    assert found.left_out == (
        "/pets: its `$ref` ./paths/pets.yaml is another file; bundle all into one document",
        "/owners: its `$ref` owners.yaml is another file; bundle all into one document",
    )
    assert [one.answer_marks for one in found.questions] == [
        (
            "content type and body of a good answer: its `$ref` answers.yaml#/shops is another file,"
            " so nothing is held against them",
        ),
        ("what is right of a body, since its `$ref` town.yaml is another file: nothing is held against it",),
    ]


def test_a_parameter_in_another_file_is_named(tmp_path: Path) -> None:
    """Nobody knows where it is sent, and whether it is needed: it is a mark, and no parameter without a name."""
    parameters = [{"$ref": "./p.yaml#/Limit"}, {"name": "page", "in": "query", "required": True, "schema": {"type": "integer"}}]
    paths = {"/pets": {"get": {"parameters": parameters, "responses": {"204": {}}}}}
    (tmp_path / "a.json").write_text(json.dumps({"openapi": "3.0.3", "paths": paths}))
    (one,) = openapi.read_document(tmp_path / "a.json").questions
    assert "a parameter that is not known: its `$ref` ./p.yaml#/Limit is another file" in one.marks
    assert one.path.startswith("/pets?page=") and not one.others


def test_without_a_reader_of_yaml_it_is_said_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON needs no package."""
    monkeypatch.setitem(sys.modules, "yaml", None)
    (tmp_path / "a.yaml").write_text("openapi: 3.0.0\npaths: {}\n")
    with pytest.raises(LabError, match="reading YAML needs the package pyyaml") as caught:
        openapi.read_document(tmp_path / "a.yaml")
    hint = caught.value.hint or ""
    assert hint.startswith(f"{sys.executable} -m pip install pyyaml, ") and "make it JSON" in hint
