"""Examine any HTTP/1.1 service on the wire, without knowing what it is for: the same request, sent in many ways.

What a right answer is, is learned from the service itself: the status and the body of its first answers. The rest is held against
RFC 9110 and RFC 9112. A check that does not hold is a warning (a client may live with it) or a rejection (clients will break).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from fairground.capacity.service.values import Conduct
from fairground.contract.encryption import HTTP_1, HTTP_2, chosen_protocol, speaks_http, speaks_tls
from fairground.contract.wire import CaseWire, HttpAnswer, Trouble
from fairground.model import Finding, LabError, Severity, secret
from fairground.model.wire import Tls, request_bytes

REPEATS = 20
"""The same request so often on one connection."""
TIMEOUT_S = 5.0
PAUSE_S = 0.002
CLOSED_WITHIN_S = 2.0
CUTS, CUTS_OF_WRITES = 12, 3
"""At so many places a request is cut; at fewer where each try may change something."""
PIPELINED = 4
SAFE = ("GET", "HEAD", "OPTIONS")
PLATEAU_MS = (36.0, 52.0)
"""A delayed acknowledgement holds an answer back for 40 ms (Linux), and little more."""
PLATEAU_SHARE = 0.5


ENCRYPTED = "the service speaks TLS, and was asked in plain HTTP"
PLAIN = "the service speaks plain HTTP, and was asked by TLS"
HINTS = {
    "connect": "start the service first, or let `try` start it: ./fairground try --url URL -- COMMAND",
    "unreachable": "check host and port of the URL, and whether the service still takes connections",
    "timeout": "try another path of it, or look into its log",
    "handshake": "its log may say why; TLS 1.2 or 1.3 and HTTP/1.1 are asked for",
    "large": "try a path with a smaller answer: whole bodies are compared",
    "endless": "no client can read such an answer: look into the service's log",
    "malformed": "does this port speak HTTP/1.1? Its log may say why it closed the connection",
}
"""What to do about each kind of trouble; what is not named here is taken for another protocol."""
ANOTHER_PROTOCOL = ("handshake", "malformed", "closed", "reset", "endless")
"""Kinds of trouble that a service without HTTP/1.1 may cause."""
HTTP_2_ALONE = "by ALPN the service chooses HTTP/2, and `try` asks in HTTP/1.1: let it speak that, too"
CHOICES = {
    HTTP_1: "by ALPN the service chooses HTTP/1.1, where HTTP/2 is offered, too",
    HTTP_2: "by ALPN the service chooses HTTP/2, which is not measured: all of this is HTTP/1.1, which it speaks, too",
    "": "the service chooses no protocol by ALPN: its clients speak HTTP/1.1",
    None: "which protocol the service chooses by ALPN is not known: the handshake that asked for it failed",
}
"""What is said of the protocol that a service chooses where it has the choice."""
MISTAKES = {
    "expired": "renew it, or measure in spite of it: --insecure",
    "stranger": "--ca FILE believes that certificate, or those that its authority signed; --insecure believes every one",
    "other-name": "ask by a name that it is for, or measure in spite of it: --insecure",
    "certificate": "mend it, or measure in spite of it: --insecure",
}
"""What to do about a certificate. The service could answer, if it were asked otherwise."""


@dataclass(frozen=True)
class Asked:
    """One request and where it goes. `headers` are those of the person; Host is `authority`. `tls` None: plain HTTP."""

    host: str
    port: int
    authority: str
    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    tls: Tls | None = None

    def encode(self, version: str = "1.1", extra: tuple[tuple[str, str], ...] = ()) -> bytes:
        """The bytes on the wire."""
        return request_bytes((self.method, self.target), self.authority, (*self.headers, *extra), self.body, version)


@dataclass
class _Sequence:
    """The same request several times over, as one client would send it."""

    answers: list[HttpAnswer] = field(default_factory=list)
    took_ms: list[float] = field(default_factory=list)
    """From the send to the whole answer, on a connection that was used before."""
    opened: int = 0
    agreed: str | None = None
    """The version and the cipher of TLS; None: plain."""


class NoAnswer(LabError):
    """Nobody answers at an address."""


class Encrypted(LabError):
    """The service speaks TLS, and was asked in plain HTTP."""


def examine(asked: Asked) -> Conduct:
    """Make all checks, in a few seconds.

    NoAnswer when the service does not answer at all; LabError where it must be asked otherwise.
    """
    try:
        seen = _repeated(asked)
    except Trouble as trouble:
        raise _no_answer(asked, trouble) from None
    first = seen.answers[0]
    if first.status == 400 and asked.tls is None and speaks_tls(asked.host, asked.port):
        raise Encrypted(f"{_named(asked)} got status 400: {ENCRYPTED}", f"ask it by TLS: https://{asked.authority}")
    bodies = {answer.body for answer in seen.answers}
    findings = [*_encryption(asked, seen), *_answered(seen), *_on_the_wire(asked, first.status)]
    return Conduct(
        status=first.status,
        content_type=first.header("content-type"),
        body=first.body if len(bodies) == 1 else None,
        body_bytes=len(first.body),
        kept_open=seen.opened == 1,
        findings=tuple(findings),
    )


def _named(asked: Asked) -> str:
    return f"`{asked.method} {secret.redact(asked.target)}` on {asked.authority}"


def _no_answer(asked: Asked, trouble: Trouble) -> LabError:
    """Make the error for a first request that got no answer."""
    kind, began = trouble.kind, f"{_named(asked)} got no answer"
    if kind in MISTAKES:
        return LabError(f"{began}: {trouble.sentence}", MISTAKES[kind])
    if kind == "handshake" and speaks_http(asked.host, asked.port):
        return LabError(f"{began}: {PLAIN}", f"ask it in plain HTTP: http://{asked.authority}")
    if not trouble.unconnected and asked.tls is None and speaks_tls(asked.host, asked.port):
        return Encrypted(f"{began}: {ENCRYPTED}", f"ask it by TLS: https://{asked.authority}")
    if asked.tls is not None and kind in ANOTHER_PROTOCOL and chosen_protocol(asked.host, asked.port, asked.tls) == HTTP_2:
        return NoAnswer(f"{began}: {trouble.sentence}", HTTP_2_ALONE, exit_code=3)
    return NoAnswer(f"{began}: {trouble.sentence}", HINTS.get(kind, HINTS["malformed"]), exit_code=3)


def _repeated(asked: Asked) -> _Sequence:
    """Send one request after the other; a connection that the service closes is opened anew. Trouble without any answer."""
    seen, wire = _Sequence(), None
    try:
        for _ in range(REPEATS):
            reused = wire is not None
            if wire is None:
                wire = _wire(asked)
                seen.opened, seen.agreed = seen.opened + 1, wire.agreed
            began = time.monotonic()
            wire.send(asked.encode())
            try:
                answer = wire.answer(asked.method)
            except Trouble as trouble:
                wire.__exit__()
                wire = None
                if not (reused and trouble.kind in ("closed", "reset")):
                    raise
                continue
            seen.answers.append(_light(answer, seen.answers))
            if reused:
                seen.took_ms.append((time.monotonic() - began) * 1000)
            if answer.says("close") or _ends_with_connection(answer):
                wire.__exit__()
                wire = None
    finally:
        if wire is not None:
            wire.__exit__()
    if not seen.answers:
        raise Trouble("closed", "the service closed every connection without an answer")
    return seen


def _encryption(asked: Asked, seen: _Sequence) -> Iterator[Finding]:
    """Tell what a handshake ended with, how far the certificate was checked, and what a browser would speak."""
    tls = asked.tls
    if tls is None:
        return
    if tls.insecure:
        yield _finding("tls", Severity.WARN, f"{seen.agreed}; the certificate was not checked, since --insecure was given")
    else:
        whose = "an authority of this machine" if tls.ca is None else f"`{tls.ca}`"
        yield _finding("tls", Severity.NOTE, f"{seen.agreed}; the certificate is for `{tls.name}`, by {whose}")
    protocol = chosen_protocol(asked.host, asked.port, tls)
    yield _finding("alpn", Severity.NOTE, CHOICES[protocol], protocol=protocol)


def _light(answer: HttpAnswer, before: Sequence[HttpAnswer]) -> HttpAnswer:
    """The answer with as little memory as can tell it from others: the first body itself, of another one its hash."""
    if not before:
        return answer
    first = before[0].body
    return replace(answer, body=first if answer.body == first else hashlib.sha256(answer.body).digest())


def _answered(seen: _Sequence) -> Iterator[Finding]:
    """Tell what the repeated answers show: status, body, framing, kept connections, a plateau of latencies."""
    statuses = sorted({answer.status for answer in seen.answers})
    count = len(seen.answers)
    if len(statuses) > 1:
        yield _finding("status", Severity.REJECT, f"the same request got the statuses {', '.join(map(str, statuses))}")
    elif statuses[0] >= 400:
        yield _finding("status", Severity.WARN, f"every answer has status {statuses[0]}: is this the request that you mean?")
    else:
        yield _finding("status", Severity.NOTE, f"{count} answers, all with status {statuses[0]}")
    bodies = {answer.body for answer in seen.answers}
    words = "all bodies are the same, and are compared under load" if len(bodies) == 1 else (
        f"{len(bodies)} different bodies in {count} answers: under load only the status is held against them")  # fmt: skip
    yield _finding("body", Severity.NOTE, words, bodies=len(bodies), bytes=len(seen.answers[0].body))
    if any(_ends_with_connection(answer) for answer in seen.answers):
        sentence = "answers have neither a length nor chunks: their connection ends them, so each request needs a new one"
        yield _finding("length", Severity.WARN, sentence)
    else:
        yield _finding("length", Severity.NOTE, "every answer says where it ends, and does")
    if seen.opened == 1:
        yield _finding("keep-alive", Severity.NOTE, f"one connection served {count} requests")
    else:
        sentence = f"{count} requests needed {seen.opened} connections: the service closes what could be kept open"
        yield _finding("keep-alive", Severity.WARN, sentence, connections=seen.opened)
    yield _plateau(seen.took_ms)


def _plateau(took_ms: list[float]) -> Finding:
    """Look for a mode near 40 ms on connections that were used before: the signature of a delayed acknowledgement."""
    low, high = PLATEAU_MS
    inside = sum(low <= ms <= high for ms in took_ms)
    if not took_ms:
        return _finding("plateau", Severity.NOTE, "no connection was used twice, so no plateau of 40 ms can be seen")
    if inside >= PLATEAU_SHARE * len(took_ms):
        return _finding(
            "plateau",
            Severity.WARN,
            f"{inside} of {len(took_ms)} answers on kept connections took about 40 ms: the mark of a delayed acknowledgement,"
            " which an answer in two parts without TCP_NODELAY brings about",
            inside=inside,
            median_ms=median(took_ms),
        )
    words = f"no plateau at 40 ms: the median on a kept connection is {median(took_ms):,.2f} ms"
    return _finding("plateau", Severity.NOTE, words, median_ms=median(took_ms))


def _on_the_wire(asked: Asked, status: int) -> Iterator[Finding]:
    """Send the same request in other ways. A check never raises for what a service does."""
    safe = asked.method in SAFE
    checks: list[tuple[str, Severity, Callable[[Asked, int], str | None], str]] = [
        ("close", Severity.WARN, _close, "`connection: close` is honoured"),
        ("http-1.0", Severity.WARN, _old_client, "a client of HTTP/1.0 is answered, and can tell the end"),
        ("split", Severity.REJECT, _split, "a request that arrives in parts is answered like any other"),
        ("garbage", Severity.WARN, _garbage, "what is not HTTP is refused"),
    ]
    if safe:
        checks.append(("pipeline", Severity.WARN, _pipeline, "pipelined requests are answered in their order"))
    if asked.method == "GET":
        checks.append(("head", Severity.WARN, _head, "HEAD has the same status and no body"))
    for id, severity, check, words in checks:
        try:
            wrong = check(asked, status)
        except Trouble as trouble:
            wrong = trouble.sentence
        yield _finding(id, Severity.NOTE, words) if wrong is None else _finding(id, severity, f"{NAMES[id]}: {wrong}")


NAMES = {
    "close": "a request with `connection: close`",
    "http-1.0": "a request of HTTP/1.0",
    "split": "a request in parts",
    "garbage": "bytes that are not HTTP",
    "pipeline": f"{PIPELINED} requests in one write",
    "head": "HEAD",
}


def _close(asked: Asked, status: int) -> str | None:
    with _wire(asked) as wire:
        wire.send(asked.encode(extra=(("Connection", "close"),)))
        answer = wire.answer(asked.method)
        if answer.status != status:
            return f"status {answer.status} instead of {status}"
        return None if wire.closes(CLOSED_WITHIN_S) else f"the connection is still open {CLOSED_WITHIN_S:g} s later"


def _old_client(asked: Asked, status: int) -> str | None:
    with _wire(asked) as wire:
        wire.send(asked.encode(version="1.0"))
        answer = wire.answer(asked.method)
        if answer.status != status:
            return f"status {answer.status} instead of {status}"
        if answer.header("transfer-encoding") is not None:
            return "the answer has a transfer-encoding, which HTTP/1.0 does not know"
        if answer.says("keep-alive") or wire.closes(CLOSED_WITHIN_S):
            return None
        return "the connection stays open without `connection: keep-alive`"


def _split(asked: Asked, status: int) -> str | None:
    """Send the request cut at several places, and once byte by byte: a server must wait for the rest."""
    data, cuts = asked.encode(), CUTS if asked.method in SAFE else CUTS_OF_WRITES
    places = sorted({max(1, len(data) * number // (cuts + 1)) for number in range(1, cuts + 1)})
    partings = [[data[:place], data[place:]] for place in places]
    partings.append([data[at : at + 1] for at in range(len(data))])
    for number, parts in enumerate(partings):
        where = f"cut after byte {places[number]}" if number < len(places) else "sent byte by byte"
        with _wire(asked) as wire:
            for part in parts:
                wire.send(part)
                time.sleep(PAUSE_S)
            try:
                answer = wire.answer(asked.method)
            except Trouble as trouble:
                return f"{where}: {trouble.sentence}"
        if answer.status != status:
            return f"{where}: status {answer.status} instead of {status}"
    return None


def _garbage(asked: Asked, _status: int) -> str | None:
    """Send what is not HTTP. 400 and a closed connection are asked for (RFC 9112 §2.2); a closed connection alone will do."""
    with _wire(asked) as wire:
        wire.send(b"\x01\x02this is no request\r\n\r\n")
        try:
            answer = wire.answer("GET")
        except Trouble as trouble:
            return None if trouble.kind in ("closed", "reset") else trouble.sentence
        return None if 400 <= answer.status < 600 else f"answered with status {answer.status}"


def _pipeline(asked: Asked, status: int) -> str | None:
    """Send several requests in one write. A server may close after some of them, and must not mix them up (RFC 9112 §9.3.2)."""
    answered = 0
    with _wire(asked) as wire:
        wire.send(asked.encode() * PIPELINED)
        try:
            for _ in range(PIPELINED):
                answer = wire.answer(asked.method)
                if answer.status != status:
                    return f"answer {answered + 1} has status {answer.status} instead of {status}"
                answered += 1
                if answer.says("close") or _ends_with_connection(answer):
                    break
        except Trouble as trouble:
            if not answered or trouble.kind not in ("closed", "reset"):
                return f"{answered} were answered, then: {trouble.sentence}"
    return None


def _head(asked: Asked, status: int) -> str | None:
    """Send HEAD. A body after it would be taken for the next answer: so a GET follows on the same connection."""
    with _wire(asked) as wire:
        wire.send(replace(asked, method="HEAD").encode())
        answer = wire.answer("HEAD")
        if wire.surplus:
            return "bytes follow the header"
        if answer.status != status:
            return f"status {answer.status}, where GET has {status}"
        if answer.says("close") or wire.closes(0.05):
            return "bytes follow the header" if wire.surplus else None
        wire.send(asked.encode())
        following = wire.answer(asked.method)
        return None if following.status == status else f"the GET after it got status {following.status}"


def _ends_with_connection(answer: HttpAnswer) -> bool:
    """True if only the end of the connection tells the end of the body."""
    bodiless = answer.status in (204, 304)
    return not bodiless and answer.header("content-length") is None and answer.header("transfer-encoding") is None


def _wire(asked: Asked) -> CaseWire:
    return CaseWire(asked.host, asked.port, time.monotonic() + TIMEOUT_S, asked.tls)


def _finding(id: str, severity: Severity, sentence: str, **evidence: int | float | str | None) -> Finding:
    return Finding(id, severity, sentence, evidence)
