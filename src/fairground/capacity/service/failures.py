"""The findings on loads: requests without a good answer, bodies that nobody compared, kept connections that were closed.

A request that nobody answered, more failures than good answers, and no good answer at all are what a person calls broken. Beyond
the service's limit some requests must fail: so of a load curve, which goes beyond it, only more failures than good answers are.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fairground.capacity.service.values import LoadTally
from fairground.judge import answers
from fairground.model import Finding, Outcomes, Severity
from fairground.model.plural import plural, with_verb

CURVE = "the load curve"
MAY_DIFFER = "if bodies may differ, as by a time in them: --any-body"
MANY_BROKEN = 0.01
"""Connections that break: a share of the requests up to which they are a warning, for clients ask again on a new one."""


def findings(tallies: Sequence[LoadTally], uncompared: str = "", of_file: bool = False) -> tuple[Finding, ...]:
    """Say what failed in these loads, gravest first. `uncompared`: why bodies were not to be compared, if so.

    `of_file`: a file of requests says what is right, in place of the first answers.
    """
    loops, curve = ([one for one in tallies if (one.load == CURVE) is wanted] for wanted in (False, True))
    found = [*_failures("the closed loops", loops, False, of_file), *_failures(CURVE, curve, True, of_file)]
    found += [*_closed(tallies), *_unread(tallies, uncompared)]
    return tuple(sorted(found, key=lambda one: one.severity is not Severity.REJECT))


def _failures(name: str, tallies: Sequence[LoadTally], beyond: bool, of_file: bool) -> Iterator[Finding]:
    """One finding on the requests of some loads that got no good answer, with one of them as a sample."""
    for own in dict.fromkeys(one.own for one in tallies if one.own is not None):
        yield Finding("generator-errors", Severity.WARN, f"the generator itself could open too few connections: {own}")
    total = answers.together([_of_service(one) for one in tallies])
    if not total.not_ok:
        return
    void = next((one.void for one in tallies if one.void is not None), None)
    words = answers.outcome_words(total)
    few = "none got a good answer" if not total.ok else f"{total.not_ok:,} got no good answer"
    sentence = f"of {plural(total.total, 'request')} of {name} {few}: {words}"
    sentence += answers.instance([sample for one in tallies for sample in one.samples], total)
    sentence += f"; {MAY_DIFFER}" if total.wrong_body and not of_file else ""
    grave = total.not_ok > total.ok or not beyond and _unanswered(total)
    if grave and void is not None and not total.bad:
        grave, sentence = False, f"{sentence}; the machine was disturbed: {void}"
    evidence = {"requests": total.total, "ok": total.ok, "not_ok": total.not_ok}
    yield Finding("failures", Severity.REJECT if grave else Severity.WARN, sentence, evidence)


def _of_service(tally: LoadTally) -> Outcomes:
    """The outcomes less what is the generator's own doing: what it never sent, and connections that it could not open."""
    found = replace(tally.outcomes, unsent=None)
    return found if tally.own is None else replace(found, connect=None)


def _unanswered(total: Outcomes) -> bool:
    silent = (total.timeout or 0) + (total.in_flight or 0) + (total.connect or 0)
    cut = (total.reset or 0) + (total.malformed or 0)
    return silent > 0 or cut > MANY_BROKEN * total.total or bool(total.wrong_body)


def _closed(tallies: Sequence[LoadTally]) -> Iterator[Finding]:
    """Tell of connections that the service closed, and of what was lost with them."""
    closed, dropped = (sum(getattr(one, name) or 0 for one in tallies) for name in ("closed", "dropped"))
    if not closed:
        return
    requests = sum(one.outcomes.total for one in tallies)
    lost = sum(one.outcomes.reset or 0 for one in tallies)
    kept = plural(closed, "kept connection" if dropped else "connection")
    sentence = f"under load the service closed {kept} in {plural(requests, 'request')}"
    if dropped:
        gone = f", and {with_verb(lost, 'request', 'was', 'were')} lost" if lost else ""
        sentence += f"; {dropped:,} of them without a word before{gone}"
    else:
        sentence += ", as its answers announced"
    evidence = {"closed": closed, "dropped": dropped, "lost": lost}
    yield Finding("closed", Severity.WARN if dropped else Severity.NOTE, sentence, evidence)


def _unread(tallies: Sequence[LoadTally], uncompared: str) -> Iterator[Finding]:
    """Tell how many good answers had a body that was not compared."""
    known = [one for one in tallies if one.compared is not None]
    right = sum(one.outcomes.ok for one in known)
    left = right - sum((one.compared or 0) - (one.outcomes.wrong_body or 0) for one in known)
    if left <= 0:
        return
    why = f", {uncompared}" if uncompared else ""
    sentence = f"of {right:,} good answers under load the body of {left:,} was not compared{why}"
    yield Finding("compared", Severity.NOTE, sentence, {"good": right, "left": left})
