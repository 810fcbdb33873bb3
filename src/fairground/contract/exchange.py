"""Carry out the cases that need nothing but a URL. Every function returns what it found wrong, or None, and what it saw."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from fairground.contract.case import Case, CaseKind, CaseStep, Expect, Request
from fairground.contract.expected import kept_values, quote_bytes
from fairground.contract.judge import AnswerJudge, problem
from fairground.contract.wire import CaseWire, HttpAnswer, Trouble

PAUSE_BETWEEN_PARTS_S = 0.002
"""Long enough for the server to have read the first part alone, short enough for hundreds of parts."""
CLOSED_WITHIN_S = 2.0
CLOSED_AT_ONCE_S = 0.2
NOT_KEPT_OPEN = "the server closed a connection that should have been kept open"
CUTS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Where a client hangs up: shares of the request's bytes."""


@dataclass(frozen=True)
class Target:
    """The address of the server, what right answers are known by, and the deadline of the case (of `time.monotonic`)."""

    host: str
    port: int
    known: AnswerJudge
    deadline_s: float

    def wire(self) -> CaseWire:
        return CaseWire(self.host, self.port, self.deadline_s)

    def encode(self, request: Request) -> bytes:
        return request.encode(self.host, self.port)


@dataclass(frozen=True)
class CaseOutcome:
    """The outcome of a case: the first thing wrong (None: all right), the last good body, and numbers for the evidence."""

    wrong: str | None
    body: bytes | None = None
    evidence: dict[str, int | float | str | None] = field(default_factory=dict)


def perform(case: Case, target: Target) -> CaseOutcome:
    """Carry out one case that is not a procedure. Never raises for what a server does."""
    carry_out = {CaseKind.EXCHANGE: exchange, CaseKind.SPLIT: split, CaseKind.PIPELINE: pipeline, CaseKind.HANG_UP: hang_up}[
        case.kind
    ]
    return carry_out(case.steps, target)


def exchange(steps: tuple[CaseStep, ...], target: Target) -> CaseOutcome:
    """The steps in order on one connection; a server may close it between steps, unless a step expects it `open`."""
    line = ClientLine(target)
    body, requests = None, 0
    try:
        for written in (each for each in steps for _ in range(each.repeat)):
            requests += 1
            step = replace(written, request=written.request.with_kept(line.kept))
            answer, wrong = line.ask(step)
            if wrong is not None:
                return CaseOutcome(f"{_named(step.request)}: {wrong}", evidence={"request_number": requests})
            if answer is not None and answer.status < 400:
                if step.expect.same_bytes and body not in (None, answer.body):
                    return CaseOutcome(
                        f"{_named(step.request)}: two answers differ in their bytes", evidence={"request_number": requests}
                    )
                body = answer.body
        if steps[-1].expect.connection == "open" and line.is_dropped():
            return CaseOutcome(NOT_KEPT_OPEN, evidence={"requests": requests})
        return CaseOutcome(None, body, {"requests": requests})
    finally:
        line.close()


class ClientLine:
    """A client's connection that is opened anew when the server has closed it, as HTTP lets it between requests."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._wire: CaseWire | None = None
        self.kept = dict[str, str]()
        """What answers said, by the names that the case gives it."""

    def ask(self, step: CaseStep) -> tuple[HttpAnswer | None, str | None]:
        """The answer and what is wrong with it. Neither: the server rightly closed the connection without an answer."""
        reused = self._wire is not None
        self._wire = self._wire or self._target.wire()
        try:
            answer, wrong = _ask(self._wire, step, self._target)
        except Trouble as trouble:
            self.close()
            if trouble.kind not in ("closed", "reset"):
                return None, trouble.sentence
            if reused:
                return (None, NOT_KEPT_OPEN) if step.expect.connection == "open" else self.ask(step)
            return None, None if step.expect.may_close else trouble.sentence
        if wrong is None and _gone(self._wire, answer, step):
            self.close()
        if wrong is None and step.keep:
            wrong = self._keep(step, answer)
        return answer, wrong

    def _keep(self, step: CaseStep, answer: HttpAnswer) -> str | None:
        """Keep what the case wants of an answer; a sentence where the answer lacks it."""
        found, missing = kept_values(answer, step.keep)
        self.kept |= found
        known = self._target.known
        self._target = replace(self._target, known=replace(known, sent={**known.sent, **self.kept}))
        return None if missing is None else f"the answer has no `{missing}`: {quote_bytes(answer.body)}"

    def is_dropped(self) -> bool:
        """True if the server has closed the connection by now."""
        return self._wire is None or self._wire.closes(CLOSED_AT_ONCE_S)

    def close(self) -> None:
        if self._wire is not None:
            self._wire.__exit__()
        self._wire = None


def split(steps: tuple[CaseStep, ...], target: Target) -> CaseOutcome:
    """One request in two parts, cut at every offset, and once byte by byte; each time on a fresh connection.

    The time of the lab's own pauses is not the case's.
    """
    (step,) = steps
    data = target.encode(step.request)
    partings = [(data[:offset], data[offset:]) for offset in range(1, len(data))]
    partings.append(tuple(data[place : place + 1] for place in range(len(data))))  # type: ignore[arg-type]  # parts of any number
    pauses_s = PAUSE_BETWEEN_PARTS_S * sum(len(parts) - 1 for parts in partings)
    target = replace(target, deadline_s=target.deadline_s + pauses_s)
    for offset, parts in enumerate(partings, 1):
        where = f"cut after byte {offset}" if offset < len(data) else "sent byte by byte"
        wrong = _send_parts(parts, step, target)
        if wrong is not None:
            return CaseOutcome(
                f"{_named(step.request)} {where}: {wrong}", evidence={"offset": offset, "request_bytes": len(data)}
            )
    return CaseOutcome(None, None, {"requests": len(partings), "request_bytes": len(data)})


def pipeline(steps: tuple[CaseStep, ...], target: Target) -> CaseOutcome:
    """All requests in one write: answers in order, all of them, or a closed connection after at least one."""
    requests = [step for step in steps for _ in range(step.repeat)]
    answered = 0
    try:
        with target.wire() as wire:
            wire.send(b"".join(target.encode(step.request) for step in requests))
            for step in requests:
                answer = wire.answer(step.request.method)
                wrong = problem(answer, step.request, step.expect, target.known)
                if wrong is not None:
                    sentence = f"answer {answered + 1} of {len(requests)} pipelined requests, for {_named(step.request)}: {wrong}"
                    return CaseOutcome(sentence, evidence={"answered": answered, "requests": len(requests)})
                answered += 1
                if answer.says("close"):
                    break
    except Trouble as trouble:
        if not (answered and trouble.kind in ("closed", "reset")):
            return CaseOutcome(
                f"{len(requests)} pipelined requests, {answered} answered: {trouble.sentence}", evidence={"answered": answered}
            )
    return CaseOutcome(None, None, {"answered": answered, "requests": len(requests)})


def hang_up(steps: tuple[CaseStep, ...], target: Target) -> CaseOutcome:
    """A client hangs up at several places of the request, with and without a reset; then the whole request is answered."""
    (step,) = steps
    data = target.encode(step.request)
    try:
        for cut in CUTS:
            for reset in (True, False):
                with target.wire() as wire:
                    wire.send(data[: int(len(data) * cut)])
                    time.sleep(PAUSE_BETWEEN_PARTS_S)
                    if reset:
                        wire.abort()
    except Trouble as trouble:
        return CaseOutcome(f"{_named(step.request)}, the client hanging up midway: {trouble.sentence}")
    seen = exchange(steps, target)
    if seen.wrong is not None:
        return CaseOutcome(f"after {2 * len(CUTS)} clients had hung up midway, {seen.wrong}", evidence=seen.evidence)
    return CaseOutcome(None, None, {"hang_ups": 2 * len(CUTS)})


def ask(request: Request, expect: Expect, target: Target) -> tuple[HttpAnswer | None, str | None]:
    """One request on a connection of its own: the answer and what is wrong with it."""
    try:
        with target.wire() as wire:
            return _ask(wire, CaseStep(request, expect), target)
    except Trouble as trouble:
        return None, trouble.sentence


def _ask(wire: CaseWire, step: CaseStep, target: Target) -> tuple[HttpAnswer, str | None]:
    wire.send(target.encode(step.request))
    if step.request.finish:
        wire.finish()
    answer = wire.answer(step.request.method)
    return answer, problem(answer, step.request, step.expect, target.known) or _connection_problem(wire, answer, step.expect)


def _connection_problem(wire: CaseWire, answer: HttpAnswer, expect: Expect) -> str | None:
    """Tell what is wrong with the connection afterwards, or None.

    It must be in the state that the case expects, with nothing on it.
    """
    if expect.connection == "closed" and not wire.closes(CLOSED_WITHIN_S):
        return _surplus(wire) or f"the server did not close the connection within {CLOSED_WITHIN_S:g} s of its answer"
    if expect.connection == "stated" and not answer.says("keep-alive") and not wire.closes(CLOSED_AT_ONCE_S):
        return (
            _surplus(wire) or "the server kept the connection open without saying `connection: keep-alive` to an HTTP/1.0 client"
        )
    return None if expect.may_close else _surplus(wire)


def _surplus(wire: CaseWire) -> str | None:
    return f"bytes followed the answer: {quote_bytes(wire.surplus)}" if wire.surplus else None


def _gone(wire: CaseWire, answer: HttpAnswer, step: CaseStep) -> bool:
    """True if the next step needs a new connection. After raw bytes nobody knows what the server thinks comes next."""
    if step.expect.connection == "open":
        return False
    ends = answer.version == "1.0" or step.request.version == "1.0"
    return step.request.raw is not None or answer.says("close") or (ends and not answer.says("keep-alive")) or wire.closes(0.001)


def _send_parts(parts: tuple[bytes, ...], step: CaseStep, target: Target) -> str | None:
    try:
        with target.wire() as wire:
            for number, part in enumerate(parts):
                if number:
                    time.sleep(PAUSE_BETWEEN_PARTS_S)
                wire.send(part)
            answer = wire.answer(step.request.method)
            return problem(answer, step.request, step.expect, target.known) or _connection_problem(wire, answer, step.expect)
    except Trouble as trouble:
        return trouble.sentence


def _named(request: Request) -> str:
    """The request for a sentence: its line, and its body or version where they matter."""
    if request.raw is not None:
        return f"raw bytes {quote_bytes(request.raw)}"
    version = " (HTTP/1.0)" if request.version == "1.0" else ""
    body = f" with the body {quote_bytes(request.body, 60)}" if request.body is not None else ""
    headers = f" with {', '.join(f'{name}: {value}'[:40] for name, value in request.headers[:2])}" if request.headers else ""
    return f"`{request.line}`{version}{headers}{body}"
