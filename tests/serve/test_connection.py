"""Connections of pages: half a request ends, a flood of them leaves room for a page, and nothing loops."""

from __future__ import annotations

import http.client
import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from builders.waiting import eventually
from fairground.serve import connection
from fairground.serve.allowance import Allowance
from fairground.serve.connection import PageServer


async def page(_scope: Any, receive: Any, send: Any) -> None:
    """Answers once the request is whole."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A server of pages with few connections and little patience."""
    monkeypatch.setattr(connection, "MOST", 8)
    monkeypatch.setattr(connection, "ARRIVES_S", 0.2)
    listener = socket.create_server(("127.0.0.1", 0))
    server = PageServer(Allowance(page, holds=lambda: False), waiting=64, closing_s=1)
    server.config.timeout_keep_alive = 0.2
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    yield listener.getsockname()[1]
    server.should_exit = True
    thread.join(30)
    listener.close()


def status(port: int) -> int:
    """The status of a page; 0 where there was none."""
    one = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        one.request("GET", "/")
        return one.getresponse().status
    except OSError:
        return 0
    finally:
        one.close()


HALVES = [b"", b"GET / HTTP/1.1\r\nHost: x\r\n", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab",
          b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHo"]  # fmt: skip


@pytest.mark.parametrize("half", HALVES)
def test_half_a_request_ends(half: bytes, port: int) -> None:
    """Nothing, half a head, half a body, and half of a second request: each connection is closed from there."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as one:
        one.sendall(half)
        try:
            while one.recv(4096):
                pass
        except ConnectionResetError:
            pass
    assert status(port) == 200


def test_a_flood_of_halves_leaves_room(port: int, capfd: pytest.CaptureFixture[str]) -> None:
    """Sixty at once are more than may be: a page is had within moments, and nothing is written of it."""
    with ExitStack() as held:
        for _ in range(60):
            one = held.enter_context(socket.socket())
            one.settimeout(10)
            one.connect(("127.0.0.1", port))
            try:
                one.sendall(HALVES[1])
            except OSError:
                pass  # closed already
        assert eventually(lambda: status(port) == 200)
    assert capfd.readouterr().err == ""


def test_connections_are_fewer_than_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    """The soft limit is raised as far as the hard one allows, and the connections keep within a quarter of it."""
    told = list[tuple[int, int]]()
    for soft, hard, most in ((64, 200, 50), (1024, 4096, connection.MOST), (20_000, resource.RLIM_INFINITY, connection.MOST)):
        limits = [(soft, hard)]
        monkeypatch.setattr(connection.resource, "getrlimit", lambda _, limits=limits: limits[-1])
        monkeypatch.setattr(
            connection.resource, "setrlimit", lambda _, new, limits=limits: limits.append(new) or told.append(new)
        )
        server = PageServer(Allowance(page, holds=lambda: False), waiting=64, closing_s=1)
        assert server.config.http.most == most  # type: ignore[union-attr]
    assert told == [(200, 200)]
