"""`try --requests`: what a file asks, with its logins; and what a service or a person does wrong there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import quiet
from builders.encrypted import encrypted
from builders.odd import answer, odd
from builders.paths import ROOT
from builders.waiting import eventually
from fairground.capacity.service import address, behaviour, protocol, question
from fairground.capacity.service.behaviour import Encrypted, NoAnswer
from fairground.capacity.service.request import Asked
from fairground.cli.attempt import OPTIONS, _with_requests
from fairground.host import free_port, listens
from fairground.inputs.request_files import read_requests
from fairground.model import LabError
from fairground.model.record import TryAsked
from fairground.model.wire import Tls

pytestmark = pytest.mark.live

EXAMPLE = ROOT / "examples" / "own-service"
SHOP = EXAMPLE / "shop.toml"


@pytest.fixture
def shop() -> Iterator[int]:
    """The port of the shop of the examples."""
    port = free_port()
    process = subprocess.Popen([sys.executable, str(EXAMPLE / "shop.py"), "--port", str(port), "--indexed"])
    try:
        assert eventually(lambda: listens("127.0.0.1", port))
        yield port
    finally:
        process.kill()
        process.wait()


def asked_at(port: int, file: Path) -> Asked:
    """What a file asks of the service at a port."""
    url = f"http://127.0.0.1:{port}/"
    asked = TryAsked(url, "GET, POST", (), None, "p99<50ms", 1, 20_000, True, False, None)
    return address.request(asked, {}, read_requests(file, url))


def lab(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the lab with these words."""
    environment = os.environ | {"PYTHONPATH": quiet.PATH, "CI": "1", "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, "-m", "fairground", *words], env=environment, capture_output=True, text=True, timeout=120
    )


def attempt(*words: str) -> subprocess.CompletedProcess[str]:
    """Run `try` with these words."""
    return lab("try", *words)


def findings(*words: str) -> dict[str, Any]:
    """What a command finds, as JSON. Beside builds a shop of a hundred threads may leave a request unanswered; nothing else is wrong."""
    done = lab(*words, "--json")
    assert done.returncode in (0, 1), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    wrong = [one["id"] for one in found["checks"] if one["severity"] == "reject"]
    assert set(wrong) <= {"failures"} and bool(wrong) == (done.returncode == 1)
    return found


def test_it_logs_in_and_examines_what_is_loaded(shop: int) -> None:
    """The token is in a row, and the checks ask with it what nobody else may see."""
    asked = asked_at(shop, SHOP)
    several = question.ask_before(asked)
    assert several is not None and several.rows["sessions"].rows == (("ada", "shop-token-of-ada"),)
    seen = question.examine(asked, several)
    assert (seen.status, seen.good, seen.is_compared) == (200, True, False)


def test_posts_alone_are_not_held_to_a_get(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody asks the URL for a page: that it has none is no fault. What else is found there still counts."""
    monkeypatch.setattr(behaviour, "SETTLE_USUAL_S", 0.1)
    (tmp_path / "calls.sh").write_text("curl -X POST /graphql\n")
    with odd(lambda _, head: answer(200 if head.startswith(b"POST") else 400)) as port:
        asked = asked_at(port, tmp_path / "calls.sh")
        seen = question.examine(asked, question.ask_before(asked))
    assert (seen.good, seen.broken, seen.statuses) == (True, (), {"post-graphql": 200})
    assert {"status", "body"}.isdisjoint(found := {one.id for one in seen.findings}) and "split" in found


def test_the_largest_body_bounds_the_connections(tmp_path: Path) -> None:
    """Wherever in the file its request stands: the load engine has to hold two of them on each connection."""
    (tmp_path / "calls.sh").write_text("curl /health\ncurl /export\ncurl /silent\n")
    sizes = {b"/health": 2, b"/export": 400_000, b"/silent": 2}
    with odd(lambda _, head: answer(200, b"x" * sizes[head.split()[1]])) as port:
        asked = asked_at(port, tmp_path / "calls.sh")
        assert question.examine(asked, question.ask_before(asked)).body_bytes == 400_000


def test_sizes_wait_for_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recorded file may have hundreds of requests that are right to fail: each is asked once, without a pause."""
    monkeypatch.setattr(behaviour, "ask_first", pytest.fail)
    monkeypatch.setattr(behaviour, "SETTLE_S", {5: 0.1})
    statuses, seen = {b"/": 200, b"/a": 503, b"/b": 429}, list[bytes]()

    def answers(_: int, head: bytes) -> bytes | None:
        seen.append(path := head.split()[1])
        return None if path == b"/c" else answer(statuses[path], b"xy")

    text = "".join(f'[[request]]\npath = "{path}"\nexpect = {{ status = {status} }}\n'
                   for path, status in (("/", 200), ("/a", 503), ("/b", 429), ("/c", 200)))  # fmt: skip
    (tmp_path / "shop.toml").write_text(text)
    with odd(answers) as port:
        asked = asked_at(port, tmp_path / "shop.toml")
        assert question.examine(asked, question.ask_before(asked)).body_bytes == 2
    assert [seen.count(path) for path in (b"/a", b"/b", b"/c")] == [1, 1, 1]


def test_the_first_answer_says_what_is_good(shop: int, tmp_path: Path) -> None:
    """Where no status is written, the service's own is; a request's own header is sent once."""
    (tmp_path / "calls.sh").write_text(
        f"curl -X POST http://127.0.0.1:{shop}/login\ncurl -d '{{}}' http://127.0.0.1:{shop}/orders -H 'accept: text/x'\n"
    )
    asked = asked_at(shop, tmp_path / "calls.sh")
    several = question.ask_before(Asked(**{**vars(asked), "headers": (("Accept", "*/*"), ("x-own", "{1}"))}))
    assert several is not None and [one.expect.status for one in several.requests] == [200, 201]
    order = dict(several.requests[1].headers)
    assert (order["accept"], order["x-own"], "Accept" in order) == ("text/x", "{{1}", False)


def test_a_request_with_a_token_is_asked_what_is_good(shop: int, tmp_path: Path) -> None:
    """As one without slots is: whoever logs in and creates something is right to be told 201."""
    text = SHOP.read_text().replace("{int:1..9}", "1").replace("expect  =", "#")
    (tmp_path / "shop.toml").write_text(text)
    several = question.ask_before(asked_at(shop, tmp_path / "shop.toml"))
    assert several is not None and {one.name: one.expect.status for one in several.requests} == {"get-orders": 200, "order": 201}
    assert dict(several.requests[1].headers)["authorization"] == "Bearer {sessions.token}"


def test_a_refusal_ends_it_with_a_sentence(shop: int, tmp_path: Path) -> None:
    """A command that the service refuses, and a login that it does: both before any load."""
    (tmp_path / "calls.sh").write_text(f"curl http://127.0.0.1:{shop}/orders\n")
    with pytest.raises(LabError) as error:
        question.ask_before(asked_at(shop, tmp_path / "calls.sh"))
    assert error.value.message == '`get-orders`, GET /orders, was answered with status 401: {"error": "log in"}'
    assert error.value.hint and error.value.hint.startswith("it asks who you are (--header 'Authorization: …'); if that is right")
    with odd(lambda *_: answer(302, b"", "location: /login?token=w0rd")) as port:
        (tmp_path / "calls.sh").write_text(f"curl -L http://127.0.0.1:{port}/orders\n")
        with pytest.raises(LabError, match=r"answered with status 302: a redirect to /login\?token=\(hidden\)$") as error:
            question.ask_before(asked_at(port, tmp_path / "calls.sh"))
    assert error.value.hint == "ask there; if that is right, write TOML: expect = { status = 302 }"
    with odd(lambda *_: answer(302, b"", f"location: /{'x' * 30_000}")) as port:
        (tmp_path / "calls.sh").write_text(f"curl http://127.0.0.1:{port}/orders\n")
        with pytest.raises(LabError, match="answered with status 302: a redirect to /xxx") as error:
            question.ask_before(asked_at(port, tmp_path / "calls.sh"))
    assert len(error.value.message) < 2_000, "a sentence, however long the address"
    with odd(lambda *_: answer(403, b"no")) as port, pytest.raises(LabError) as error:
        question.ask_before(asked_at(port, SHOP))
    assert error.value.message == "`POST /login`, which fills the table `data.sessions`, was answered with status 403: no"


def test_an_answer_that_is_not_good_has_its_own_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the checks; a start is waited for, and a rate limit once."""
    monkeypatch.setattr(protocol, "LIMITED_S", 0.05)
    monkeypatch.setattr(behaviour, "SETTLE_S", {5: 0.5})
    monkeypatch.setattr(behaviour, "SETTLE_PAUSE_S", 0.02)
    (tmp_path / "calls.sh").write_text("curl /orders\n")
    for status, advice, code in (
        (404, "is this the path that you mean?", 2),
        (405, "is this the method", 2),
        (500, "look into the service's log", 1),
    ):
        with odd(lambda *_, status=status: answer(status)) as port, pytest.raises(LabError) as error:
            question.ask_before(asked_at(port, tmp_path / "calls.sh"))
        assert error.value.hint and error.value.hint.startswith(advice) and error.value.exit_code == code
    for bad, good in ((429, 1), (503, 3)):
        with odd(lambda number, _, bad=bad, good=good: answer(200 if number >= good else bad, b"", "retry-after: 1")) as port:
            several = question.ask_before(asked_at(port, tmp_path / "calls.sh"))
        assert several is not None and several.requests[0].expect.status == 200
    with odd(lambda *_: answer(429)) as port, pytest.raises(LabError, match="was answered with status 429"):
        question.ask_before(asked_at(port, tmp_path / "calls.sh"))


def test_who_cannot_be_asked_is_told_as_without_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody there, TLS that was asked in plain HTTP, a certificate that nobody believes: for commands, and for a login."""
    (tmp_path / "calls.sh").write_text("curl /orders\n")
    for file in (tmp_path / "calls.sh", SHOP):
        with pytest.raises(NoAnswer) as nobody:
            question.ask_before(asked_at(free_port(), file))
        assert nobody.value.exit_code == 3 and (nobody.value.hint or "").startswith("start the service first")
        with encrypted("good") as port:
            asked = asked_at(port, file)
            with pytest.raises(Encrypted, match="the service speaks TLS"):
                question.ask_before(asked)
            with pytest.raises(LabError, match="no authority that is trusted here signed its certificate") as stranger:
                question.ask_before(replace(asked, tls=Tls("localhost")))
        assert "--ca FILE" in (stranger.value.hint or "")
        with monkeypatch.context() as patched, odd(lambda *_: answer(400, b"an HTTP request to an HTTPS server")) as port:
            patched.setattr(behaviour, "speaks_tls", lambda *_: True)
            with pytest.raises(Encrypted):
                question.ask_before(asked_at(port, file))


def test_a_login_has_the_host_and_the_headers_of_all_requests() -> None:
    """The name of the URL, though an address is asked, and the key that a person gave; its own headers stand."""
    heads = list[str]()

    def answers(_: int, head: bytes) -> bytes:
        heads.append(head.decode().lower())
        return answer(200, b'{"token": "t"}')

    with odd(answers) as port:
        asked = replace(asked_at(port, SHOP), authority="shop.test", headers=(("X-Api-Key", "k{1}"), ("Content-Type", "a/b")))
        assert question.ask_before(asked) is not None
    head, *_ = heads
    assert head.startswith("post /login ") and "\r\nx-api-key: k{1}" in head and head.count("\r\ncontent-type:") == 1
    assert head.count("\r\nhost:") == head.count("\r\nhost: shop.test") == 1


def test_a_recorded_token_gives_way_to_a_typed_one(tmp_path: Path) -> None:
    """The service sees the new one alone: what a browser saved may have expired."""
    heads = list[str]()
    call = {"method": "GET", "url": "/list", "headers": [{"name": "Authorization", "value": "old"}]}
    (tmp_path / "shop.har").write_text(json.dumps({"log": {"entries": [{"request": call, "response": {"status": 200}}]}}))

    def answers(_: int, head: bytes) -> bytes:
        heads.append(head.decode())
        return answer(200)

    with odd(answers) as port:
        given = {option.name: option.default for option in OPTIONS} | {"requests": tmp_path / "shop.har"}
        tried = TryAsked(
            f"http://127.0.0.1:{port}/", "GET", (("authorization", "new"),), None, "p99<50ms", 1, 2000, True, False, None
        )
        tried, mix = _with_requests(given, tried)
        several = question.ask_before(asked := address.request(tried, {}, mix))
        question.examine(asked, several)
    assert several is not None and dict(several.requests[0].headers)["authorization"] == "new"
    assert heads and all("authorization: new" in head and "old" not in head for head in heads if head.startswith("GET /list "))


def test_a_password_of_the_file_is_shown_by_nobody(tmp_path: Path) -> None:
    """A service that repeats what it was sent: neither the sentence nor the record has the password of a row or a body."""
    rows = SHOP.read_text().replace('{ name = "ada" }', '{ name = "ada", password = "hunter2-of-ada" }')
    (tmp_path / "rows.toml").write_text(rows)
    (tmp_path / "calls.sh").write_text("""curl /login --json '{"name":"ada","password":"hunter2-of-ada"}'\n""")
    for file in ("rows.toml", "calls.sh"):
        with odd(lambda *_: answer(403, b"no: hunter2-of-ada")) as port:
            done = attempt(
                f"http://127.0.0.1:{port}/", "--requests", str(tmp_path / file), "--no-load", "--results", str(tmp_path / "kept")
            )
        assert done.returncode == 2 and "was answered with status 403: no: (hidden)" in done.stderr, done.stderr
        assert not [one for one in (tmp_path / "kept").rglob("*") if one.is_file() and b"hunter2" in one.read_bytes()]


@pytest.mark.nightly
def test_one_request_of_a_file_is_of_a_file(shop: int, tmp_path: Path) -> None:
    """Nothing is said of bodies that are held against the first one, and what to try next names the file."""
    (tmp_path / "calls.sh").write_text(f"curl -X POST http://127.0.0.1:{shop}/login\n")
    kept = ("--results", str(tmp_path / "kept"))
    done = attempt(f"http://127.0.0.1:{shop}/", "--requests", str(tmp_path / "calls.sh"), "--window", "1", *kept)
    assert done.returncode in (0, 1) and "for the file of requests says nothing of it" in done.stdout, done.stderr
    assert "every answer has status" not in done.stdout and "good answers a second" in done.stdout
    (page,) = (tmp_path / "kept").glob("*/try.html")
    assert "is what the file of requests expects" in page.read_text() and "equals the first one" not in page.read_text()
    why = lab("why", "latest", *kept)
    assert "--against URL_B --requests FILE" in why.stdout and "capacity URL --requests FILE" in why.stdout


def test_a_capacity_asks_several(shop: int, tmp_path: Path) -> None:
    """The file's requests are loaded, and the rate that is told is measured three times more; a starved generator may tell none."""
    kept = ("--slo", "p50<2s,errors<40%", "--results", str(tmp_path))
    done = lab("capacity", f"http://127.0.0.1:{shop}/", "--requests", str(SHOP), *kept, "--json")
    found = json.loads(done.stdout)
    wrong = {one["id"] for one in found["checks"] if one["severity"] == "reject"}
    missed = {point["judgement"] for point in found["curve"]} & {"missed", "UNSTABLE"}
    ends = 1 if wrong or (found["kept_per_s"] is None and missed) else 3 if found["kept_per_s"] is None else 0
    assert wrong <= {"failures"} and done.returncode == ends, done.stderr
    assert found["method"] == "GET, POST" and all(set(one["requests"]) == {"get-orders", "order"} for one in found["closed"])
    told = [point["trial"] for point in found["curve"] if point["rate_per_s"] == found["kept_per_s"]]
    assert found["kept_per_s"] is None or max(told) >= 4
    assert found["kept_per_s"] is not None or {point["judgement"] for point in found["curve"]} != {"kept"}


def test_each_request_has_its_numbers(shop: int, tmp_path: Path) -> None:
    """They stand in the text, in the JSON and on the page; the record keeps neither token nor rows, and goes on with the same file."""
    url, kept = f"http://127.0.0.1:{shop}/", ("--results", str(tmp_path), "--window", "1")
    found = findings("try", url, "--requests", str(SHOP), "--slo", "p50<2s,errors<50%", *kept)
    assert found["method"] == "GET, POST"
    for loop in found["closed"]:
        shares = loop["requests"]
        assert set(shares) == {"get-orders", "order"} and all(one["goodput_per_s"] > 0 for one in shares.values())
        assert sum(one["due"] for one in shares.values()) == loop["due"]
    told = {one["id"]: one["sentence"] for one in found["checks"]}
    assert "body" not in told and told["compared"].endswith("was not compared, for the file of requests says nothing of it")
    folder = Path(found["folder"])
    page = (folder / "try.html").read_text()
    assert "t-requests" in page and "is what the file of requests expects" in page
    assert not [file for file in folder.rglob("*") if file.is_file() and b"shop-token-of-ada" in file.read_bytes()]
    assert "give them again: --requests FILE" in attempt("--resume", folder.name, *kept[:2]).stderr
    (tmp_path / "other.toml").write_text(SHOP.read_text().replace("weight  = 4", "weight  = 5"))
    other = attempt("--resume", folder.name, *kept[:2], "--requests", str(tmp_path / "other.toml"))
    assert other.returncode == 2 and "holds others than the record's 2 requests of shop.toml" in other.stderr
    again = attempt("--resume", folder.name, *kept[:2], "--requests", str(SHOP))
    assert again.returncode in (0, 1) and "get-orders" in again.stdout, again.stderr
    assert "GET, POST may write" in again.stderr
