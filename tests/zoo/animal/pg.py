"""A small PostgreSQL v3 client for asyncio: trust and SCRAM-SHA-256, simple and extended queries, everything in text format.

One connection runs one query at a time. The protocol is in the PostgreSQL manual under "Frontend/Backend Protocol".
"""

from __future__ import annotations

import asyncio
import struct
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from animal.scram import Scram, ScramError


class PgError(Exception):
    """The database refused a statement; `code` is its SQLSTATE. The connection may still be usable."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class PgConnectionLost(Exception):
    """The connection could not be opened, or ended before the answer was complete."""


@dataclass(frozen=True)
class Answer:
    """The rows of a statement as text (None: NULL), and the number of rows that it returned or changed."""

    rows: list[list[str | None]]
    affected: int


class Connection(asyncio.Protocol):
    """One session. `status` is the server's transaction state: `I` idle, `T` in a transaction, `E` in a failed one."""

    def __init__(self, user: str, password: str, prepared: bool) -> None:
        self.scram, self.prepared, self.statements = Scram("", password), prepared, dict[str, bytes]()
        self.parsing: tuple[str, bytes] | None = None
        self.user, self.closed, self.status, self.buffer = user, False, "I", bytearray()
        self.rows: list[list[str | None]] = []
        self.affected = 0
        self.error: PgError | None = None
        self.waiter: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    @classmethod
    async def open(cls, url: str, prepared: bool = True) -> Connection:
        """Connect to `postgresql://user:password@host:port/database`; raises `PgConnectionLost` or `PgError`."""
        parts = urlsplit(url)
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        host, port = parts.hostname or "", parts.port or 5432
        loop = asyncio.get_running_loop()
        try:
            _, self = await loop.create_connection(lambda: cls(user, password, prepared), host, port)
        except OSError as error:
            raise PgConnectionLost(f"cannot connect to the database: {error}") from error
        settings = {"user": user, "database": parts.path[1:], "client_encoding": "UTF8", "DateStyle": "ISO", "TimeZone": "UTC"}
        pairs = b"".join(_text(key) + _text(value) for key, value in settings.items()) + b"\0"
        self.transport.write(struct.pack("!ii", len(pairs) + 8, 196608) + pairs)
        await self.waiter
        return self

    async def simple(self, sql: str) -> Answer:
        """Run `sql` with the simple protocol: `BEGIN`, `COMMIT` and the like."""
        return await self._ask(query_message(sql))

    async def query(self, sql: str, *parameters: int | str) -> Answer:
        """Run one statement with parameters; its named prepared statement is kept where `prepared` is set."""
        name, parse = self.statements.get(sql), b""
        if name is None:
            name = _text(f"s{len(self.statements)}") if self.prepared else b"\0"
            parse = _message(b"P", name + _text(sql) + b"\0\0")
        values = (str(value).encode() for value in parameters)
        bound = b"".join(struct.pack("!i", len(value)) + value for value in values)
        bind = _message(b"B", b"\0" + name + struct.pack("!hh", 0, len(parameters)) + bound + b"\0\0")
        self.parsing = (sql, name) if parse and self.prepared else None
        return await self._ask(parse + bind + _message(b"E", b"\0\0\0\0\0") + _message(b"S", b""))

    def close(self) -> None:
        """Say goodbye, without waiting."""
        if not self.closed:
            self.transport.write(_message(b"X", b""))
            self.transport.close()
        self.closed = True

    async def _ask(self, messages: bytes) -> Answer:
        if self.closed:
            raise PgConnectionLost("the database closed the connection")
        self.rows, self.affected, self.error = [], 0, None
        self.waiter = asyncio.get_running_loop().create_future()
        self.transport.write(messages)
        return await self.waiter

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self._fail(self.error or PgConnectionLost("the database closed the connection"))

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        start = 0
        try:
            while len(self.buffer) - start >= 5:
                end = start + 1 + int.from_bytes(self.buffer[start + 1 : start + 5], "big")
                if len(self.buffer) < end:
                    break
                self._receive(self.buffer[start], bytes(self.buffer[start + 5 : end]))
                start = end
        except (PgConnectionLost, ScramError) as error:
            self._fail(PgConnectionLost(f"authentication failed: {error}"))
            self.transport.close()
        del self.buffer[:start]

    def _receive(self, kind: int, body: bytes) -> None:
        if kind == ord("D"):
            self.rows.append(_row(body))
        elif kind == ord("1") and self.parsing:
            self.statements.update([self.parsing])  # it stays prepared even if its execution fails
        elif kind == ord("C"):
            count = body[:-1].rpartition(b" ")[2]
            self.affected = int(count) if count.isdigit() else 0
        elif kind == ord("E"):
            fields = {part[:1]: part[1:].decode(errors="replace") for part in body.split(b"\0")}
            self.error = PgError(fields.get(b"C", ""), fields.get(b"M", ""))
        elif kind == ord("R"):
            self._authenticate(int.from_bytes(body[:4], "big"), body[4:])
        elif kind == ord("Z"):
            self.status = chr(body[0])
            if self.error:
                self._fail(self.error)
            elif not self.waiter.done():
                self.waiter.set_result(Answer(self.rows, self.affected))

    def _authenticate(self, step: int, data: bytes) -> None:
        if step == 3:
            self.transport.write(_message(b"p", _text(self.scram.password.decode())))
        elif step == 10:
            first = self.scram.first()
            self.transport.write(_message(b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", len(first)) + first))
        elif step == 11:
            self.transport.write(_message(b"p", self.scram.final(data)))
        elif step == 12:
            self.scram.verify(data)
        elif step != 0:
            raise PgConnectionLost(
                f"the database asks for method {step}; only trust, the password itself and SCRAM-SHA-256 are known here"
            )

    def _fail(self, error: Exception) -> None:
        if not self.waiter.done():
            self.waiter.set_exception(error)


def query_message(sql: str) -> bytes:
    """What asks for `sql` in the simple protocol."""
    return _message(b"Q", _text(sql))


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def _text(value: str) -> bytes:
    return value.encode() + b"\0"


def _row(body: bytes) -> list[str | None]:
    row: list[str | None] = []
    at = 2
    for _ in range(int.from_bytes(body[:2], "big")):
        length = int.from_bytes(body[at : at + 4], "big", signed=True)
        at += 4
        row.append(None if length < 0 else body[at : at + length].decode())
        at += max(length, 0)
    return row
