"""Services that never end an answer, speak something else, or hang up: each has its own sentence, and little memory is used."""

from __future__ import annotations

import itertools
import socket
import time
from dataclasses import replace

import pytest

from builders.odd import Played, playing
from fairground.capacity import objective
from fairground.capacity.service import behaviour
from fairground.capacity.service.behaviour import Asked, NoAnswer
from fairground.capacity.service.parts import ServiceChecks, ServicePart, Unit, visit
from fairground.capacity.service.values import Closed, most_connections
from fairground.contract import wire
from fairground.host import network
from fairground.model import LabError

pytestmark = pytest.mark.live


def endless(connection: socket.socket) -> None:
    """An answer whose body never ends."""
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")


def encrypted(connection: socket.socket) -> None:
    """TLS answers its own beginning with an alert, and hangs up on anything else."""
    if connection.recv(65536).startswith(b"\x16\x03"):
        connection.sendall(b"\x15\x03\x03\x00\x02\x02\x28")


def encrypted_and_polite(connection: socket.socket) -> None:
    """As some servers do: plain requests get status 400 over TLS's port."""
    data = connection.recv(65536)
    said = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    connection.sendall(b"\x15\x03\x03\x00\x02\x02\x28" if data.startswith(b"\x16\x03") else said)


def banner(connection: socket.socket) -> None:
    """Another protocol."""
    connection.recv(65536)
    connection.sendall(b"220 mail.example ESMTP\r\n\r\n")


def without_end(beginning: bytes, more: bytes, pause_s: float = 0.0) -> Played:
    """An answer that begins so, and then goes on with the same bytes for ever."""

    def play(connection: socket.socket) -> None:
        connection.recv(65536)
        for part in itertools.chain([beginning], itertools.repeat(more)):
            connection.sendall(part)
            time.sleep(pause_s)

    return play


interim = without_end(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
long_header = without_end(b"HTTP/1.1 200 OK\r\nA: ", b"x" * 65536)
long_chunk_line = without_end(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=", b"x" * 65536)
slow_header = without_end(b"HTTP/1.1 200 OK\r\nA: ", b"x", 0.02)


@pytest.mark.parametrize(
    ("played", "says", "hint"),
    [
        (endless, "the answer's body goes on after 1 MiB, and was read no further", "a smaller answer"),
        (encrypted, "the service speaks TLS, and was asked in plain HTTP", "ask it by TLS: https://127.0.0.1:"),
        (encrypted_and_polite, "got status 400: the service speaks TLS", "ask it by TLS: https://127.0.0.1:"),
        (banner, "the answer is not valid HTTP", "does this port speak HTTP/1.1?"),
        (interim, "100 interim answers (1xx) came, and no answer after them", "no client can read"),
        (long_header, "the answer's header is longer than 32 KiB, and was read no further", "no client can read"),
        (long_chunk_line, "a line between the answer's chunks is longer than 32 KiB", "no client can read"),
        (lambda connection: None, "got no answer: the ", "does this port speak HTTP/1.1?"),
    ],
)
def test_the_sentence_says_what_came(monkeypatch: pytest.MonkeyPatch, played: Played, says: str, hint: str) -> None:
    """What went wrong is named as it is, with what can be done about it; only who is not there should be started."""
    monkeypatch.setattr(wire, "MOST_BODY_BYTES", 1 << 20)
    monkeypatch.setattr(behaviour, "SETTLE_USUAL_S", 0.1)
    with playing(played) as asked, pytest.raises(LabError) as caught:
        behaviour.examine(asked)
    assert says in caught.value.message and hint in (caught.value.hint or "")
    assert "start the service" not in (caught.value.hint or "")


@pytest.mark.parametrize("piece_bytes", [1 << 10, 1 << 20])
@pytest.mark.parametrize(("header_bytes", "is_read"), [(32 << 10, True), ((32 << 10) + 1, False)])
def test_a_header_is_too_long_however_it_arrives(piece_bytes: int, header_bytes: int, is_read: bool) -> None:
    """Whether an answer can be read does not hang on how the network cuts it."""
    around = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nA: %s\r\n\r\n"
    said = around % (b"x" * (header_bytes - len(around) + 2)) + b"ok"

    def play(connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.recv(65536)
        for start in range(0, len(said), piece_bytes):
            connection.sendall(said[start : start + piece_bytes])
            time.sleep(0.002)
        connection.recv(65536)

    with playing(play) as asked, wire.CaseWire(asked.host, asked.port, time.monotonic() + 60) as connection:
        connection.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        if is_read:
            assert connection.answer("GET").body == b"ok"
        else:
            with pytest.raises(wire.Trouble, match="header is longer than 32 KiB"):
                connection.answer("GET")


@pytest.mark.parametrize(("played", "part"), [(slow_header, "header"), (endless, "body")])
def test_what_comes_for_ever_had_time(monkeypatch: pytest.MonkeyPatch, played: Played, part: str) -> None:
    """Whatever part of an answer still comes when the time is over is named, with what came of it."""
    monkeypatch.setattr(wire, "MOST_BODY_BYTES", 1 << 40)
    with playing(played) as asked, pytest.raises(NoAnswer) as caught:
        behaviour.examine(replace(asked, patience_s=1.0))
    said = caught.value.message
    assert f"its {part} " in said and " bytes" in said and "no time was left" not in said and "no answer in time" not in said


def test_a_port_that_takes_no_connection_is_not_to_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only who refuses a connection may not have been started; what cannot be reached has a sentence of its own."""

    def nobody(*_: object, **__: object) -> socket.socket:
        raise TimeoutError("timed out")

    monkeypatch.setattr(wire.socket, "create_connection", nobody)
    with pytest.raises(NoAnswer, match="could not connect: timed out") as caught:
        behaviour.examine(Asked("127.0.0.1", 9, "127.0.0.1:9", "GET", "/"))
    assert "start the service" not in (caught.value.hint or "") and "host and port" in (caught.value.hint or "")


def test_whether_it_is_ready_is_known_in_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """A status line that comes byte by byte holds nobody up for longer than one try may last."""
    monkeypatch.setattr(network, "STATUS_WITHIN_S", 0.2)
    with playing(without_end(b"HTTP/1.1 ", b"2", 0.02)) as asked:
        said = network.wait_ready(asked.host, asked.port, "/ready", 200, 0.1, lambda: True)
    assert said == "GET /ready: timed out, 1 tries"


def test_large_answers_are_asked_for_over_few_connections() -> None:
    """The engine holds two bodies on each connection of a load; small ones leave the load as it is."""
    assert most_connections(0) == most_connections(100_000) == 1000
    assert most_connections(1 << 20) == 128 and most_connections(16 << 20) == 8 and most_connections(1 << 40) == 1
    large = ServiceChecks(200, None, None, 10 << 20, True, (), None)
    closed = Closed(10, 1.0, None, None, 10, 0, None, None, None)
    loops = (ServicePart(Unit.CHECKS, checks=large), ServicePart(Unit.LOOP, closed=closed))
    notes = visit("u", "GET", objective.parse("p99<50ms"), loops).notes
    assert notes == ("answers of 10.5 MB were asked for over 12 connections at most: the load engine holds no more of them",)


def test_equal_answers_are_kept_once() -> None:
    """Of twenty answers with one body that body is kept once; of another one what tells it apart."""
    first = wire.HttpAnswer(200, "1.1", (), b"x" * 1000)
    same = behaviour._light(wire.HttpAnswer(200, "1.1", (), b"x" * 1000), [first])
    other = behaviour._light(wire.HttpAnswer(200, "1.1", (), b"y" * 1000), [first])
    assert same.body is first.body and len(other.body) < 100 and other.body != first.body
