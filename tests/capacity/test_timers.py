"""Answers that a timer of the kernel holds back, and services that take as long by themselves."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from fairground.capacity.service import timers
from fairground.capacity.service.request import Asked
from fairground.model import Severity

BODY = b"x" * 200
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n" + BODY
Send = Callable[[socket.socket], None]


@contextmanager
def sending(send: Send, corked: bool = False) -> Iterator[Asked]:
    """A service that sends each answer so."""

    def serve(connection: socket.socket) -> None:
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, corked)
            while connection.recv(4096):
                send(connection)

    def accept(listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, args=(listening,), daemon=True).start()
        port = listening.getsockname()[1]
        yield Asked("127.0.0.1", port, f"127.0.0.1:{port}", "GET", "/")
        listening.shutdown(socket.SHUT_RDWR)


def whole(connection: socket.socket) -> None:
    """Send the answer in one write."""
    connection.sendall(ANSWER)


def with_more(connection: socket.socket) -> None:
    """Say that more follows, where nothing does."""
    connection.send(ANSWER, socket.MSG_MORE)


def in_parts(connection: socket.socket) -> None:
    """Send header and body apart, and let the kernel wait for the acknowledgement of the first."""
    connection.sendall(ANSWER[:-200])
    connection.sendall(BODY)


def with_pause(connection: socket.socket) -> None:
    """Send header and body apart, with a pause of the service's own."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(ANSWER[:-200])
    time.sleep(0.043)
    connection.sendall(BODY)


def after_a_while(connection: socket.socket) -> None:
    """Take as long as a cork does."""
    time.sleep(0.2)
    whole(connection)


@pytest.mark.live
@pytest.mark.parametrize(
    ("send", "corked", "took_ms", "rest_ms", "says"),
    [
        (in_parts, False, 44.0, 43.0, "where each packet is acknowledged at once: a delayed acknowledgement"),
        (with_pause, False, 44.0, 43.0, "the service itself pauses within its answers"),
        (whole, True, 204.0, 0.1, "where segments are small: TCP_CORK or MSG_MORE"),
        (with_more, False, 208.0, 0.1, "where segments are small: TCP_CORK or MSG_MORE"),
        (after_a_while, False, 201.0, 0.1, "are held by no timer of the kernel that can be seen"),
    ],
    ids=["two parts", "a pause", "a cork", "more", "a sleep"],
)
def test_a_timer_is_told_by_asking_otherwise(send: Send, corked: bool, took_ms: float, rest_ms: float, says: str) -> None:
    """What looks like a timer is one where it goes away for a client that it cannot hold; else the service takes so long."""
    with sending(send, corked) as asked:
        found = timers.check(asked, [took_ms] * 9, [rest_ms] * 9)
    assert says in found.sentence
    assert (found.severity is Severity.WARN) is (send in (in_parts, whole, with_more))


@pytest.mark.parametrize(
    ("took_ms", "rest_ms"),
    [(45.0, 0.1), (0.3, 0.1), (120.0, 0.1), (202.0, 201.7)],
    ids=["it takes so long", "quick", "slow", "streamed"],
)
def test_what_no_timer_holds_is_not_tried(took_ms: float, rest_ms: float) -> None:
    """A service that waits or computes sends nothing before; one that streams for 200 ms has begun, which a cork prevents."""
    found = timers.check(Asked("127.0.0.1", 1, "127.0.0.1:1", "GET", "/"), [took_ms] * 9, [rest_ms] * 9)
    assert found.severity is Severity.NOTE and found.sentence.startswith("no plateau at 40 ms")


def test_a_service_that_is_gone_is_not_blamed() -> None:
    """Where the experiment gets no answer, nothing is said of the reason."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    found = timers.check(Asked("127.0.0.1", port, f"127.0.0.1:{port}", "GET", "/"), [44.0] * 9, [43.0] * 9)
    assert found.severity is Severity.NOTE and found.sentence.endswith("why could not be tried")
