"""What the zoo's animals share, tried without a database: SCRAM, the wire client on a scripted server, the HTTP server."""

from __future__ import annotations

import asyncio
import struct
import sys
import tomllib
from collections.abc import Awaitable, Callable

import pytest

from builders.paths import TESTS

sys.path.insert(0, str(TESTS / "zoo"))

from animal.healthy import make_cipher, whole
from animal.http import HttpError, HttpServer, Request, Response, parse_head
from animal.pg import Connection, PgConnectionLost, PgError
from animal.scram import Scram, ScramError

ZOO = TESTS / "zoo"
NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_NONCE = NONCE + "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
SERVER_FIRST = f"r={SERVER_NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()
PROOF = b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
SIGNATURE = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="

POST = b"POST /echo?x=1 HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello"
CHUNKED = b"POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nx: y\r\n\r\n"
LAST = b"GET /last HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"


class Echo(HttpServer):
    """Answers with method, path and body."""

    async def respond(self, request: Request) -> Response:
        return Response(200, f"{request.method} {request.path} ".encode() + request.body)


def test_every_animal_has_its_expectation() -> None:
    """`expected.toml` names each stack in a trial, with a limit or as absent, and no other; the README has a line for each animal."""
    expected = tomllib.loads((ZOO / "expected.toml").read_text())
    manifests = {path.parent.name: tomllib.loads(path.read_text()) for path in TESTS.glob("zoo*/*/server.toml")}
    stacks = {f"{animal}:{variant}" for animal, manifest in manifests.items() for variant in manifest["variants"]}
    assert {row["stack"] for part in ("trial", "limit", "absent") for row in expected[part]} == stacks
    assert {stack for row in expected["check"] for stack in row["stacks"]} <= stacks
    readme = (ZOO / "README.md").read_text()
    assert [animal for animal in manifests if f"\n| `{animal}` |" not in readme] == []


def test_scram_answers_as_the_rfc_prints_it() -> None:
    """The exchange of RFC 7677 section 3 comes out byte for byte, and the server's signature is accepted."""
    scram = Scram("user", "pencil", NONCE)
    assert scram.first() == b"n,,n=user,r=" + NONCE.encode()
    assert scram.final(SERVER_FIRST) == b"c=biws,r=" + SERVER_NONCE.encode() + b"," + PROOF
    scram.verify(SIGNATURE)


def test_scram_refuses_a_server_that_does_not_know_the_password() -> None:
    """A wrong signature, and a nonce that is not the client's, are errors."""
    scram = Scram("user", "pencil", NONCE)
    scram.final(SERVER_FIRST)
    with pytest.raises(ScramError, match="signature"):
        scram.verify(SIGNATURE.replace(b"6", b"7", 1))
    with pytest.raises(ScramError, match="nonce"):
        scram.final(SERVER_FIRST.replace(b"rOpr", b"xOpr"))


def converse(*pieces: bytes) -> bytes:
    """All that the echo server answers to `pieces`, sent apart, until it closes the connection."""

    async def talk() -> bytes:
        server = await asyncio.start_server(Echo().converse, "127.0.0.1", 0, limit=65_536)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.001)
        answer = await reader.read()
        writer.close()
        server.close()
        return answer

    return asyncio.run(asyncio.wait_for(talk(), 10))


@pytest.mark.parametrize("request_bytes", [POST, CHUNKED], ids=["length", "chunked"])
def test_a_request_may_be_cut_at_every_byte(request_bytes: bytes) -> None:
    """Wherever a request is cut in two, its answer is the same, and the connection serves the next one."""
    for at in range(1, len(request_bytes)):
        answer = converse(request_bytes[:at], request_bytes[at:] + LAST)
        assert answer.count(b"HTTP/1.1 200 OK") == 2, at
        assert b"\r\n\r\nPOST /echo helloHTTP/1.1" in answer, at
        assert answer.endswith(b"\r\n\r\nGET /last "), at


def test_pipelined_requests_are_answered_in_order() -> None:
    """Requests that arrive in one piece are answered one after another."""
    paths = [b"/%d" % number for number in range(20)]
    answer = converse(b"".join(b"GET %s HTTP/1.1\r\nhost: a\r\n\r\n" % path for path in paths) + LAST)
    places = [answer.index(b"\r\n\r\nGET %s HTTP" % path) for path in paths]
    assert places == sorted(places)


def test_head_is_get_without_the_body() -> None:
    """HEAD gets the length of the body and not the body, and the connection stays in step."""
    answer = converse(b"HEAD /a HTTP/1.1\r\nhost: a\r\n\r\n" + LAST)
    first, second = answer.split(b"\r\n\r\nHTTP/1.1", 1)
    assert b"content-length: 8" in first
    assert second.endswith(b"GET /last ")


@pytest.mark.parametrize(
    ("head", "keep_alive"),
    [
        (b"GET / HTTP/1.1\r\nhost: a\r\n\r\n", True),
        (b"GET / HTTP/1.1\r\nhost: a\r\nConnection: Close\r\n\r\n", False),
        (b"GET / HTTP/1.0\r\n\r\n", False),
        (b"GET / HTTP/1.0\r\nconnection: Keep-Alive\r\n\r\n", True),
    ],
)
def test_version_and_header_decide_whether_the_connection_stays(head: bytes, keep_alive: bool) -> None:
    """HTTP/1.1 stays unless told to close; HTTP/1.0 closes unless told to stay."""
    assert parse_head(head).keep_alive is keep_alive


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: a\r\nno colon\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost : a\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\nhost: a\r\n\r\n", 505),
        (b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 70000\r\n\r\n" + b"x" * 70_000, 413),
        (b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\n\r\n", 501),
        (b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: a\r\nx: " + b"y" * 70_000 + b"\r\n\r\n", 431),
    ],
)
def test_malformed_requests_are_refused(request_bytes: bytes, status: int) -> None:
    """What is not HTTP, or too long, gets the fitting status in one answer, and the connection is closed."""
    answer = converse(request_bytes)
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert answer.count(b"HTTP/1.1 ") - answer.count(b"and HTTP/1.1 ") == 1
    assert b"connection: close" in answer


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("007", 7),
        ("-5", -5),
        ("%31", 1),
        ("2147483647", 2147483647),
        ("-2147483648", -2147483648),
        ("0" * 9000 + "7", 7),
    ]
    + [(text, None) for text in ("", "5x", "+5", "1.0", " 1", "%D9%A3", "2147483648", "-2147483649", "1e3", "9" * 9000)],
)
def test_whole_numbers_are_decimal_and_in_range(text: str, value: int | None) -> None:
    """A parameter is a decimal integer in its range, percent-encoded or not; everything else is refused with 400."""
    request = Request("POST", f"/tx?other=1&delta={text}", True, {})
    if value is not None:
        assert whole(request, "delta", -2147483648) == value
        return
    with pytest.raises(HttpError) as caught:
        whole(request, "delta", -2147483648)
    assert caught.value.response.status == 400


def test_the_cipher_rotates_inside_each_case() -> None:
    """Letters turn by 14 inside their case; all else, also letters with accents, stays."""
    assert "AMNZ amnz 19 Å\n".translate(make_cipher(14)) == "OABN oabn 19 Å\n"


Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def message(kind: bytes, body: bytes) -> bytes:
    """One message of the PostgreSQL protocol."""
    return kind + struct.pack("!i", len(body) + 4) + body


READY = message(b"R", struct.pack("!i", 0)) + message(b"Z", b"I")
ROW = message(b"D", struct.pack("!hi", 2, 1) + b"7" + struct.pack("!i", -1)) + message(b"C", b"SELECT 1\0") + message(b"Z", b"I")
ERROR = message(b"E", b"SERROR\0C40P01\0Mdeadlock detected\0\0") + message(b"Z", b"E")


def with_database(script: Script, ask: Callable[[Connection], Awaitable[None]]) -> None:
    """Let a client `ask` a database that follows `script` after it has read the startup message."""

    async def database(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(struct.unpack("!i", await reader.readexactly(4))[0] - 4)
        await script(reader, writer)
        writer.close()

    async def talk() -> None:
        server = await asyncio.start_server(database, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()[:2]
        connection = await Connection.open(f"postgresql://user:pencil@{host}:{port}/name")
        await ask(connection)
        connection.close()
        server.close()

    asyncio.run(asyncio.wait_for(talk(), 10))


def test_rows_arrive_whole_however_they_are_cut() -> None:
    """A database's answer that comes byte by byte is put together; NULL is None."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(READY)
        await reader.readuntil(b"S\0\0\0\4")
        for byte in ROW:
            writer.write(bytes([byte]))
            await asyncio.sleep(0.001)

    async def ask(connection: Connection) -> None:
        answer = await connection.query("SELECT $1, NULL", 7)
        assert (answer.rows, answer.affected, connection.status) == ([["7", None]], 1, "I")

    with_database(script, ask)


def test_an_error_leaves_the_connection_usable() -> None:
    """A refused statement raises with its SQLSTATE, tells the transaction's state, and the next statement is answered."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(READY)
        for answer in (ERROR, ROW):
            await reader.readuntil(b"S\0\0\0\4")
            writer.write(answer)

    async def ask(connection: Connection) -> None:
        with pytest.raises(PgError) as caught:
            await connection.query("SELECT 1")
        assert (caught.value.code, connection.status) == ("40P01", "E")
        assert (await connection.query("SELECT 1")).affected == 1

    with_database(script, ask)


def test_a_connection_that_ends_midway_is_lost() -> None:
    """When the database goes away inside an answer, the waiting statement and all later ones raise."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(READY)
        await reader.readuntil(b"S\0\0\0\4")
        writer.write(ROW[:7])

    async def ask(connection: Connection) -> None:
        for _ in range(2):
            with pytest.raises(PgConnectionLost):
                await connection.query("SELECT 1")
        assert connection.closed

    with_database(script, ask)
