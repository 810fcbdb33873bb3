"""Examine any HTTP/1.1 service on the wire, without knowing what it is for: the same request, sent in many ways.

What a right answer is, is learned from the service itself: the status and the body of its first answers. The rest is held against
RFC 9110 and RFC 9112. A check that does not hold is a warning (a client may live with it) or a rejection (clients will break).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from statistics import mode

from fairground.capacity.service import coding, graphql, protocol, timers
from fairground.capacity.service.redirect import Redirect, redirect_of
from fairground.capacity.service.request import LONG_S, Asked, ServiceWire, is_safe
from fairground.capacity.service.values import Conduct
from fairground.contract.encryption import HTTP_1, HTTP_2, chosen_protocol, speaks_http, speaks_tls
from fairground.contract.wire import LIMITED, HttpAnswer, Trouble
from fairground.model import Finding, LabError, Severity, foreign, secret

REPEATS = 20
"""The same request so often on one connection."""
LEAST_REPEATS = 3
"""Where answers are slow, the request is repeated so often at least."""
SETTLE_S = {5: 10.0}
"""By the first digit of a status: how long a service that answers with it may take until it answers well."""
SETTLE_USUAL_S, SETTLE_PAUSE_S = 5.0, 0.25

ENCRYPTED = "the service speaks TLS, and was asked in plain HTTP"
PLAIN = "the service speaks plain HTTP, and was asked by TLS"
HINTS = {
    "connect": "start the service first, or let `try` start it: ./fairground try --url URL -- COMMAND",
    "unreachable": "check host and port of the URL, and whether the service still takes connections",
    "timeout": "give it longer (--timeout-ms), try another path of it, or look into its log",
    "handshake": "its log may say why; TLS 1.2 or 1.3 and HTTP/1.1 are asked for",
    "large": "try a path with a smaller answer: whole bodies are compared",
    "endless": "no client can read such an answer: look into the service's log",
    "malformed": "does this port speak HTTP/1.1? Its log may say why it closed the connection",
}
"""What to do about each kind of trouble; what is not named here is taken for another protocol."""
UNENDED = "a stream without an end, such as one of events, cannot be loaded: try another path; a long answer needs --timeout-ms"
"""What to do about an answer whose body had begun."""
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


@dataclass
class _Sequence:
    """The same request several times over, as one client would send it."""

    answers: list[HttpAnswer] = field(default_factory=list)
    took_ms: list[float] = field(default_factory=list)
    """From the send to the whole answer, on a connection that was used before."""
    rest_ms: list[float] = field(default_factory=list)
    """From its first byte to the whole answer, of the same answers."""
    body_bytes: int = 0
    """Of the largest body: of all but the first only a hash is kept."""
    opened: int = 0
    cut: int = 0
    """Connections that the lab itself closed, since an answer on them did not come in time."""
    missed: list[Trouble] = field(default_factory=list)
    """Why requests got no answer, beside others that did."""
    agreed: str | None = None
    """The version and the cipher of TLS; None: plain."""


class NoAnswer(LabError):
    """Nobody answers at an address."""


class Encrypted(LabError):
    """The service speaks TLS, and was asked in plain HTTP."""


def examine(asked: Asked, may_follow: bool = True) -> Conduct:
    """Make all checks, in a few seconds. `may_follow`: one redirect may still be followed, where that is asked for.

    NoAnswer when the service does not answer at all; LabError where it must be asked otherwise.
    """
    began_s = time.monotonic()
    try:
        seen, start = _settled(asked)
    except Trouble as trouble:
        raise _no_answer(asked, trouble) from None
    first = seen.answers[0]
    _require_plain(asked, first)
    place = redirect_of(asked, first)
    if asked.follows and may_follow and place is not None and place.target is not None:
        followed = examine(replace(asked, target=place.target), may_follow=False)
        note = _finding("redirect", Severity.NOTE, f"{place.words} was followed: all of this is about {place.shown}")
        return replace(followed, target=place.target, findings=(note, *followed.findings))
    status = _good_status(asked, [answer.status for answer in seen.answers])
    told, checked = _statuses(asked, seen, status, place), tuple(protocol.checks(asked, status))
    good = [answer for answer in (*seen.answers, *_later(asked, seen, began_s)) if answer.status == status]
    same = len({answer.body for answer in good}) == 1
    findings = [
        *start,
        *_encryption(asked, seen),
        told,
        *_missed(seen),
        _bodies(asked, good),
        *_refused(good[0]),
        *_answered(asked, seen),
        *checked,
    ]
    return Conduct(
        status=status,
        content_type=good[0].header("content-type"),
        body=good[0].body if same and not asked.any_body and not coding.is_unread(good[0]) else None,
        body_bytes=seen.body_bytes,
        kept_open=seen.opened - seen.cut <= 1,
        findings=tuple(findings),
        coding=coding.name_of(good[0]),
        good=_is_loaded(asked, status),
    )


def _later(asked: Asked, seen: _Sequence, began_s: float) -> Iterator[HttpAnswer]:
    """One more answer, a second after the first: it may hold a time that the repeated ones have in common."""
    time.sleep(max(0.0, began_s + protocol.IDLE_S - time.monotonic()))
    with suppress(Trouble):
        answer = ask_once(asked)
        seen.body_bytes = max(seen.body_bytes, len(answer.body))
        yield _light(answer, seen.answers)


def ask_first(asked: Asked) -> HttpAnswer:
    """Ask a service that may still start, and once more after a rate limit. Errors are those of `examine`."""
    began = time.monotonic()
    try:
        answer = ask_once(asked)
        while answer.status >= 500 and time.monotonic() - began < SETTLE_S.get(5, SETTLE_USUAL_S):
            time.sleep(SETTLE_PAUSE_S)
            answer = ask_once(asked)
        if answer.status == LIMITED:
            time.sleep(protocol.wait_of(answer))
            answer = ask_once(asked)
    except Trouble as trouble:
        raise _no_answer(asked, trouble) from None
    _require_plain(asked, answer)
    return answer


def require_connection(asked: Asked) -> None:
    """Raise the error of `examine` where no connection stands, or it must be by TLS."""
    try:
        ServiceWire(asked).__exit__()
    except Trouble as trouble:
        raise _no_answer(asked, trouble) from None
    if asked.tls is None and speaks_tls(asked.host, asked.port):
        raise Encrypted(f"nobody logs in at {asked.authority}: {ENCRYPTED}", f"ask it by TLS: https://{asked.authority}")


def _require_plain(asked: Asked, first: HttpAnswer) -> None:
    """Refuse a first answer that a service by TLS gives to who asks it in plain HTTP."""
    if first.status == 400 and asked.tls is None and speaks_tls(asked.host, asked.port):
        raise Encrypted(f"{_named(asked)} got status 400: {ENCRYPTED}", f"ask it by TLS: https://{asked.authority}")


def is_starting(asked: Asked) -> bool:
    """True if the service answers with 500 or more, and that is not expected: so many do while they start."""
    try:
        status = ask_once(asked).status
    except Trouble:
        return False
    return status >= 500 and not asked.is_good(status)


def ask_once(asked: Asked) -> HttpAnswer:
    """Ask a service on a connection of its own, and wait for nothing else. Trouble without a whole answer."""
    with ServiceWire(asked) as wire:
        wire.send(asked.encode())
        return wire.answer(asked.method)


def _settled(asked: Asked) -> tuple[_Sequence, tuple[Finding, ...]]:
    """The answers of a service that has started, and what it answered before. Trouble without any answer.

    A service may answer while it starts. So where an answer is not good, it is asked until one is, or for some seconds.
    """
    began, seen = time.monotonic(), _repeated(asked)
    bad = [answer.status for answer in seen.answers if not asked.is_good(answer.status) and answer.status != LIMITED]
    if not bad or asked.is_good(seen.answers[0].status):  # what answered well before has started
        return seen, ()
    status = seen.answers[-1].status
    if status < 500 and not is_safe(asked.method):  # it has started and answers so; each further request may write
        return seen, ()
    while not asked.is_good(status) and time.monotonic() - began < SETTLE_S.get(status // 100, SETTLE_USUAL_S):
        time.sleep(SETTLE_PAUSE_S)
        try:
            status = ask_once(asked).status
        except Trouble:
            continue
    if not asked.is_good(status):
        return seen, ()
    took_s, again = time.monotonic() - began, _repeated(asked)
    if any(not asked.is_good(answer.status) and answer.status != LIMITED for answer in again.answers):
        return again, ()
    words = f"it answered with {_listed(bad)} for {took_s:.1f} s, and well since then: that is what it is held to"
    return again, (_finding("start", Severity.WARN, words, took_s=took_s),)


def _good_status(asked: Asked, statuses: Sequence[int]) -> int:
    """The status that is right: the one of most good answers or, without any, of most answers."""
    good = [status for status in statuses if asked.is_good(status)]
    return mode(good or statuses)


def _is_loaded(asked: Asked, status: int) -> bool:
    """True if a service whose answers have this status is loaded."""
    return asked.is_good(status) or asked.expects is None and status < 400


def _listed(statuses: Sequence[int]) -> str:
    """`status 503`, `the statuses 502, 503`."""
    found = sorted(set(statuses))
    return f"status {found[0]}" if len(found) == 1 else f"the statuses {', '.join(map(str, found))}"


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
    hint = UNENDED if trouble.has_begun else HINTS.get(kind, HINTS["malformed"])
    return NoAnswer(f"{began}: {trouble.sentence}", hint, exit_code=3)


def _repeated(asked: Asked) -> _Sequence:
    """Send one request after the other; a connection that the service closes is opened anew.

    Trouble where the first request has no answer, or no connection stands any more.
    """
    seen = _Sequence()
    wire: ServiceWire | None = None
    try:
        until_s = time.monotonic() + LONG_S
        for _ in range(REPEATS):
            if (seen.missed or len(seen.answers) >= LEAST_REPEATS) and time.monotonic() > until_s:
                break
            reused = wire is not None
            if wire is None:
                wire = ServiceWire(asked)
                seen.opened, seen.agreed = seen.opened + 1, wire.agreed
            began = time.monotonic()
            try:
                wire.send(asked.encode())
                answer = wire.answer(asked.method)
            except Trouble as trouble:
                wire.__exit__()
                wire, seen.cut = None, seen.cut + (trouble.kind == "timeout")
                if not seen.answers and not (reused and trouble.kind in ("closed", "reset")):
                    raise
                seen.missed += [] if reused and trouble.kind in ("closed", "reset") else [trouble]
                continue
            seen.body_bytes = max(seen.body_bytes, len(answer.body))
            seen.answers.append(_light(answer, seen.answers))
            if reused:
                ended = time.monotonic()
                seen.took_ms.append((ended - began) * 1000)
                seen.rest_ms.append((ended - wire.began_s) * 1000)
            if answer.is_last:
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
    """The answer with as little memory as can tell it from others: the first body itself, of another one its hash.

    Bodies that hold the same are the same: one that is compressed anew has other bytes where its time is in them.
    """
    first = next((one for one in before if one.status == answer.status), None)
    if first is None:
        return answer
    same = answer.body == first.body or (held := coding.content_of(answer)) is not None and held == coding.content_of(first)
    return replace(answer, body=first.body if same else hashlib.sha256(answer.body).digest())


def _statuses(asked: Asked, seen: _Sequence, status: int, place: Redirect | None) -> Finding:
    """Tell the statuses of the repeated answers, and what a client makes of them."""
    found, count = [answer.status for answer in seen.answers], len(seen.answers)
    limited = [answer for answer in seen.answers if answer.status == LIMITED]
    if limited and _is_loaded(asked, status) and status != LIMITED and set(found) == {status, LIMITED}:
        after = limited[0].header("retry-after")
        unit = " s" if after is not None and after.isdecimal() else ""  # a date has none
        said = "" if after is None else f", to be asked again after {foreign.line(after)}{unit}"
        sentence = f"a rate limit refused {len(limited)} of {count} requests, one after the other: status 429{said}"
        return _finding("status", Severity.WARN, sentence, limited=len(limited))
    if len(set(found)) > 1:
        if all(asked.is_good(one) for one in found):  # as of a PUT that makes what is not there, and replaces it from then on
            words = f"the same request got {_listed(found)}, all of them good: under load {status} is held against them"
            return _finding("status", Severity.WARN, words)
        advice = f": {advice_of(status)}" if set(found) == {status, LIMITED} else ""
        return _finding("status", Severity.REJECT, f"the same request got {_listed(found)}{advice}")
    if asked.is_good(status):
        return _finding("status", Severity.NOTE, f"{count} answers, all with status {status}")
    if asked.expects is not None:
        advice = f": {ADVICE[status]}" if status in (401, 403) else ""  # as where a recorded file has no cookies
        words = f"every answer has status {status}, and {asked.expects} was expected{advice}"
        return _finding("status", Severity.REJECT, words)
    if place is not None:
        can_follow = place.target is not None and not asked.follows and asked.method == "GET"  # as `--follow` takes it
        ask = ": --follow asks there" if can_follow else ""
        return _finding("status", Severity.WARN, f"every answer is a redirect, {place.words}{ask}", location=place.shown)
    if status < 400:
        return _finding("status", Severity.WARN, f"every answer has status {status}, which has no content")
    return _finding("status", Severity.REJECT, f"every answer has status {status}: {advice_of(status)}")


def advice_of(status: int) -> str:
    """The advice on answers that all have this status."""
    return ADVICE.get(status, "look into the service's log" if status >= 500 else "is this the request that you mean?")


ADVICE = {
    401: "it asks who you are (--header 'Authorization: …')",
    403: "it refuses you (--header 'Authorization: …')",
    404: "is this the path that you mean?",
    405: "is this the method that you mean?",
    LIMITED: "a rate limit refuses every request: raise it",
}
"""What to do about answers that all have this status."""


def _missed(seen: _Sequence) -> Iterator[Finding]:
    """Tell that some of the requests got no answer."""
    if seen.missed:
        count, first = len(seen.missed), seen.missed[0].sentence
        sentence = f"{count} of {count + len(seen.answers)} requests, sent one after the other, got no answer: {first}"
        yield _finding("unanswered", Severity.REJECT, sentence, unanswered=count)


def _bodies(asked: Asked, answers: Sequence[HttpAnswer]) -> Finding:
    """Tell whether all bodies are the same, and what of them is compared under load."""
    bodies, first = {answer.body for answer in answers}, answers[0]
    named, evidence = coding.name_of(first), {"bodies": len(bodies), "bytes": len(first.body)}
    alone = "under load only the status is held against them"
    if asked.any_body:
        return _finding("body", Severity.NOTE, f"--any-body was given: {alone}", **evidence)
    if len(bodies) > 1:
        return _finding("body", Severity.NOTE, f"{len(bodies)} different bodies in {len(answers)} answers: {alone}", **evidence)
    if named is not None and not coding.is_readable(named):
        sentence = f"all bodies are the same, but come as `{foreign.line(named)}`, which is not read here: {alone}"
        return _finding("body", Severity.NOTE, sentence, **evidence)
    if named is not None and coding.is_unread(first):
        why = "hold more than 16 MiB" if first.body else "are empty"
        return _finding("body", Severity.NOTE, f"bodies come as {named}, and {why}: {alone}", **evidence)
    if coding.is_spoiled(first):
        return _finding("body", Severity.REJECT, f"bodies come as {named}, and cannot be decompressed", **evidence)
    packed = "" if named is None else f" (as {named}: what they hold)"
    return _finding("body", Severity.NOTE, f"all bodies are the same, and are compared under load{packed}", **evidence)


def _refused(answer: HttpAnswer) -> Iterator[Finding]:
    """Tell that an answer with a good status holds errors alone."""
    message = graphql.refusal_of(coding.content_of(answer) or b"") if answer.status < 300 else None
    if message is not None:
        said = foreign.line(secret.redact(message), foreign.SENTENCE_CHARACTERS)
        sentence = f"status {answer.status}, with errors and no data in it, as GraphQL refuses a query" + (said and f": {said}")
        yield _finding("errors", Severity.WARN, f"{sentence}; is this the request that you mean?")


def _answered(asked: Asked, seen: _Sequence) -> Iterator[Finding]:
    """Tell what the repeated answers show: framing, kept connections, a plateau of latencies."""
    count = len(seen.answers)
    if any(answer.ends_with_connection for answer in seen.answers):
        sentence = "answers have neither a length nor chunks: their connection ends them, so each request needs a new one"
        yield _finding("length", Severity.WARN, sentence)
    else:
        yield _finding("length", Severity.NOTE, "every answer says where it ends, and does")
    if seen.opened == 1:
        yield _finding("keep-alive", Severity.NOTE, f"one connection served {count} requests")
    elif seen.opened - seen.cut <= 1:
        sentence = f"the service closed no connection; {seen.cut} had to be given up, since an answer did not come"
        yield _finding("keep-alive", Severity.NOTE, sentence)
    elif all(answer.version == "1.0" for answer in seen.answers):
        sentence = f"{count} requests needed {seen.opened} connections: the service speaks HTTP/1.0, and keeps none open"
        yield _finding("keep-alive", Severity.WARN, sentence, connections=seen.opened)
    else:
        sentence = f"{count} requests needed {seen.opened} connections: the service closes what could be kept open"
        yield _finding("keep-alive", Severity.WARN, sentence, connections=seen.opened)
    yield timers.check(asked, seen.took_ms, seen.rest_ms)


def _finding(id: str, severity: Severity, sentence: str, **evidence: int | float | str | None) -> Finding:
    return Finding(id, severity, sentence, evidence)
