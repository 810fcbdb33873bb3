"""The same request, sent in other ways, held against RFC 9110 and RFC 9112. A check never raises for what a service does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from fairground.capacity.service.request import LONG_S, Asked, ServiceWire, is_safe
from fairground.contract.exchange import CLOSED_WITHIN_S
from fairground.contract.wire import LIMITED, HttpAnswer, Trouble
from fairground.model import Finding, Severity

PAUSE_S = 0.002
SINGLE_BYTES = 300
"""This many bytes of a request are sent one by one, and the rest at once: else a long one would meet every time limit."""
CUTS, CUTS_OF_WRITES = 12, 3
"""A request is cut at this many places, and at fewer where each try may change something."""
PIPELINED = 4
LIMITED_S = 2.0
"""A rate limit is waited for so long at most, and once for each check."""
IDLE_S = 1.0


class _Limited(Exception):
    """A rate limit refused a request of a check."""

    def __init__(self, answer: HttpAnswer) -> None:
        super().__init__()
        self.wait_s = wait_of(answer)


def checks(asked: Asked, status: int) -> Iterator[Finding]:
    """Make all checks on a service whose good answers have this status."""
    checks: list[tuple[str, Severity, Callable[[Asked, int], str | None], str]] = [
        ("close", Severity.WARN, _close, "`connection: close` is honoured"),
        ("http-1.0", Severity.WARN, _old_client, "a client of HTTP/1.0 is answered, and can tell the end"),
        ("split", Severity.REJECT, _split, "a request that arrives in parts is answered like any other"),
        ("garbage", Severity.WARN, _garbage, "what is not HTTP is refused"),
        ("idle", Severity.WARN, _idle, f"a kept connection stays open for {IDLE_S:g} s without a request"),
    ]
    if is_safe(asked.method):
        checks.append(("pipeline", Severity.WARN, _pipeline, "pipelined requests are answered in their order"))
    if asked.method == "GET":
        checks.append(("head", Severity.WARN, _head, "HEAD has the same status and no body"))
    for id, severity, check, words in checks:
        wrong = _wrong(check, asked, status)
        if wrong == REFUSED:
            severity = Severity.WARN
        yield Finding(id, Severity.NOTE, words) if wrong is None else Finding(id, severity, f"{NAMES[id]}: {wrong}")


REFUSED = "not known, since a rate limit refused it (429)"


def _wrong(check: Callable[[Asked, int], str | None], asked: Asked, status: int) -> str | None:
    """Return what a check finds wrong. Where a rate limit refuses it, it waits, and is made once more."""
    for _ in range(2):
        try:
            return check(asked, status)
        except Trouble as trouble:
            return trouble.sentence
        except _Limited as limited:
            time.sleep(limited.wait_s)
    return REFUSED


def _other_status(answer: HttpAnswer, status: int) -> bool:
    """True if an answer has another status than it should."""
    if answer.status == LIMITED != status:
        raise _Limited(answer)
    return answer.status != status


NAMES = {
    "close": "a request with `connection: close`",
    "http-1.0": "a request of HTTP/1.0",
    "split": "a request in parts",
    "garbage": "bytes that are not HTTP",
    "idle": "a kept connection",
    "pipeline": f"{PIPELINED} requests in one write",
    "head": "HEAD",
}


def _close(asked: Asked, status: int) -> str | None:
    with ServiceWire(asked) as wire:
        wire.send(asked.encode(extra=(("Connection", "close"),)))
        answer = wire.answer(asked.method)
        if _other_status(answer, status):
            return f"status {answer.status} instead of {status}"
        return None if wire.closes(CLOSED_WITHIN_S) else f"the connection is still open {CLOSED_WITHIN_S:g} s later"


def _old_client(asked: Asked, status: int) -> str | None:
    with ServiceWire(asked) as wire:
        wire.send(asked.encode(version="1.0"))
        answer = wire.answer(asked.method)
        if _other_status(answer, status):
            return f"status {answer.status} instead of {status}"
        if answer.header("transfer-encoding") is not None:
            return "the answer has a transfer-encoding, which HTTP/1.0 does not know"
        if answer.says("keep-alive") or wire.closes(CLOSED_WITHIN_S):
            return None
        return "the connection stays open without `connection: keep-alive`"


def _split(asked: Asked, status: int) -> str | None:
    """Send the request cut at several places, and once byte by byte: a server must wait for the rest."""
    data, cuts = asked.encode(), CUTS if is_safe(asked.method) else CUTS_OF_WRITES
    places = sorted({max(1, len(data) * number // (cuts + 1)) for number in range(1, cuts + 1)})
    single = [data[at : at + 1] for at in range(min(SINGLE_BYTES, len(data)))]
    partings = [[*single, data[len(single) :]], *([data[:place], data[place:]] for place in places)]
    until_s = time.monotonic() + LONG_S
    for number, parts in enumerate(partings):
        if time.monotonic() > until_s:
            break
        where = f"cut after byte {places[number - 1]}" if number else "sent byte by byte"
        with ServiceWire(asked) as wire:
            for part in filter(None, parts):
                wire.send(part)
                time.sleep(PAUSE_S)
            try:
                answer = wire.answer(asked.method)
            except Trouble as trouble:
                return f"{where}: {trouble.sentence}"
        if _other_status(answer, status):
            return f"{where}: status {answer.status} instead of {status}"
    return None


def _garbage(asked: Asked, _status: int) -> str | None:
    """Send what is not HTTP. 400 and a closed connection are asked for (RFC 9112 §2.2); a closed connection alone will do."""
    with ServiceWire(asked) as wire:
        wire.send(b"\x01\x02this is no request\r\n\r\n")
        try:
            answer = wire.answer("GET")
        except Trouble as trouble:
            return None if trouble.kind in ("closed", "reset") else trouble.sentence
        return None if 400 <= answer.status < 600 else f"answered with status {answer.status}"


def _idle(asked: Asked, status: int) -> str | None:
    """Leave a kept connection alone for a while: clients lose the request that they send when it is closed."""
    with ServiceWire(asked) as wire:
        wire.send(asked.encode())
        answer = wire.answer(asked.method)
        if _other_status(answer, status):
            return f"status {answer.status} instead of {status}"
        if answer.is_last:
            return None
        began = time.monotonic()
        if wire.closes(IDLE_S):
            return f"the service closes it without a word after {time.monotonic() - began:.2f} s without a request"
        return None


def _pipeline(asked: Asked, status: int) -> str | None:
    """Send several requests in one write. A server may close after some of them, and must not mix them up (RFC 9112 §9.3.2)."""
    answered = 0
    with ServiceWire(asked) as wire:
        wire.send(asked.encode() * PIPELINED)
        try:
            for _ in range(PIPELINED):
                answer = wire.answer(asked.method)
                if _other_status(answer, status):
                    return f"answer {answered + 1} has status {answer.status} instead of {status}"
                answered += 1
                if answer.is_last:
                    break
        except Trouble as trouble:
            if not answered or trouble.kind not in ("closed", "reset"):
                return f"{answered} were answered, then: {trouble.sentence}"
    return None


def _head(asked: Asked, status: int) -> str | None:
    """Send HEAD. A body after it would be taken for the next answer: so a GET follows on the same connection."""
    with ServiceWire(asked) as wire:
        wire.send(replace(asked, method="HEAD").encode())
        answer = wire.answer("HEAD")
        if wire.surplus:
            return "bytes follow the header"
        if _other_status(answer, status):
            return f"status {answer.status}, where GET has {status}"
        if answer.says("close") or wire.closes(0.05):
            return "bytes follow the header" if wire.surplus else None
        wire.send(asked.encode())
        following = wire.answer(asked.method)
        return f"the GET after it got status {following.status}" if _other_status(following, status) else None


def wait_of(limited: HttpAnswer) -> float:
    """The seconds that a rate limit is waited for, by its answer."""
    return min(limited.retry_after_s or LIMITED_S, LIMITED_S)
