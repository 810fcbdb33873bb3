"""The file of `try --requests`: TOML, commands of curl, an HTTP archive, OpenAPI; what is wrong in one is a sentence with its place."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

import pytest

from builders.paths import ROOT
from fairground.inputs import requests
from fairground.inputs.request_files import read_requests
from fairground.model import Expectation, LabError, LoadRequest
from fairground.model.data import Rows
from fairground.model.request_mix import RequestMix

URL = "http://127.0.0.1:3000/"
SHOP = """
[data.people]
rows = [{ email = "ann@example.com" }]
[data.sessions]
for_each = "people"
request = { method = "POST", path = "/login", body = "{people.email}" }
keep = { token = "token" }
[[request]]
path = "/orders"
weight = 9
headers = { authorization = "Bearer {sessions.token}" }
[[request]]
path = "/orders"
[[request]]
name = "create"
method = "post"
path = "/orders"
body = '{{"quantity":{int:1..9}}'
expect = { status = 201 }
"""


def read(folder: Path, name: str, text: str) -> RequestMix:
    """Read a file with this text."""
    (folder / name).write_text(text)
    return read_requests(folder / name, URL)


def test_toml_has_what_a_contract_has(tmp_path: Path) -> None:
    """Rows, logins and weights; names and statuses need not be written. What draws no value, and takes none out, can be asked what is good."""
    found = read(tmp_path, "shop.toml", SHOP)
    told = [(one.name, one.method, one.weight, one.expect.status) for one in found.requests]
    assert told == [("get-orders", "GET", 9, 200), ("get-orders-2", "GET", 1, 200), ("create", "POST", 1, 201)]
    assert list(found.tables) == ["people", "sessions"] and found.unsettled == {"get-orders", "get-orders-2"}
    assert found.title == "3 requests of shop.toml"
    assert read(tmp_path, "shop.toml", SHOP.replace("expect = {", "# {")).unsettled == found.unsettled
    assert read(tmp_path, "shop.toml", SHOP.replace("Bearer {sessions.token", "{sessions.token:once")).unsettled == {
        "get-orders-2"
    }


def test_a_cell_is_a_secret_by_its_name_or_by_where_it_is_sent(tmp_path: Path) -> None:
    """The token of a login under any name. A cell that names a person or a page is none."""
    text = SHOP.replace('token = "token"', 'given = "token", next_token = "next"').replace("sessions.token", "sessions.given")
    found = read(tmp_path, "shop.toml", text)
    rows = {
        "people": Rows(("email",), (("ann@example.com",),)),
        "sessions": Rows(("email", "given", "next_token"), (("a", "t1", "n1"),)),
    }
    assert list(found.secrets_in(rows)) == ["t1", "n1"]


@pytest.mark.parametrize(
    ("right", "wrong", "said", "hint"),
    [
        ("weight = 9", "wait = 9", "unknown key `wait` in `shop.toml`, line 10", None),
        ("weight = 9", "weight = 0", "`request[0].weight` is below 1 in", None),
        ("{sessions.token}", "{session.token}", "nothing is called `session`", "sessions"),
        ('path = "/orders"\nweight', 'path = "orders"\nweight', "`request[0].path` is `orders` in", "begin it with `/`"),
        ('"/orders"\nweight', '"$orders"\nweight', "unknown `$orders` in `request[0].path` of", None),
        ('rows = [{ email = "ann@example.com" }]', 'sql = "SELECT 1 AS email"', "a try has none, in `shop.toml`, line 3", "rows"),
        (
            "expect = { status = 201 }",
            'expect = { status = 201, body = { table = { by = "id", sql = "SELECT 1, 2" } } }',
            "`request[2].expect.body` is a `table` in",
            "init",
        ),
        ("[[request]]", "[[requests]]", "unknown key `requests`", "request"),
    ],
)
def test_a_mistake_in_toml_is_told(right: str, wrong: str, said: str, hint: str | None, tmp_path: Path) -> None:
    """One sentence, with the file and mostly the line, and what to do."""
    assert right in SHOP
    with pytest.raises(LabError) as error:
        read(tmp_path, "shop.toml", SHOP.replace(right, wrong))
    assert said in error.value.message and error.value.hint and (hint or "") in error.value.hint


COMMANDS = r"""
# the front page, twice
curl http://127.0.0.1:3000/
curl -s 'http://127.0.0.1:3000/'
curl 'http://localhost:3000/elsewhere'
curl -X PUT http://127.0.0.1:3000/orders/7?x={1} \
  -H 'Authorization: Bearer x' --compressed \
  --data-raw '{"a":1}' -H 'content-type: application/json'
curl --json '{"b":2}' --url=http://127.0.0.1:3000/orders
curl -dq=1 -d w=2 -u ann:secret -o /dev/null /search
"""


def test_commands_of_curl_become_requests(tmp_path: Path) -> None:
    """Equal ones become one with a weight, other hosts are left out, and braces of theirs are no slots."""
    found = read(tmp_path, "calls.sh", COMMANDS)
    front, put, create, search = found.requests
    assert (front.method, front.path, front.weight) == ("GET", "/", 2)
    assert (put.name, put.path, put.body) == ("put-orders-7", "/orders/7?x={{1}", '{{"a":1}')
    assert put.headers == (
        ("Authorization", "Bearer x"), ("accept-encoding", "gzip, deflate"), ("content-type", "application/json"),
    )  # fmt: skip
    assert (create.method, create.body) == ("POST", '{{"b":2}')
    assert create.headers == (("accept", "application/json"), ("content-type", "application/json"))
    assert search.body == "q=1&w=2" and dict(search.headers) == {
        "authorization": "Basic YW5uOnNlY3JldA==",
        "content-type": "application/x-www-form-urlencoded",
    }
    assert found.unsettled == {one.name for one in found.requests}


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        ("-sXDELETE", ("DELETE", None, ())),
        ("--silent --request DELETE --header 'X-A: b'", ("DELETE", None, (("X-A", "b"),))),
        ("--data '{}' --header 'content-type: text/plain'", ("POST", "{{}", (("content-type", "text/plain"),))),
        ("--user ann:secret --output /dev/null", ("GET", None, (("authorization", "Basic YW5uOnNlY3JldA=="),))),
        ("-so /dev/null", ("GET", None, ())),
        ("-sSd '{}' -H 'content-type: text/plain'", ("POST", "{{}", (("content-type", "text/plain"),))),
        ("-isH'X-A: b'", ("GET", None, (("X-A", "b"),))),
        (
            "--data-raw $'{\"note\":\"it\\'s \\u0021\"}' -H 'content-type: a/b'",
            ("POST", '{{"note":"it\'s !"}', (("content-type", "a/b"),)),
        ),
        ("-H 'Host: shop.example'", ("GET", None, (("Host", "shop.example"),))),
        ("-H 'Host: 127.0.0.1:3000' -H 'Expect:' -H 'If-None-Match: \"1\"'", ("GET", None, ())),
    ],
)
def test_a_command_is_sent_as_curl_sends_it(
    options: str, sent: tuple[str, str | None, tuple[tuple[str, str], ...]], tmp_path: Path
) -> None:
    """Letters together, the quotes of browsers, another host's name, and headers that curl leaves out."""
    (one,) = read(tmp_path, "calls.sh", f"curl {options} http://127.0.0.1:3000/x#y # 'done").requests
    assert (one.method, one.body, one.headers) == sent and one.path == "/x"


def test_an_address_without_a_scheme_is_no_part_of_a_name(tmp_path: Path) -> None:
    """As curl takes it: the host is in the address, and the name has the path."""
    (one,) = read(tmp_path, "calls.sh", "curl 127.0.0.1:3000/x").requests
    assert (one.name, one.path) == ("get-x", "/x")


def test_a_path_is_sent_as_a_request_line_can_hold_it(tmp_path: Path) -> None:
    """Letters beyond ASCII and spaces are percent-encoded, and what is so already stays."""
    (one,) = read(tmp_path, "calls.sh", "curl 'http://127.0.0.1:3000/m\u00fcnchen?q=a b%20c&d={1}'").requests
    assert one.path == "/m%C3%BCnchen?q=a%20b%20c&d={{1}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\ncurl 'http://127.0.0.1:3000/", "`calls.sh`, line 2, opens a quote that is never closed"),
        ("curl http://127.0.0.1:3000/ | jq .", "goes on with `|`"),
        ("curl -sI http://127.0.0.1:3000/", "has `-I`, which is not understood"),
        ("curl -sG -d q=1 http://127.0.0.1:3000/", "has `-G`, which is not understood"),
        ("\nwget http://127.0.0.1:3000/", "`calls.sh`, line 2, begins with `wget`"),
        ("curl -F file=@x http://127.0.0.1:3000/", "has `-F`, which is not understood"),
        ("curl -d @body http://127.0.0.1:3000/", "has `-d`, which is not understood"),
        ("curl http://127.0.0.1:3000/ http://127.0.0.1:3000/", "names two URLs"),
        ("curl -X GET", "names no URL"),
        ('\ncurl -H "X-Key: $KEY" /', "`calls.sh`, line 2, has `$KEY`, which a shell would fill in"),
        ("curl /orders/$ID", "`calls.sh`, line 1, has `$ID`"),
        ('curl -u "ann:$PASS" /', "`calls.sh`, line 1, has `$PASS`"),
        ("curl -X ${method} /", "`calls.sh`, line 1, has `${method}`"),
        ('curl -H "Authorization: Bearer `cat token`" /', "has a command between backticks, which a shell would fill in"),
        ("curl http://127.0.0.1:3001/", "no request of `calls.sh` goes to 127.0.0.1:3000: they go to 127.0.0.1:3001"),
        ("curl 'http://[::1:3000/x'", "`http://[::1:3000/x` in `calls.sh` is not a valid URL (Invalid IPv6 URL)"),
        ("curl localhost:3001/x", "no request of `calls.sh` goes to 127.0.0.1:3000: they go to localhost:3001"),
        ("# nothing", "no request of `calls.sh` goes to 127.0.0.1:3000: it has none"),
    ],
)
def test_a_command_that_is_not_understood_is_told(text: str, said: str, tmp_path: Path) -> None:
    """What would be sent otherwise than curl does is refused, with the line."""
    with pytest.raises(LabError) as error:
        read(tmp_path, "calls.sh", text)
    assert said in error.value.message and error.value.hint


def entry(url: str, status: int, method: str = "GET", body: str | None = None, **headers: str) -> dict[str, object]:
    """One entry of an archive."""
    asked = {"method": method, "url": url, "headers": [{"name": name, "value": value} for name, value in headers.items()]}
    return {"request": asked | ({} if body is None else {"postData": {"text": body}}), "response": {"status": status}}


def test_an_archive_knows_what_was_answered(tmp_path: Path) -> None:
    """Its statuses are good ones; what the browser had already is asked in full, and headers of one connection are left out."""
    own = {"Host": "127.0.0.1:3000", ":authority": "x", "If-None-Match": '"1"', "Accept": "*/*", "Connection": "keep-alive"}
    entries = [
        entry("http://127.0.0.1:3000/list", 304, **own),
        entry("http://127.0.0.1:3000/orders", 201, "POST", '{"a":1}'),
        entry("https://fonts.example.com/x", 200),
        entry("ws://127.0.0.1:3000/", 101),
    ]
    found = read(tmp_path, "shop.har", json.dumps({"log": {"entries": entries}}))
    one, other = found.requests
    assert (one.headers, one.name in found.unsettled) == ((("Accept", "*/*"),), True)
    assert (other.expect.status, other.body, other.name in found.unsettled) == (201, '{{"a":1}', False)


def test_a_header_that_is_typed_replaces_a_recorded_one(tmp_path: Path) -> None:
    """A token of a file may have expired, and nobody fills in `$TOKEN`; what is written as TOML is meant."""
    entries = [entry("http://127.0.0.1:3000/list", 200, authorization=token, Accept="*/*") for token in ("old", "older")]
    (tmp_path / "shop.har").write_text(json.dumps({"log": {"entries": entries}}))
    (tmp_path / "calls.sh").write_text('curl -H "AUTHORIZATION: Bearer $TOKEN" -H "Accept: */*" /list')
    (tmp_path / "login.sh").write_text('curl -u "ann:$PASS" -H "Accept: */*" /list')
    for name in ("shop.har", "calls.sh", "login.sh"):
        (one,) = read_requests(tmp_path / name, URL, ["Authorization"]).requests
        assert one.headers == (("Accept", "*/*"),)
    (tmp_path / "shop.toml").write_text(SHOP)
    assert dict(read_requests(tmp_path / "shop.toml", URL, ["Authorization"]).requests[0].headers)
    given = [{"name": name, "in": place, "required": True, "schema": {"type": "string"}, "example": "made-up"}
             for name, place in (("X-Api-Key", "header"), ("X-Shop", "header"), ("a", "cookie"), ("b", "cookie"))]  # fmt: skip
    document = {"openapi": "3.0.0", "paths": {"/list": {"get": {"parameters": given, "responses": {"200": {}}}}}}
    (tmp_path / "api.json").write_text(json.dumps(document))
    (one,) = read_requests(tmp_path / "api.json", URL, ["x-api-KEY"]).requests
    assert one.headers == (("x-shop", "made-up"), ("cookie", "a=made-up; b=made-up"))


def test_an_answer_without_an_end_is_not_loaded(tmp_path: Path) -> None:
    """A load would wait for each until its time is over: it is left out of an archive, as a WebSocket is."""
    stream, page = entry("http://127.0.0.1:3000/events", 200), entry("http://127.0.0.1:3000/", 200)
    for one, kind in ((stream, "Text/Event-Stream; charset=utf-8"), (page, "text/html")):
        one["response"] = {"status": 200, "content": {"size": 0, "mimeType": kind}}
    found = read(tmp_path, "shop.har", json.dumps({"log": {"entries": [stream, page]}}))
    assert [one.path for one in found.requests] == ["/"]


@pytest.mark.parametrize("text", ["", "{}", '{"log":{"entries":[{}]}}', '{"log":{"entries":7}}', "[1]"])
def test_what_is_no_archive_is_told(text: str, tmp_path: Path) -> None:
    """Not a traceback."""
    with pytest.raises(LabError, match="`shop.har` is no HTTP archive"):
        read(tmp_path, "shop.har", text)


def test_a_document_is_asked_its_examples(tmp_path: Path) -> None:
    """Each GET once, below the document's base; the service's first answer says what is good."""
    ident = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer", "minimum": 3}}
    paths = {"/orders": {"get": {}, "post": {}}, "/orders/{id}": {"parameters": [ident], "get": {}}}
    text = json.dumps({"openapi": "3.0.3", "servers": [{"url": "https://example.com/v1"}], "paths": paths})
    found = read(tmp_path, "api.json", text)
    assert [(one.method, one.path, one.weight) for one in found.requests] == [
        ("GET", "/v1/orders", 1),
        ("GET", "/v1/orders/3", 1),
    ]
    assert found.unsettled == {one.name for one in found.requests} and found.title == "2 requests of api.json"


@pytest.mark.parametrize(
    ("servers", "url", "asked"),
    [
        ([], "https://[::1]:8443/api/v2/", "/api/v2/pets"),
        ([{"url": "/"}], "http://127.0.0.1:3000/api/v2", "/api/v2/pets"),
        ([{"url": "https://example.com/v1"}], "http://127.0.0.1:3000/api/v2", "/v1/pets"),
        ([], "http://127.0.0.1:3000/", "/pets"),
    ],
)
def test_a_document_without_a_base_is_asked_below_the_urls(
    servers: list[dict[str, str]], url: str, asked: str, tmp_path: Path
) -> None:
    """The person says where the service is; the document's own base goes before that."""
    (tmp_path / "api.json").write_text(json.dumps({"openapi": "3.0.3", "servers": servers, "paths": {"/pets": {"get": {}}}}))
    (one,) = read_requests(tmp_path / "api.json", url).requests
    assert one.path == asked


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "is no OpenAPI document"),
        ("{", "is not JSON"),
        ('{"openapi": "3.0.3", "paths": {}}', "has no GET"),
        ('{"openapi": "3.0.3", "paths": {"/a": {"$ref": "b.json"}}}', "/a: its `$ref` b.json is another file; bundle"),
    ],
)
def test_what_is_no_document_is_told(text: str, said: str, tmp_path: Path) -> None:
    """Not a traceback, and with what to do."""
    with pytest.raises(LabError) as error:
        read(tmp_path, "api.json", text)
    assert said in f"{error.value.message} {error.value.hint}" and error.value.hint


def test_other_requests_have_another_digest(tmp_path: Path) -> None:
    """A record that goes on is held to it."""
    one, other = (read(tmp_path, "calls.sh", f"curl /{path}") for path in "ab")
    assert one.digest != other.digest and isinstance(one.requests[0], LoadRequest)


def test_headers_that_the_engine_sends_are_accepted() -> None:
    """It refuses the three that it writes itself, and a contract may ask for an upgrade."""
    refused = re.search(r'\[("[a-z", -]+)\]\s+\.iter\(\)\s+\.any\(\|own\|', (ROOT / "engine/src/core/request.rs").read_text())
    assert refused is not None and set(re.findall(r'"([a-z-]+)"', refused[1])) == requests.ENGINES_OWN
    one = LoadRequest("a", "GET", "/", (("Upgrade", "h2c"), ("Keep-Alive", "timeout=5")), None, Expectation(200))
    requests._check_line(cast(Any, None), one, requests.RequestPlaces((), (), ()))
