"""One client's connection to the reference server: requests out of bytes, answers into bytes."""

from __future__ import annotations

import socket
import struct
import time
from typing import Protocol

JSON = "application/json; charset=utf-8"


class Answering(Protocol):
    """What a connection needs of its server."""

    faults: frozenset[str]

    def answer(self, method: str, target: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]: ...

    def stop(self) -> None: ...


class Talk:
    """One client's connection: requests out of bytes, answers into bytes."""

    def __init__(self, server: Answering, client: socket.socket) -> None:
        self._server, self._client, self._faults = server, client, server.faults
        self._buffer, self._requests = b"", 0

    def go_on(self) -> None:
        """Answer until either side is done."""
        while True:
            request = self._read()
            if request is None:
                if self._buffer.strip() and "dies-of-hang-ups" in self._faults:
                    self._server.stop()
                return
            answers = [self._answer(*request)]
            if "answers-in-reverse" in self._faults:
                while self._buffer and (more := self._read()) is not None:
                    answers.insert(0, self._answer(*more))
            if "forgets-pipelined" in self._faults:
                self._buffer = b""
            for data, _ in answers:
                self._client.sendall(data)
            if any(closes for _, closes in answers):
                return

    def _read(self) -> tuple[str, str, str, dict[str, str], bytes] | None:
        """The next request, a request for 400 when it is malformed, or None at the end."""
        while b"\r\n\r\n" not in self._buffer:
            if not self._more() or ("one-read-is-one-request" in self._faults and b"\r\n\r\n" not in self._buffer):
                return None
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        if len(head) > 16000 and "dies-of-large-headers" in self._faults:
            self._server.stop()
        lines = head.decode("latin-1").split("\r\n")
        words = lines[0].split(" ")
        if len(words) != 3 or words[2] not in ("HTTP/1.0", "HTTP/1.1") or any(":" not in line for line in lines[1:]):
            return self._bad()
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        try:
            body = self._body(headers)
        except ValueError:
            return self._bad()
        return None if body is None else (words[0], words[1], words[2], headers, body)

    def _bad(self) -> tuple[str, str, str, dict[str, str], bytes]:
        """A request that can only be answered 400."""
        if "dies-of-garbage" in self._faults:
            self._server.stop()
        return "BAD", "", "", {}, b""

    def _body(self, headers: dict[str, str]) -> bytes | None:
        if headers.get("transfer-encoding") == "chunked" and "no-chunks" not in self._faults:
            body = b""
            while size := int((self._until(b"\r\n") or b"0"), 16):
                body += (self._until(b"\r\n") or b"")[:size]
            self._until(b"\r\n")
            return body
        length = int(headers.get("content-length", 0))
        if length < 0:
            raise ValueError
        while len(self._buffer) < length and "short-bodies" not in self._faults:
            if not self._more():
                return None
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        return body

    def _until(self, mark: bytes) -> bytes | None:
        while mark not in self._buffer:
            if not self._more():
                return None
        found, _, self._buffer = self._buffer.partition(mark)
        return found

    def _more(self) -> bool:
        data = self._client.recv(65536)
        self._buffer += data
        return bool(data)

    def _answer(self, method: str, target: str, version: str, headers: dict[str, str], body: bytes) -> tuple[bytes, bool]:
        """The bytes of an answer, and whether the connection ends with it."""
        self._requests += 1
        if "hangs" in self._faults:
            time.sleep(3)
        if "resets" in self._faults:
            self._client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return b"", True
        if "says-nothing" in self._faults:
            return b"", True
        if "answers-garbage" in self._faults:
            return b"hello there\r\n\r\n", True
        bad = method == "BAD"
        status, content = (400, b"bad request") if bad else self._server.answer(method, target, headers, body)
        closes = bad or self._closes(version, headers)
        return self._bytes(method, version, status, content, closes), closes or "closes-silently" in self._faults

    def _closes(self, version: str, headers: dict[str, str]) -> bool:
        asked = headers.get("connection", "").lower()
        if ("closes-after-100" in self._faults and self._requests >= 100) or (
            "closes-after-3" in self._faults and self._requests >= 3
        ):
            return True
        if version == "HTTP/1.0":
            return asked != "keep-alive" and "keeps-http10" not in self._faults
        return asked == "close" and "ignores-close" not in self._faults

    def _bytes(self, method: str, version: str, status: int, content: bytes, closes: bool) -> bytes:
        faults = self._faults
        kind = (
            "application/json; charset=latin-1"
            if "other-charset" in faults
            else "text/plain"
            if "plain-errors" in faults and status >= 400
            else JSON
        )
        lines = [f"HTTP/1.1 {status} Whatever", f"content-type: {kind}"]
        chunked = "chunks-for-all" in faults and status != 204
        if chunked:
            lines.append("transfer-encoding: chunked")
            content = b"%x\r\n%s\r\n0\r\n\r\n" % (len(content), content)
        elif "no-length" not in faults and status != 204:
            lines.append(f"content-length: {len(content)}")
        if status == 503 and "no-retry-after" not in faults:
            lines.append("retry-after: 1")
        if closes or (version == "HTTP/1.0" and "keeps-http10" not in faults):
            lines.append("connection: close" if closes else "connection: keep-alive")
        shown = b"" if method == "HEAD" and "head-with-body" not in faults else content
        shown = b"surprise" if status == 204 and "body-after-204" in faults else shown
        shown = shown[: len(shown) // 2] if "half-answers" in faults else shown
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + shown + (b"\r\n" if "surplus" in faults else b"")
