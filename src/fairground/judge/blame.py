"""Take from a server what was not its doing. Pure.

The one place that decides it, for each verb: a rejection stands unless a cause among the same findings explains it. A cause is
one of the table in `model/cause.py`, and counts where its own evidence made the arm void.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from fairground.judge.thresholds import Rules
from fairground.judge.validity import own_side
from fairground.model import Finding, Result, Severity
from fairground.model.cause import (
    CAUSES,
    DATABASE_CRASHED,
    DATABASE_FULL,
    INSTRUMENT,
    INTRUDER,
    LAB_STOPPED,
    Cause,
    DatabaseLifetime,
)
from fairground.model.plural import plural

SENTENCE_CHARACTERS = 500


def absolve(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings of an arm, in which a rejection that a cause beside the server explains is a note."""
    causes = [CAUSES[one.id] for one in findings if one.severity is Severity.VOID and one.id in CAUSES]
    return tuple(_absolved(one, causes) for one in findings)


def _absolved(finding: Finding, causes: Sequence[Cause]) -> Finding:
    if finding.severity is not Severity.REJECT:
        return finding
    cause = next((one for one in causes if finding.id.startswith(one.explains)), None)
    if cause is None:
        return finding
    sentence = f"{finding.sentence}. This says nothing of the server: {cause.meaning}"
    return replace(finding, severity=Severity.NOTE, sentence=sentence)


def crash(before: DatabaseLifetime, now: DatabaseLifetime) -> Finding | None:
    """The finding on a database server that did not live through a trial; None where it did."""
    if not before.is_over(now):
        return None
    sentence = f"{DATABASE_CRASHED.meaning}: commits and counts of the trial were lost with it"
    evidence = {
        "started_unix_s": before.started_unix_s,
        "started_now_unix_s": now.started_unix_s,
        "counts_since_unix_s": before.checkpoints_since_unix_s,
        "counts_since_now_unix_s": now.checkpoints_since_unix_s,
    }
    return DATABASE_CRASHED.finding(sentence, **evidence)


def no_room(refused: int | None, is_held: bool) -> Finding | None:
    """The finding on a database that had no room for this many of a server's connections; None where it had, or nobody knows.

    `is_held`: the database held the server to its own number of connections, so that others took the room. Else it may have
    taken all of it itself.
    """
    if not refused:
        return None
    if is_held:
        return DATABASE_FULL.finding(f"{DATABASE_FULL.meaning}: it refused {refused:,}", refused=refused)
    sentence = f"the database had no room for {plural(refused, 'connection')} of the server, which was held to no number of them"
    return Finding("no-room", Severity.WARN, sentence, {"refused": refused})


def unreachable(result: Result, encrypted: bool) -> Finding:
    """The finding on a load in which no connection ever stood. The generator could open none, or the server took none."""
    if (own := own_side(result)) is not None:
        return INSTRUMENT.finding(f"the generator could open no connection on its own side: {own}")
    refused = next((one.reason for one in result.samples if one.outcome == "connect"), None) if encrypted else None
    why = "" if refused is None else f": {refused}"
    return Finding("unreachable", Severity.REJECT, f"the server could not be reached while it was measured{why}")


def standstill(late_s: float, window_s: float, rules: Rules) -> Finding | None:
    """The finding on a lab that read its clocks so much too late at the end of a window; None: it did not.

    What a role used until then was not used in the window.
    """
    if late_s <= rules.lab_late_s or late_s <= rules.lab_late_share * window_s:
        return None
    sentence = f"{LAB_STOPPED.meaning} for {late_s:.1f} s: it read its clocks so late after a window of {window_s:.1f} s"
    return LAB_STOPPED.finding(sentence, late_s=round(late_s, 3), window_s=round(window_s, 3))


def intrusion(members: Mapping[str, Collection[str]]) -> Finding | None:
    """The finding on processes that joined groups of roles; None: none did. `members`: role → who joined its group.

    What they used is billed to a role that did not use it, and whoever they worked for has it for nothing.
    """
    named = [f"{', '.join(sorted(some))} in that of the {role}" for role, some in members.items() if some]
    if not named:
        return None
    return INTRUDER.finding(f"{INTRUDER.meaning}, whose CPU is not its own: {'; '.join(named)}"[:SENTENCE_CHARACTERS])
