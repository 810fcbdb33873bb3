"""A connection to a server with every byte under control, and its answers as values. h11 only reads the answers."""

from __future__ import annotations

import socket
import struct
import time
from dataclasses import dataclass, field
from typing import Self

import h11

from fairground.contract import encryption
from fairground.model import of_machine
from fairground.model.wire import Tls

READ_BYTES = 65536
MOST_HEAD_BYTES = 32 << 10
"""A longer header is no answer, however its bytes arrive; nor is a longer line between chunks. So the load engine has it."""
TOO_LARGE = 431
"""h11's word for what is longer than it was told to keep."""
MOST_BODY_BYTES = 16 << 20
"""A longer body is read no further: a service may send one without end. The load engine reads as much."""
MOST_INTERIM = 100
"""Of interim answers (1xx) before one answer: a service may send them without end, too."""


LIMITED = 429
"""The status of a rate limit (RFC 6585)."""


class Trouble(Exception):
    """No whole answer came. `kind` is `connect` (refused), `unreachable`, `timeout`, `closed`, `reset`, `malformed`, `large` (the
    body), `endless` (anything else), or of a failed handshake."""

    def __init__(self, kind: str, sentence: str, has_begun: bool = False) -> None:
        super().__init__(sentence)
        self.kind, self.sentence, self.has_begun = kind, sentence, has_begun
        """Whether a part of the answer's body was on its way."""

    @property
    def unconnected(self) -> bool:
        """True if no connection stood at all."""
        return self.kind in ("connect", "unreachable")


def _too_long(part: str) -> Trouble:
    """The trouble that a part of an answer is longer than `MOST_HEAD_BYTES`."""
    return Trouble("endless", f"{part} is longer than {MOST_HEAD_BYTES >> 10} KiB, and was read no further")


@dataclass(frozen=True)
class HttpAnswer:
    """A server's answer; header names are in lower case."""

    status: int
    version: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    waited_s: float = field(default=0.0, compare=False)
    """How long after its request it was there: it may say what was so when it was asked for."""

    def header(self, name: str) -> str | None:
        """The value of a header, whatever the case of its name (several are joined by a comma), or None."""
        values = [value for key, value in self.headers if key == name.lower()]
        return ", ".join(values) if values else None

    @property
    def retry_after_s(self) -> float | None:
        """The seconds after which the server wants to be asked again; None where it does not say, or says a date."""
        text = self.header("retry-after") or ""
        return float(text) if text.isascii() and text.isdecimal() else None

    def says(self, option: str) -> bool:
        """True if the `connection` header names `option` (`close`, `keep-alive`)."""
        return option in [word.strip().lower() for word in (self.header("connection") or "").split(",")]

    @property
    def ends_with_connection(self) -> bool:
        """True if only the end of the connection tells the end of the body."""
        bodiless = self.status in (204, 304)
        return not bodiless and self.header("content-length") is None and self.header("transfer-encoding") is None

    @property
    def is_last(self) -> bool:
        """True if its connection has no further answer: HTTP/1.0 keeps it on demand alone (RFC 9112 §9.3)."""
        by_version = self.version == "1.0" and not self.says("keep-alive")
        return self.says("close") or by_version or self.ends_with_connection


class CaseWire:
    """One connection, plain or by TLS, that must be done by `deadline_s` (of `time.monotonic`). Every failure is a Trouble."""

    def __init__(self, host: str, port: int, deadline_s: float, tls: Tls | None = None) -> None:
        self._deadline_s = deadline_s
        self._left = b""
        self._came = 0
        """Bytes of the answer that is being read."""
        self.began_s = 0.0
        """When the first of them came, by the clock of deadlines."""
        self._sent_s = time.monotonic()
        self._send_failed = False
        try:
            self._socket = self._connected(host, port)
        except OSError as error:
            if refused := of_machine(error):
                raise refused from None
            kind = "connect" if isinstance(error, ConnectionRefusedError) else "unreachable"
            raise Trouble(kind, f"could not connect: {error}") from None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.agreed: str | None = None
        """The version and the cipher of TLS; None: plain."""
        if tls is not None:
            self._encrypt(tls)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def until(self, deadline_s: float) -> None:
        """Let another request last until then."""
        self._deadline_s = deadline_s

    @property
    def surplus(self) -> bytes:
        """Bytes that came after the last answer and belong to no request."""
        return self._left

    def send(self, data: bytes) -> None:
        """Send all of `data`. A server may answer and close before it has read all: then its answer can still be read."""
        self._sent_s = time.monotonic()
        try:
            self._socket.settimeout(self._remaining_s())
            self._socket.sendall(data)
        except TimeoutError:
            raise Trouble("timeout", "the server stopped reading the request") from None
        except OSError:
            self._send_failed = True

    def answer(self, method: str) -> HttpAnswer:
        """Read the answer to a request with `method`; interim answers (100) are passed over."""
        parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=MOST_HEAD_BYTES)
        parser.send(h11.Request(method=method, target="/", headers=[("host", "parser")]))
        parser.send(h11.EndOfMessage())
        if self._left:
            parser.receive_data(self._left)
        head: h11.Response | None = None
        body, interim = bytearray(), 0
        self._came = len(self._left)
        while True:
            event = self._event(parser, "body" if head is not None else "header")
            if isinstance(event, h11.Response):
                if self._came - len(parser.trailing_data[0]) > MOST_HEAD_BYTES:
                    raise _too_long("the answer's header")
                head = event
            elif isinstance(event, h11.InformationalResponse):
                interim += 1
                if interim > MOST_INTERIM:
                    raise Trouble("endless", f"{MOST_INTERIM} interim answers (1xx) came, and no answer after them")
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > MOST_BODY_BYTES:
                    raise Trouble(
                        "large", f"the answer's body goes on after {MOST_BODY_BYTES >> 20} MiB, and was read no further"
                    )
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                self._left = parser.trailing_data[0]
                headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers)
                waited_s = time.monotonic() - self._sent_s
                return HttpAnswer(head.status_code, head.http_version.decode(), headers, bytes(body), waited_s)

    def closes(self, within_s: float) -> bool:
        """True if the server closes the connection within `within_s` without sending anything more."""
        try:
            self._socket.settimeout(min(within_s, self._remaining_s()))
            data = self._socket.recv(READ_BYTES)
        except TimeoutError:
            return False
        except OSError:
            return True
        self._left += data
        return not data

    def finish(self) -> None:
        """Say that nothing more will be sent; the answer can still be read."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            self._send_failed = True

    def abort(self) -> None:
        """Hang up with a reset, as a client that died."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()

    def _connected(self, host: str, port: int) -> socket.socket:
        return socket.create_connection((host, port), timeout=self._remaining_s())

    def _encrypt(self, tls: Tls) -> None:
        """Shake hands; from here on all bytes travel by TLS."""
        plain = self._socket
        try:
            encrypted = encryption.context(tls).wrap_socket(plain, server_hostname=tls.name)
        except OSError as error:
            plain.close()
            raise Trouble(*encryption.trouble(error, tls)) from None
        version, cipher = encrypted.version() or "", encrypted.cipher()
        self._socket, self.agreed = encrypted, f"{version.replace('TLSv', 'TLS ')}, {cipher[0] if cipher else 'no cipher'}"

    def _event(self, parser: h11.Connection, part: str) -> h11.Event | type[h11.PAUSED]:
        """The parser's next event, reading from the socket as needed; `part` of the answer comes next."""
        try:
            while (event := parser.next_event()) is h11.NEED_DATA:
                data = self._read(part)
                if not (data or self._came):
                    raise Trouble("closed", "the server closed the connection without an answer")
                parser.receive_data(data)
        except h11.RemoteProtocolError as error:
            if error.error_status_hint == TOO_LARGE:
                raise _too_long("the answer's header" if part == "header" else "a line between the answer's chunks") from None
            midway = parser.trailing_data[1]
            sentence = "the connection ended before the whole answer" if midway else f"the answer is not valid HTTP: {error}"
            raise Trouble("malformed", sentence) from None
        return event  # type: ignore[return-value]  # NEED_DATA is gone after the loop

    def _read(self, part: str) -> bytes:
        if self._came and time.monotonic() >= self._deadline_s:
            coming = f"the answer did not end in time: its {part} was still coming after {self._came:,} bytes"
            raise Trouble("timeout", coming, has_begun=part == "body")
        try:
            self._socket.settimeout(self._remaining_s())
            data = self._socket.recv(READ_BYTES)
        except TimeoutError:
            stopped = f"the answer stopped midway: {self._came:,} bytes had come of it, and its {part} had not ended"
            has_begun = bool(self._came) and part == "body"
            raise Trouble("timeout", stopped if self._came else "no answer in time", has_begun) from None
        except OSError as error:
            raise Trouble("reset", f"the connection broke before a whole answer: {error}") from None
        if not self._came:
            self.began_s = time.monotonic()
        self._came += len(data)
        return data

    def _remaining_s(self) -> float:
        remaining_s = self._deadline_s - time.monotonic()
        if remaining_s <= 0:
            raise Trouble("timeout", "no time was left for the answer")
        return remaining_s
