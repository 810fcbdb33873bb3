"""The parts of a visit to a service, and the visit that they make together. Pure.

Parts are: the checks, each closed loop, the load curve, and what the service itself did wrong. A visit is a function of them.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from fairground.capacity.loadcurve import CurvePoint
from fairground.capacity.objective import Objective
from fairground.capacity.service import coding, failures
from fairground.capacity.service.values import OPEN_CONNECTIONS, Closed, Conduct, LoadTally, Visit, most_connections
from fairground.contract.wire import HttpAnswer
from fairground.judge import answers
from fairground.model import Finding, secret


@dataclass(frozen=True)
class ServiceChecks:
    """The answer of a service and how it behaves, as text that JSON can hold. `server`: whose CPU is metered, in words.

    `body_base64` None: its answers differ.
    """

    status: int
    content_type: str | None
    body_base64: str | None
    body_bytes: int
    kept_open: bool
    findings: tuple[Finding, ...]
    server: str | None
    coding: str | None = None
    target: str | None = None
    good: bool = True

    @classmethod
    def of(cls, conduct: Conduct, server: str | None) -> ServiceChecks:
        """Make the checks from what was seen."""
        body = None if conduct.body is None else base64.b64encode(conduct.body).decode()
        return cls(
            status=conduct.status,
            content_type=conduct.content_type,
            body_base64=body,
            body_bytes=conduct.body_bytes,
            kept_open=conduct.kept_open,
            findings=conduct.findings,
            server=server,
            coding=conduct.coding,
            target=conduct.target,
            good=conduct.good,
        )

    @property
    def is_compared(self) -> bool:
        """True if bodies are held against the first one under load."""
        return self.conduct.is_compared

    def without_secrets(self, scrub: Callable[[bytes], bytes]) -> ServiceChecks:
        """The checks as they may be kept. `scrub` takes out of a text what a person gave, which an answer may repeat."""
        body, target = self.conduct.body, None if self.target is None else secret.redact(self.target)
        content = None if body is None else coding.content_of(HttpAnswer(200, "1.1", _coded(self.coding), body))
        if body is None or content is None or scrub(content) == content:
            return replace(self, target=target)
        kept = secret.HIDDEN.encode() if self.coding else scrub(content)
        return replace(self, target=target, body_base64=base64.b64encode(kept).decode())

    @property
    def is_whole(self) -> bool:
        """True unless something was taken out of them: then the service must be asked again before it is loaded."""
        return secret.HIDDEN not in (self.target or "") and secret.HIDDEN.encode() not in (self.conduct.body or b"")

    @property
    def conduct(self) -> Conduct:
        """The conduct that was seen."""
        body = None if self.body_base64 is None else base64.b64decode(self.body_base64)
        seen = Conduct(self.status, self.content_type, body, self.body_bytes, self.kept_open, self.findings)
        return replace(seen, coding=self.coding, target=self.target, good=self.good)


def _coded(named: str | None) -> tuple[tuple[str, str], ...]:
    return () if named is None else (("content-encoding", named),)


class Unit(StrEnum):
    """The unit that a part is of."""

    CHECKS = "checks"
    WARM_UP = "warm-up"
    LOOP = "closed-loop"
    CURVE = "load-curve"
    SERVICE = "service"


@dataclass(frozen=True)
class ServicePart:
    """One finished unit of a visit. The field of its `unit` is set: `checks`, `closed`, `curve` or `findings`.

    `limited_by` and `note` go with a closed loop.
    """

    unit: Unit
    checks: ServiceChecks | None = None
    closed: Closed | None = None
    curve: tuple[CurvePoint, ...] | None = None
    findings: tuple[Finding, ...] = ()
    """What the service did wrong by itself: it ended, or never listened; and what is to be said of a load."""
    tallies: tuple[LoadTally, ...] = ()
    """What became of the requests of its loads."""
    limited_by: tuple[Finding, ...] = ()
    note: str | None = None


@dataclass(frozen=True)
class Ahead:
    """The next measurement. `load_s`: its planned seconds of load; `left_s`: those of all that is planned from here on."""

    what: str
    load_s: float
    left_s: float


def checks(parts: Sequence[ServicePart]) -> ServiceChecks | None:
    """The checks, where they were made."""
    return next((part.checks for part in parts if part.checks is not None), None)


def visit(
    url: str, method: str, objective: Objective, parts: Sequence[ServicePart], of_file: bool = False, window_s: int | None = None
) -> Visit:
    """The visit that the parts make so far. `of_file`: a file says what is asked, and what is right. A loop takes `window_s`."""
    seen = checks(parts)
    loops = [part for part in parts if part.closed is not None]
    notes = [part.note for part in loops if part.note is not None][-1:]
    # A limit is that of the loop whose goodput is told; another loop's says nothing of it.
    best = max(loops, key=lambda part: part.closed.goodput_per_s if part.closed is not None else 0.0, default=None)
    found = Visit(
        url,
        method,
        objective.text,
        objective.deadline_us,
        None if seen is None else seen.conduct,
        None if seen is None else seen.server,
        closed=tuple(part.closed for part in loops if part.closed is not None),
        curve=tuple(point for part in parts for point in part.curve or ()),
        acknowledged=sum(tally.outcomes.ok for part in parts for tally in part.tallies),
        limited_by=() if best is None else best.limited_by,
        of_file=of_file,
        none_within_s=window_s if _ended_late(loops) else None,
        findings=(
            *(finding for part in parts for finding in part.findings),
            *failures.findings([tally for part in parts for tally in part.tallies], _uncompared(seen, of_file), of_file),
        ),
    )
    if seen is not None and not seen.good:
        how = f"write `expect = {{ status = {seen.status} }}` into the file" if of_file else f"--expect-status {seen.status}"
        notes.append(f"nothing was loaded, for no answer is good; if {seen.status} is: {how}")
    if loops and seen is not None and (most := most_connections(seen.body_bytes)) < OPEN_CONNECTIONS:
        size = f"{seen.body_bytes / 1e6:,.1f} MB"
        notes.append(f"answers of {size} were asked for over {most} connections at most: the load engine holds no more of them")
    if any(part.curve == () for part in parts):
        why = "no closed loop got a good answer"
        if found.none_within_s is not None:
            why = f"no answer ended inside a window of {found.none_within_s} s (`try --window` takes more)"
        notes.append(f"{why}, so no load curve was measured")
    return replace(found, notes=tuple(notes))


def _ended_late(loops: Sequence[ServicePart]) -> bool:
    """True if most requests of closed loops got a good answer, and none of these ended inside a window."""
    total = answers.together([tally.outcomes for part in loops for tally in part.tallies])
    return total.ok > total.not_ok and not any(part.closed.goodput_per_s for part in loops if part.closed is not None)


def _uncompared(seen: ServiceChecks | None, of_file: bool) -> str:
    """Say why bodies are not held against the first one under load; empty where they are."""
    if of_file:
        return "for the file of requests says nothing of it"
    return "" if seen is not None and seen.is_compared else "as the checks say"
