"""A small HTTP service of one's own in this process: what it answers is a function of the request's number."""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fairground.capacity.service.request import Asked

Played = Callable[[socket.socket], None]
"""What is done with a connection."""
Answers = Callable[[int, bytes], "bytes | None"]
"""The number of a request, from 0, and its head → the bytes of the answer. None: the connection is reset."""


def answer(status: int = 200, body: bytes = b"hello", *headers: str, length: int | None = None) -> bytes:
    """The bytes of an answer."""
    rows = [f"HTTP/1.1 {status} Word", *headers, f"content-length: {len(body) if length is None else length}", "", ""]
    return "\r\n".join(rows).encode() + body


@contextmanager
def odd(answers: Answers, host: str = "127.0.0.1", most: int = 1 << 30) -> Iterator[int]:
    """Such a service for a while; its port. Each connection gets `most` answers, and is then closed without a word."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.create_server((host, 0), family=family, backlog=512)
    numbers, over = itertools.count(), threading.Event()

    def serve(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            held, given = b"", 0
            while given < most and not over.is_set():
                while b"\r\n\r\n" not in held:
                    data = connection.recv(65536)
                    if not data:
                        return
                    held += data
                    if not held[:1].isalpha():
                        return
                head, _, held = held.partition(b"\r\n\r\n")
                said = answers(next(numbers), head)
                if said is None:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return
                headless = said.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
                connection.sendall(headless if head.startswith(b"HEAD") else said)
                given += 1
                if b"connection: close" in head.lower() or b"\r\nconnection: close" in said or b"HTTP/1.0" in head:
                    return

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listening.getsockname()[1]
    finally:
        over.set()
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()


@contextmanager
def playing(played: Played) -> Iterator[Asked]:
    """A service that does this with each connection, one after the other; the request that asks it."""
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
