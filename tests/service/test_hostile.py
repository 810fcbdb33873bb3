"""Services that never end an answer, speak something else, or hang up: each has its own sentence, and little memory is used."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from fairground.contract import wire
from fairground.model import LabError
from fairground.service import behaviour
from fairground.service.behaviour import Asked, NoAnswer

pytestmark = pytest.mark.live
Played = Callable[[socket.socket], None]


@contextmanager
def playing(played: Played) -> Iterator[Asked]:
    """A service that does this with each connection; the request that asks it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_accept, args=(listening, played))
        thread.start()
        port = listening.getsockname()[1]
        try:
            yield Asked("127.0.0.1", port, f"127.0.0.1:{port}", "GET", "/")
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def _accept(listening: socket.socket, played: Played) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection = listening.accept()[0]
            with connection, contextlib.suppress(OSError):
                played(connection)


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


@pytest.mark.parametrize(
    ("played", "says", "hint"),
    [
        (endless, "the answer's body goes on after 1 MiB, and was read no further", "a smaller answer"),
        (encrypted, "the service speaks TLS, and was asked in plain HTTP", "ask it by TLS: https://127.0.0.1:"),
        (encrypted_and_polite, "got status 400: the service speaks TLS", "ask it by TLS: https://127.0.0.1:"),
        (banner, "the answer is not valid HTTP", "does this port speak HTTP/1.1?"),
        (lambda connection: None, "got no answer: the ", "does this port speak HTTP/1.1?"),
    ],
)
def test_the_sentence_says_what_came(monkeypatch: pytest.MonkeyPatch, played: Played, says: str, hint: str) -> None:
    """What went wrong is named as it is, with what can be done about it; only who is not there should be started."""
    monkeypatch.setattr(wire, "MOST_BODY_BYTES", 1 << 20)
    with playing(played) as asked, pytest.raises(LabError) as caught:
        behaviour.examine(asked)
    assert says in caught.value.message and hint in (caught.value.hint or "")
    assert "start the service" not in (caught.value.hint or "")


def test_an_answer_that_comes_too_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that still comes when the time is over was not without time: it did not end."""
    monkeypatch.setattr(behaviour, "TIMEOUT_S", 0.3)
    with playing(endless) as asked, pytest.raises(NoAnswer, match="the answer did not end in time"):
        monkeypatch.setattr(wire, "MOST_BODY_BYTES", 1 << 40)
        behaviour.examine(asked)


def test_equal_answers_are_kept_once() -> None:
    """Of twenty answers with one body that body is kept once; of another one what tells it apart."""
    first = wire.Answer(200, "1.1", (), b"x" * 1000)
    same = behaviour._light(wire.Answer(200, "1.1", (), b"x" * 1000), [first])
    other = behaviour._light(wire.Answer(200, "1.1", (), b"y" * 1000), [first])
    assert same.body is first.body and len(other.body) < 100 and other.body != first.body
