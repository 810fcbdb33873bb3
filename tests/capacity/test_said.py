"""What failed is said: statuses, redirects, rate limits, bodies that differ, connections that are closed. Honest twins pass."""

from __future__ import annotations

import gzip
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import replace

import pytest

from builders.odd import Answers, answer, odd
from fairground.capacity.service import behaviour, coding, graphql, protocol
from fairground.capacity.service.redirect import redirect_of
from fairground.capacity.service.request import Asked
from fairground.capacity.service.values import OPEN_CONNECTIONS, Conduct, most_connections
from fairground.contract.wire import HttpAnswer
from fairground.model import Finding, Severity

TEXT = b"one line, one line, one line"


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits for seconds."""
    monkeypatch.setattr(behaviour, "SETTLE_S", {5: 1.5})
    monkeypatch.setattr(behaviour, "SETTLE_USUAL_S", 0.1)
    monkeypatch.setattr(behaviour, "SETTLE_PAUSE_S", 0.02)
    monkeypatch.setattr(protocol, "IDLE_S", 0.2)
    monkeypatch.setattr(protocol, "LIMITED_S", 0.05)


def seen(answers: Answers, expects: int | None = None, follows: bool = False, most: int = 1 << 30) -> Conduct:
    """What the checks find of such a service."""
    with odd(answers, most=most) as port:
        return behaviour.examine(Asked("127.0.0.1", port, f"localhost:{port}", "GET", "/", expects=expects, follows=follows))


def of(found: Conduct, id: str) -> Finding:
    """The finding of one check."""
    return next(one for one in found.findings if one.id == id)


@pytest.mark.live
@pytest.mark.parametrize(
    ("status", "headers", "severity", "says", "good"),
    [
        (200, (), Severity.NOTE, "all with status 200", True),
        (401, (), Severity.REJECT, "every answer has status 401: it asks who you are (--header 'Authorization: …')", False),
        (404, (), Severity.REJECT, "is this the path that you mean?", False),
        (500, (), Severity.REJECT, "every answer has status 500: look into the service's log", False),
        (418, (), Severity.REJECT, "is this the request that you mean?", False),
        (429, (), Severity.REJECT, "a rate limit refuses every request", False),
        (302, ("location: /login",), Severity.WARN, "every answer is a redirect, 302 to /login: --follow asks there", True),
        (307, ("location: http://other.example/x",), Severity.WARN, "a redirect, 307 to http://other.example/x", True),
        (301, ("location: /",), Severity.WARN, "301 to /, which is the same place", True),
        (302, ("location: http://me:w0rd@h.example/x",), Severity.WARN, "302 to http://(hidden)@h.example/x", True),
        (302, ("location: /x?page=1&token=w0rd",), Severity.WARN, "302 to /x?page=1&token=(hidden): --follow asks there", True),
    ],
)
def test_statuses_are_told_as_what_they_are(
    status: int, headers: tuple[str, ...], severity: Severity, says: str, good: bool
) -> None:
    """What no client wants is no good answer, and the sentence says what to do."""
    found = seen(lambda *_: answer(status, b"x", *headers))
    told = of(found, "status")
    assert (found.status, told.severity, found.good) == (status, severity, good) and says in told.sentence


@pytest.mark.live
def test_a_status_that_is_expected_is_good() -> None:
    """Who means a refusal says so; who expects another status than comes is told."""
    assert of(found := seen(lambda *_: answer(401), 401), "status").severity is Severity.NOTE and found.good
    assert (
        "every answer has status 200, and 401 was expected" in of(other := seen(lambda *_: answer(200), 401), "status").sentence
    )
    assert not other.good and other.broken


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"errors": [{"message": "no field `x`"}]}', "no field `x`"),
        (b'{"errors": ["wrong"], "data": null}', "wrong"),
        (b'{"errors": [{"code": 7}]}', ""),
        (b'{"errors": [{"message": "one field"}], "data": {"a": null}}', None),
        (b'{"errors": [], "data": {"a": 1}}', None),
        (b'{"errors": 3}', None),
        (b'["errors"]', None),
        (b"[" * 100_000, None),
        (b"errors", None),
        (b"\xff", None),
    ],
)
def test_errors_without_data_are_a_refusal(content: bytes, message: str | None) -> None:
    """A part of an answer may fail; what has errors alone is none."""
    assert graphql.refusal_of(content) == message


@pytest.mark.live
@pytest.mark.parametrize("packed", [False, True])
def test_a_refusal_with_a_good_status_is_told(packed: bool) -> None:
    """Under load a refused query would be taken for a good answer: the checks warn of it, and it stays loadable."""
    body = b'{"errors": [{"message": "Syntax Error"}]}'
    with_coding = answer(200, gzip.compress(body), "content-encoding: gzip") if packed else answer(200, body)
    found = seen(lambda *_: with_coding)
    assert of(found, "errors").severity is Severity.WARN and "refuses a query: Syntax Error" in of(found, "errors").sentence
    assert found.good and not found.broken


@pytest.mark.live
def test_a_stream_without_an_end_is_told_as_one() -> None:
    """More time never helps, so that is not what the hint says."""
    with odd(lambda *_: answer(200, b"data: 1\n\n", "content-type: text/event-stream", length=1 << 20)) as port:
        asked = Asked("127.0.0.1", port, f"localhost:{port}", "GET", "/", patience_s=0.3)
        with pytest.raises(behaviour.NoAnswer, match="its body had not ended") as refused:
            behaviour.examine(asked)
    assert refused.value.hint == behaviour.UNENDED


@pytest.mark.live
@pytest.mark.parametrize("first", [503, 502, 404])
def test_what_comes_after_the_start_is_good(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that answers badly while it starts is held to what it answers then."""
    monkeypatch.setattr(behaviour, "SETTLE_S", {first // 100: 60.0})
    found = seen(lambda number, _: answer(first if number <= behaviour.REPEATS else 200))
    assert (found.status, found.good, found.broken) == (200, True, ())
    assert of(found, "start").sentence.startswith(f"it answered with status {first} for ")


@pytest.mark.live
def test_a_service_that_fails_now_and_then_has_started() -> None:
    """Who answered well before fails: that is no start, whatever comes later."""
    found = seen(lambda number, _: answer(500 if number == 5 else 200))
    assert of(found, "status").severity is Severity.REJECT and "the statuses 200, 500" in of(found, "status").sentence
    assert not [one for one in found.findings if one.id == "start"]


@pytest.mark.parametrize(
    ("first", "expects", "severity"),
    [(201, None, Severity.WARN), (204, None, Severity.WARN), (201, 200, Severity.REJECT), (404, None, Severity.REJECT)],
)
def test_statuses_that_are_all_good_are_a_warning(first: int, expects: int | None, severity: Severity) -> None:
    """As of a PUT, which makes what is not there and replaces it from then on."""
    answers = [HttpAnswer(status, "1.1", (("content-length", "0"),), b"") for status in (first, *[200] * 19)]
    asked = Asked("127.0.0.1", 80, "localhost", "PUT", "/items/7", expects=expects)
    told = behaviour._statuses(asked, behaviour._Sequence(answers), 200, None)
    assert told.severity is severity and told.sentence.startswith("the same request got the statuses 20")


@pytest.mark.live
@pytest.mark.parametrize("lost", [(0, 3), (18,)], ids=["two", "the last"])
def test_some_requests_without_an_answer_are_counted(lost: tuple[int, ...]) -> None:
    """The others were answered: that is what is said, and not that nobody answers."""

    def answers(number: int, _: bytes) -> bytes | None:
        return None if number - 1 in lost else answer(200, b"hello", "connection: close")

    found = seen(answers)
    told = of(found, "unanswered")
    assert told.severity is Severity.REJECT and told in found.broken
    assert told.sentence.startswith(f"{len(lost)} of 20 requests, sent one after the other, got no answer: the connection broke")


@pytest.mark.live
def test_an_old_version_keeps_no_connection() -> None:
    """HTTP/1.0 closes unless it says otherwise: each request gets its answer, and nothing could be kept open."""
    found = seen(lambda *_: answer().replace(b"HTTP/1.1", b"HTTP/1.0", 1), most=1)
    assert (
        of(found, "keep-alive").sentence == "20 requests needed 20 connections: the service speaks HTTP/1.0, and keeps none open"
    )
    assert of(found, "status").sentence == "20 answers, all with status 200"


@pytest.mark.live
def test_a_long_request_is_sent_in_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its beginning comes byte by byte, and the rest at once: else a service with a time limit would seem broken."""
    sent, send = list[bytes](), protocol.ServiceWire.send
    monkeypatch.setattr(protocol.ServiceWire, "send", lambda wire, data: (sent.append(data), send(wire, data))[1])
    with odd(lambda *_: answer(200, b"hello", "connection: close")) as port:
        asked = Asked("127.0.0.1", port, "localhost", "POST", "/", body=b"x" * 50_000)
        assert protocol._split(asked, 200) is None
    assert protocol.SINGLE_BYTES < len(sent) < 2 * protocol.SINGLE_BYTES and all(sent)


@pytest.mark.live
def test_a_rate_limit_is_named() -> None:
    """Refusals for asking too often are no broken conduct, and what they hide is not told as wrong."""
    found = seen(lambda number, _: answer() if number < 12 else answer(429, b"", "retry-after: 1"))
    told = of(found, "status")
    assert (found.status, told.severity) == (200, Severity.WARN)
    assert told.sentence == "a rate limit refused 8 of 20 requests, one after the other: status 429, to be asked again after 1 s"
    assert found.broken == () and "a rate limit refused it (429)" in of(found, "split").sentence
    dated = "retry-after: Tue, 01 Dec 2026 02:00:00 GMT"
    told = of(seen(lambda number, _: answer() if number < 12 else answer(429, b"", dated)), "status")
    assert told.sentence.endswith("to be asked again after Tue, 01 Dec 2026 02:00:00 GMT")


@pytest.mark.live
@pytest.mark.parametrize(
    ("status", "expects", "passes"), [(401, None, False), (404, 200, False), (401, 401, True), (302, None, True)]
)
def test_a_rate_limit_hides_no_status_that_is_bad(status: int, expects: int | None, passes: bool) -> None:
    """A login that locks out after ten tries is not loaded, and fails; where its status is expected, it passes."""
    found = seen(lambda number, _: answer(status if number < 10 else 429), expects=expects)
    assert found.good is passes and (found.broken == ()) is passes
    if not passes:
        assert of(found, "status").sentence.startswith(f"the same request got the statuses {status}, 429: ")


@pytest.mark.live
@pytest.mark.parametrize("large", [0, 7, 19])
def test_the_largest_of_the_answers_bounds_the_connections(large: int) -> None:
    """Whichever it is: a list that grows is not the size of its first answer. Small answers alone leave all connections."""
    found = seen(lambda number, _: answer(200, b"x" * (400_000 if number == large else 10)))
    assert found.body_bytes == 400_000 and most_connections(found.body_bytes) < OPEN_CONNECTIONS
    assert most_connections(seen(lambda *_: answer()).body_bytes) == OPEN_CONNECTIONS


@pytest.mark.live
def test_a_redirect_is_followed_once() -> None:
    """On the same host, where that is asked for; the place it leads to is what is examined and loaded."""

    def answers(_: int, head: bytes) -> bytes:
        return answer(302, b"", "location: /home?a=1") if head.split()[1] == b"/" else answer(200, b"home")

    found = seen(answers, follows=True)
    assert (found.status, found.target, found.body) == (200, "/home?a=1", b"home") and found.good
    assert of(found, "redirect").sentence == "302 to /home?a=1 was followed: all of this is about /home?a=1"
    for place, host, is_there in (
        ("http://shop.test/home?a=1", "shop.test", True),
        ("http://SHOP.test:80/home?a=1", "shop.test:80", True),
        ("https://shop.test/home?a=1", "shop.test", False),
        ("http://else.test/home?a=1", "shop.test", False),
    ):

        def named(_: int, head: bytes, place: str = place) -> bytes:
            return answer(302, b"", f"location: {place}") if head.split()[1] == b"/" else answer(200, b"home")

        with odd(named) as port:
            asked = Asked("127.0.0.1", port, f"localhost:{port}", "GET", "/", headers=(("Host", host),), follows=True)
            assert (behaviour.examine(asked).target == "/home?a=1") is is_there
    circle = seen(lambda *_: answer(302, b"", "location: /next"), follows=True)
    assert (circle.status, circle.target) == (302, "/next") and "302 to /next, which is the same place" in of(
        circle, "status"
    ).sentence


def packed(wbits: int) -> Callable[[bytes], bytes]:
    """A compressor with zlib's frame, or without any."""

    def pack(text: bytes) -> bytes:
        made = zlib.compressobj(wbits=wbits)
        return made.compress(text) + made.flush()

    return pack


@pytest.mark.live
@pytest.mark.parametrize(
    ("named", "pack", "same", "says"),
    [
        ("gzip", lambda number: gzip.compress(TEXT, mtime=number), True, "and are compared under load (as gzip: what they hold)"),
        ("gzip", lambda number: gzip.compress(TEXT + b"!" * (number % 2), mtime=0), False, "2 different bodies in"),
        ("deflate", lambda _: packed(15)(TEXT), True, "are compared under load (as deflate"),
        ("deflate", lambda _: packed(-15)(TEXT), True, "are compared under load (as deflate"),
        ("br", lambda _: TEXT, True, "are compared under load (as br"),
        ("zstd", lambda number: TEXT[: number % 2], False, "2 different bodies in"),
        ("compress", lambda _: TEXT, True, "come as `compress`, which is not read here: under load only the status is held"),
        ("gzip", lambda _: gzip.compress(TEXT, mtime=0)[:-4], True, "come as gzip, and cannot be decompressed"),
    ],
)
def test_compressed_bodies_are_what_they_hold(named: str, pack: Callable[[int], bytes], same: bool, says: str) -> None:
    """The time in gzip's header makes no other body; a lie in it does; what cannot be read is said."""
    found = seen(lambda number, _: answer(200, pack(number), f"content-encoding: {named}"))
    assert says in of(found, "body").sentence and (found.body is not None) is same
    assert found.is_compared is (same and named != "compress") and found.coding == named


@pytest.mark.live
@pytest.mark.parametrize(
    ("method", "status", "waits"), [("POST", 303, False), ("POST", 422, False), ("POST", 503, True), ("GET", 404, True)]
)
def test_a_write_is_not_repeated_until_it_is_good(monkeypatch: pytest.MonkeyPatch, method: str, status: int, waits: bool) -> None:
    """A service that starts answers with 500 or more; another status to a write is its answer, and each one more may write."""
    once = list[int]()

    def ask_once(asked: Asked) -> HttpAnswer:
        once.append(1)
        return HttpAnswer(status, "1.1", (), b"")

    monkeypatch.setattr(behaviour, "ask_once", ask_once)
    with odd(lambda *_: answer(status)) as port:
        behaviour._settled(Asked("127.0.0.1", port, "localhost", method, "/", body=b"" if method == "POST" else None))
    assert bool(once) is waits


@pytest.mark.live
def test_a_connection_that_the_lab_gives_up_is_no_close_of_the_services() -> None:
    """One answer that does not come in time takes its connection with it; a service that closes is told as before."""
    over = threading.Event()

    def answers(number: int, _: bytes) -> bytes:
        if number == 5:
            over.wait(60)
        return answer()

    with odd(answers) as port:
        found = behaviour.examine(Asked("127.0.0.1", port, f"localhost:{port}", "GET", "/", patience_s=1.0))
        over.set()
    assert (told := of(found, "keep-alive")).severity is Severity.NOTE and "closed no connection; 1 had" in told.sentence
    assert found.kept_open and of(found, "unanswered").severity is Severity.REJECT
    assert of(seen(lambda *_: answer(), most=5), "keep-alive").severity is Severity.WARN


@pytest.mark.live
def test_no_advice_is_a_dead_end() -> None:
    """What was followed already, and what is not asked with GET, cannot be followed; who is refused may need a header."""
    again = seen(
        lambda _, head: answer(302, b"", "location: /app" if head.split()[1] == b"/" else "location: /login"), follows=True
    )
    assert of(again, "status").sentence == "every answer is a redirect, 302 to /login"
    with odd(lambda *_: answer(303, b"", "location: /orders/0")) as port:
        posted = behaviour.examine(Asked("127.0.0.1", port, f"localhost:{port}", "POST", "/", body=b""))
    assert of(posted, "status").sentence == "every answer is a redirect, 303 to /orders/0"
    plain = seen(lambda *_: answer(302, b"", "location: /login"))
    assert of(plain, "status").sentence == "every answer is a redirect, 302 to /login: --follow asks there"
    assert of(seen(lambda *_: answer(401), expects=200), "status").sentence.endswith(
        "200 was expected: it asks who you are (--header 'Authorization: …')"
    )
    assert of(seen(lambda *_: answer(404), expects=200), "status").sentence.endswith("200 was expected")


@pytest.mark.live
@pytest.mark.parametrize(
    ("status", "body", "says"),
    [(204, b"", "are empty: under load only"), (200, gzip.compress(bytes(17 << 20)), "hold more than 16 MiB: under load only")],
    ids=["empty", "long"],
)
def test_compressed_bodies_that_are_not_read_are_no_lie(status: int, body: bytes, says: str) -> None:
    """Nothing is held against them under load. A stream that is cut before its end stays a lie."""
    found = seen(lambda *_: answer(status, body, "content-encoding: gzip"))
    assert says in of(found, "body").sentence and found.broken == () and found.body is None
    assert coding.is_spoiled(HttpAnswer(200, "1.1", (("content-encoding", "gzip"),), gzip.compress(TEXT)[:-4]))


def test_contents_are_read_to_their_end() -> None:
    """Members that follow each other are one text; what ends early is none; identity is itself."""

    def held(named: str | None, body: bytes) -> bytes | None:
        headers = () if named is None else (("content-encoding", named),)
        return coding.content_of(HttpAnswer(200, "1.1", headers, body))

    assert held("GZIP", gzip.compress(b"a") + gzip.compress(b"b")) == b"ab"
    assert held(None, b"a") == held("identity", b"a") == b"a" and held("br", b"a") is None
    assert held("gzip", gzip.compress(b"a")[:-1]) is None and held("deflate", b"none") is None


@pytest.mark.live
def test_a_connection_closed_while_it_is_idle_is_told() -> None:
    """A client that keeps such a connection loses its next request; one that stays open is said to."""
    with odd(lambda *_: answer(), most=1) as port:
        wrong = protocol._idle(Asked("127.0.0.1", port, "localhost", "GET", "/"), 200)
    assert wrong is not None and wrong.startswith("the service closes it without a word after 0.0")
    with odd(lambda *_: answer().replace(b"HTTP/1.1", b"HTTP/1.0", 1), most=1) as port:  # which closes unless it says otherwise
        assert protocol._idle(Asked("127.0.0.1", port, "localhost", "GET", "/"), 200) is None
    with odd(lambda *_: answer()) as port:
        assert protocol._idle(Asked("127.0.0.1", port, "localhost", "GET", "/"), 200) is None


@pytest.mark.live
def test_each_answer_has_its_own_time() -> None:
    """Many slow answers on one connection are answers; the wait is the one that was asked for."""
    told = threading.Event()

    def slow(number: int, _: bytes) -> bytes:
        if number < behaviour.REPEATS:
            time.sleep(0.08)
        else:
            told.wait(2)  # a client that waits as long as usual gets an answer
        return answer()

    with odd(slow) as port:
        patient = Asked("127.0.0.1", port, "localhost", "GET", "/", patience_s=1.5)
        assert len(behaviour._repeated(patient).answers) == behaviour.REPEATS, "1.6 s in all, each far below 1.5"
        with pytest.raises(behaviour.Trouble, match="no answer in time"):
            behaviour._repeated(Asked("127.0.0.1", port, "localhost", "GET", "/", patience_s=0.04))
        told.set()


@pytest.mark.live
def test_a_body_that_changes_with_the_time_is_not_held_against_later_ones() -> None:
    """The repeated answers may fall into one second; the last one does not. Who knows that bodies differ can say it."""
    began = time.monotonic()
    with odd(lambda *_: answer(body=b"late" if time.monotonic() > began + 0.15 else b"soon")) as port:
        asked = Asked("127.0.0.1", port, "localhost", "GET", "/")
        found = behaviour.examine(asked)
        told = behaviour.examine(replace(asked, any_body=True))
    assert (
        found.body is None and not found.is_compared and sentence_of(found, "body").startswith("2 different bodies in 21 answers")
    )
    assert (
        told.body is None and sentence_of(told, "body") == "--any-body was given: under load only the status is held against them"
    )


def sentence_of(found: Conduct, id: str) -> str:
    """What one check says."""
    return next(one.sentence for one in found.findings if one.id == id)


def test_addresses_follow_each_other() -> None:
    """The request can go to each address of a name, and to each once."""
    asked = Asked("127.0.0.1", 1, "localhost", "GET", "/", others=("::1", "::2"))
    assert [(one.host, one.others) for one in asked.addresses] == [
        ("127.0.0.1", ("::1", "::2")), ("::1", ("127.0.0.1", "::2")), ("::2", ("127.0.0.1", "::1"))
    ]  # fmt: skip


def test_a_redirect_without_an_end_is_told_by_its_beginning() -> None:
    """A service may send as much as it likes: nobody reads all of it, and it is not followed."""
    asked = Asked("127.0.0.1", 80, "localhost:80", "GET", "/", follows=True)
    place = redirect_of(asked, HttpAnswer(302, "1.1", (("location", f"/x?token=w0rd&{'a' * 60_000}"),), b""))
    assert place is not None and place.target is None and len(place.words) < 400
    assert place.words.startswith("302 to /x?token=(hidden)&aaa") and place.words.endswith("…")
    short = redirect_of(asked, HttpAnswer(302, "1.1", (("location", "/y"),), b""))
    assert short is not None and short.target == "/y"
