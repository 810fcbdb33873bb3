"""What is found of any HTTP service from outside, held against servers that misbehave by a script."""

from __future__ import annotations

import base64
import socket
from dataclasses import replace

import pytest

from builders.odd import playing
from builders.service import served
from fairground.capacity.service import behaviour, drive, protocol, question
from fairground.capacity.service.request import Asked
from fairground.capacity.service.values import Conduct
from fairground.host import RoleMeter, listener
from fairground.model import Audit, LabError, LoadRequest, Severity, Workload
from fairground.model.data import Rows


def asked(port: int, method: str = "GET", body: bytes | None = None) -> Asked:
    """A request to a server of ours."""
    return Asked("127.0.0.1", port, f"127.0.0.1:{port}", method, "/x?a={1}", (("Accept", "text/plain"),), body)


def graver(found: Conduct) -> dict[str, Severity]:
    """The checks that do not hold."""
    return {one.id: one.severity for one in found.findings if one.severity is not Severity.NOTE}


def test_requests_are_written_as_asked() -> None:
    """Host comes from the URL unless it is given; a body has its length; the target stands as it is."""
    plain = Asked("127.0.0.1", 80, "example:80", "POST", "/a", (("X", "1"),), b"{}").encode()
    assert plain == b"POST /a HTTP/1.1\r\nhost: example:80\r\nX: 1\r\ncontent-length: 2\r\n\r\n{}"
    assert Asked("127.0.0.1", 80, "example:80", "GET", "/", (("host", "other"),)).encode().count(b"ost: ") == 1


def test_what_is_right_is_learned_from_the_answers() -> None:
    """Same bodies are compared, of any size and content; not those that differ, or cannot be read; braces stand for themselves."""

    def rule(body: bytes | None, coding: str | None = None) -> object:
        known = question.workload(asked(1), Conduct(200, None, body, 0, True, (), coding)).first
        assert known.expect.check_one_in == 1
        return known.expect.body

    def exact(body: bytes, coding: str | None = None) -> object:
        return {"bytes": {"base64": base64.b64encode(body).decode(), "coding": coding}}

    for body in (b"hello", b"x" * 2000, b"x" * 70_000, b"\xff\xfe", b""):
        assert rule(body) == exact(body)
    assert rule(b"packed", "gzip") == exact(b"packed", "gzip")
    assert rule(b"packed", "br") == exact(b"packed", "br")
    assert rule(None) is None and rule(b"packed", "compress") is None
    known = question.workload(asked(1, "POST", b'{"a":1}'), Conduct(201, None, None, 0, True, ())).first
    assert (known.path, known.body, known.expect.status) == ("/x?a={{1}", '{{"a":1}', 201)
    assert ("host", "127.0.0.1:1") in known.headers


def test_the_checks_send_a_cell_as_the_load_does() -> None:
    """Percent-encoded in a path; a brace of it is no slot."""
    asked_for = LoadRequest("paint", "GET", "/paint?c={t.c}", (("x-colour", "{t.c}"),))
    several = Workload("try", "", "", (asked_for,), Audit(), None, rows={"t": Rows(("c",), (("dark {blue}",),))})
    one = question._first_of(asked_for, several)
    assert (one.path, one.headers) == ("/paint?c=dark%20%7Bblue%7D", (("x-colour", "dark {{blue}"),))


@pytest.mark.parametrize("name", ["Content-Length", "connection", "Transfer-Encoding"])
def test_framing_is_the_labs(name: str) -> None:
    """Headers that say where a request ends, or its connection, cannot be given."""
    with pytest.raises(LabError, match="frames its requests itself"):
        drive.check_headers(((name, "1"),))


@pytest.mark.live
def test_a_good_service_passes() -> None:
    """A server that answers everything the same way fails no check."""
    with served("null") as port:
        found = behaviour.examine(asked(port))
    assert graver(found) == {}
    assert (found.status, found.kept_open, found.broken) == (200, True, ())
    assert found.body is not None
    assert {one.id for one in found.findings} == {
        "status", "body", "length", "keep-alive", "plateau", "close", "http-1.0", "split", "garbage", "idle", "pipeline", "head",
    }  # fmt: skip


@pytest.mark.live
@pytest.mark.parametrize(
    ("script", "id", "severity"),
    [
        ("[[rule]]\non = {every = 2, from = 1}\nstatus = 404", "status", Severity.REJECT),
        ("[answer]\nstatus = 404", "status", Severity.REJECT),
        ('[answer]\nframing = "close"', "length", Severity.WARN),
        ('[answer]\nthen = "close"', "keep-alive", Severity.WARN),
        ("[answer]\npieces = 2\ngap_ms = 42", "plateau", None),
    ],
)
def test_what_a_service_does_wrong_is_named(
    monkeypatch: pytest.MonkeyPatch, script: str, id: str, severity: Severity | None
) -> None:
    """Each fault is found by its check, with its gravity; a pause within an answer is none."""
    monkeypatch.setattr(behaviour, "SETTLE_USUAL_S", 0.1)
    with served("faulty", "--script", script) as port:
        assert graver(behaviour.examine(asked(port))).get(id) is severity


@pytest.mark.live
def test_a_server_that_cannot_wait_for_the_rest_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that takes the first bytes it reads for the whole request fails the check of split requests."""
    monkeypatch.setattr(protocol, "CLOSED_WITHIN_S", 0.2)
    monkeypatch.setattr(protocol, "IDLE_S", 0.1)
    with playing(hasty) as service:
        found = behaviour.examine(replace(service, patience_s=1.0))
    assert "split" in [one.id for one in found.broken]


def hasty(connection: socket.socket) -> None:
    """Answers 200 to a read that holds a whole request, 400 to any other."""
    while data := connection.recv(65536):
        status = b"200 OK" if data.startswith(b"GET /") and b"\r\n\r\n" in data else b"400 Bad Request"
        connection.sendall(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.live
def test_writes_are_sent_seldom() -> None:
    """A request that may change something is not pipelined, and no HEAD stands for it."""
    with served("null") as port:
        found = behaviour.examine(asked(port, "POST", b"{}"))
    assert graver(found) == {} and not {"pipeline", "head"} & {one.id for one in found.findings}


@pytest.mark.live
def test_nobody_there() -> None:
    """Without any answer nothing can be measured, and the sentence says what was asked."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    with pytest.raises(LabError, match="GET /x.* got no answer: could not connect") as caught:
        behaviour.examine(asked(port))
    assert caught.value.exit_code == 3 and caught.value.hint


@pytest.mark.live
def test_who_listens_is_metered() -> None:
    """The process behind a port is found, and its CPU grows when it works; where nobody listens there is none."""
    with served("null") as port:
        found = listener(port)
        assert found is not None and len(found.pids) == 1
        meter = RoleMeter(found)
        before = meter.clock()
        behaviour.examine(asked(port))
        assert meter.use(before, meter.clock()).cpu_us
        assert meter.use(before, meter.clock()).source == "schedstat"
    assert listener(port) is None
