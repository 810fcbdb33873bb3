"""A small, correct HTTP/1.1 server on asyncio: one task per connection, requests of a connection answered in order.

Keep-alive and close, HTTP/1.0, requests split anywhere, pipelining, HEAD, chunked bodies, limits. asyncio sets TCP_NODELAY.
"""

from __future__ import annotations

import asyncio
import json
import re
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from email.utils import formatdate
from http import HTTPStatus
from urllib.parse import parse_qs, unquote

HEAD_MOST_BYTES = 65_536
BODY_MOST_BYTES = 65_536
DRAIN_S = 2.0
LOAD_CONNECTIONS = 8
TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@dataclass(frozen=True)
class Request:
    """One request; header names are in lower case, and the last of several equal names wins."""

    method: str
    target: str
    keep_alive: bool
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def path(self) -> str:
        """The target's path, percent-decoded, also of an absolute target."""
        return unquote(re.sub(r"^https?://[^/?]*", "", self.target).partition("?")[0])

    def parameter(self, name: str) -> str | None:
        """The first value of a query parameter, decoded; None where it is missing."""
        values = parse_qs(self.target.partition("?")[2], keep_blank_values=True).get(name)
        return values[0] if values else None


@dataclass(frozen=True)
class Response:
    """One answer; without a body it has no content type."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str = "application/json; charset=utf-8"


class HttpError(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, message: str, *headers: tuple[str, str]) -> None:
        super().__init__(message)
        self.response = Response(status, to_json({"ok": False, "message": message}), headers)


class HttpServer:
    """Listens until SIGTERM. A subclass overrides `respond`, and what it wants to do badly."""

    backlog = 4096
    """Connections that may wait to be accepted."""
    reuse_port = False
    """Whether several processes may listen on its port."""

    def __init__(self) -> None:
        self.connections: set[asyncio.StreamWriter] = set()
        self.busy = 0
        self.stopping = asyncio.Event()

    @property
    def under_load(self) -> bool:
        """Whether more clients are connected than a check of single requests needs: some animals are good until then."""
        return len(self.connections) >= LOAD_CONNECTIONS

    async def respond(self, request: Request) -> Response:
        """Answer one request, or raise `HttpError`."""
        raise HttpError(404, "no such path")

    async def serve(self, host: str, port: int) -> None:
        """Answer on `host`:`port` until `stopping` is set; requests under way get `DRAIN_S` seconds more."""
        self.listen_to_signals()
        server = await asyncio.start_server(
            self.converse, host, port, limit=HEAD_MOST_BYTES, backlog=self.backlog, reuse_port=self.reuse_port
        )
        await self.stopping.wait()
        server.close()
        deadline = time.monotonic() + DRAIN_S
        while self.busy and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        for writer in self.connections:
            writer.close()
        while self.connections and time.monotonic() < deadline + 1:
            await asyncio.sleep(0.01)

    def listen_to_signals(self) -> None:
        """Let SIGTERM and SIGINT end the server."""
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self.stopping.set)

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from its first request to its last."""
        self.connections.add(writer)
        self.welcome(writer)
        try:
            while await self.exchange(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client hung up, which is its right
        finally:
            self.connections.discard(writer)
            writer.close()

    async def exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; False ends the connection."""
        request = None
        try:
            request = await self.receive(reader, writer)
            if self.stopping.is_set():
                request = replace(request, keep_alive=False)
            self.busy += 1
            try:
                response = await self.respond(request)
                await self.send(writer, *_render(request, response))
            finally:
                self.busy -= 1
            return request.keep_alive
        except HttpError as error:
            await self.send(writer, *_render(request, error.response))
            if request is None:
                await _linger(reader, writer)
            return request is not None and request.keep_alive

    def welcome(self, writer: asyncio.StreamWriter) -> None:
        """A client has connected."""

    async def send(self, writer: asyncio.StreamWriter, head: bytes, body: bytes) -> None:
        """Write one answer."""
        writer.write(head + body)
        await writer.drain()

    async def receive_head(self, reader: asyncio.StreamReader) -> bytes:
        """Everything up to the empty line that ends a request's head."""
        try:
            while True:  # a client may send empty lines between requests
                head = (await reader.readuntil(b"\r\n\r\n")).lstrip(b"\r\n")
                if head:
                    return head
        except asyncio.LimitOverrunError as error:
            raise HttpError(431, "the request's head is too long") from error

    async def receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Request:
        """The next request with its body; raises `HttpError` where it is malformed and `IncompleteReadError` at the end."""
        request = parse_head(await self.receive_head(reader))
        coding, length = request.headers.get("transfer-encoding"), request.headers.get("content-length")
        if coding is None and length is None:
            return request
        if coding is not None and length is not None:
            raise HttpError(400, "`content-length` and `transfer-encoding` exclude each other")
        if coding is None and not re.fullmatch("[0-9]{1,18}", length or ""):
            raise HttpError(400, "`content-length` is not a number")
        if coding is None and int(length or 0) > BODY_MOST_BYTES:
            raise HttpError(413, "the body is too long")
        if request.headers.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await reader.readexactly(int(length or 0)) if coding is None else await _chunks(reader, coding)
        return replace(request, body=body)


def parse_head(head: bytes) -> Request:
    """The request line and headers in `head`, which ends with the empty line; raises `HttpError`."""
    line, *lines = head[:-4].decode("latin-1").split("\r\n")
    parts = line.split(" ")
    if len(parts) != 3 or not TOKEN.fullmatch(parts[0].encode("latin-1")) or not re.fullmatch(r"HTTP/\d\.\d", parts[2]):
        raise HttpError(400, "the request line is malformed")
    method, target, version = parts
    if not version.startswith("HTTP/1."):
        raise HttpError(505, "only HTTP/1.0 and HTTP/1.1 are spoken here")
    if not target.isprintable() or not target:
        raise HttpError(400, "the request's target is malformed")
    headers: dict[str, str] = {}
    for text in lines:
        name, colon, value = text.partition(":")
        if not colon or not TOKEN.fullmatch(name.encode("latin-1")) or "\n" in value or "\0" in value:
            raise HttpError(400, "a header is malformed")
        if name.lower() == "content-length" and headers.get("content-length", value.strip()) != value.strip():
            raise HttpError(400, "`content-length` is given twice and differs")
        headers[name.lower()] = value.strip()
    if version != "HTTP/1.0" and "host" not in headers:
        raise HttpError(400, "`host` is missing")
    wishes = {wish.strip() for wish in headers.get("connection", "").lower().split(",")}
    keep_alive = "keep-alive" in wishes if version == "HTTP/1.0" else "close" not in wishes
    return Request(method, target, keep_alive, headers)


def to_json(value: object) -> bytes:
    """`value` as JSON without spaces, in UTF-8."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


async def _chunks(reader: asyncio.StreamReader, coding: str) -> bytes:
    """A chunked body, without its extensions and trailers."""
    if coding.strip().lower() != "chunked":
        raise HttpError(501, "only the transfer encoding `chunked` is known here")
    body = b""
    try:
        while True:
            size = (await reader.readuntil(b"\r\n")).partition(b";")[0].strip()
            if not re.fullmatch(rb"[0-9A-Fa-f]{1,8}", size):
                raise HttpError(400, "a chunk's size is malformed")
            if not int(size, 16):
                break
            if len(body) + int(size, 16) > BODY_MOST_BYTES:
                raise HttpError(413, "the body is too long")
            body += await reader.readexactly(int(size, 16))
            if await reader.readexactly(2) != b"\r\n":
                raise HttpError(400, "a chunk does not end where its size says")
        while await reader.readuntil(b"\r\n") != b"\r\n":
            pass
    except asyncio.LimitOverrunError as error:
        raise HttpError(400, "a chunk's head is too long") from error
    return body


def _render(request: Request | None, response: Response) -> tuple[bytes, bytes]:
    """Head and body of an answer; an answer to no readable request ends the connection."""
    lines = [f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}", f"date: {formatdate(usegmt=True)}"]
    if response.status != 204:
        lines.append(f"content-length: {len(response.body)}")
    if response.body:
        lines.append(f"content-type: {response.content_type}")
    lines += [f"{name}: {value}" for name, value in response.headers]
    lines.append(f"connection: {'keep-alive' if request and request.keep_alive else 'close'}")
    body = b"" if request and request.method == "HEAD" else response.body
    return ("\r\n".join(lines) + "\r\n\r\n").encode(), body


async def _linger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read on for a moment: closing on unread input would reset the connection and lose the answer."""
    writer.write_eof()
    try:
        async with asyncio.timeout(1):
            while await reader.read(HEAD_MOST_BYTES):
                pass
    except TimeoutError:
        pass
