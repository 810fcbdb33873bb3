"""Tell whether one may believe a trial. Pure: no I/O, no clock.

The checks are of the machine, the instrument, the window and the database's rest.

A check reads one value off a trial's counters and holds it against its bounds; none looks at whether a speed seems odd. What a
check reads and why stands beside it here, its bounds in `thresholds.toml`, and all of them in docs/reference/checks.md.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from fairground.judge.thresholds import Thresholds
from fairground.judge.validity import database, generator, machine, window
from fairground.judge.validity.check import TrialFacts, ValidityCheck, judge_reading
from fairground.judge.validity.generator import own_side
from fairground.judge.validity.identity import identity
from fairground.model import Finding, Severity
from fairground.model.cause import LAB_STOPPED

__all__ = [
    "BESIDE_FAULTS",
    "CHECKS",
    "OF_THE_MACHINE",
    "TrialFacts",
    "ValidityCheck",
    "beside_turns",
    "excuse",
    "findings",
    "identity",
    "is_spoiled",
    "own_side",
    "readings",
    "unmade",
]

CHECKS: tuple[ValidityCheck, ...] = (*generator.CHECKS, *machine.CHECKS, *window.CHECKS, *database.CHECKS)
KINDS = ("generator", "machine", "window", "database", "server")
"""What a check looks at."""
OF_THE_MACHINE = frozenset({*(check.id for check in CHECKS if check.of == "machine"), LAB_STOPPED.id})
"""The ids of findings that are the machine's doing."""
OF_DEADLOCKS = frozenset({"starved", "steadiness", "steady-median", "steady-cost"})
"""What deadlocks do to a window: it is news where they are not the workload's subject."""
SHORTEST_S = 2.0
"""A window that is not shorter cannot lie between two deadlocks: each holds its rows for a second."""
BESIDE_FAULTS = ("generator", "machine")
"""The kinds that hold where something is made to go wrong in the window: rates, waits and the database's rest are its subject."""


def findings(facts: TrialFacts, thresholds: Thresholds, of: Collection[str] = KINDS) -> tuple[Finding, ...]:
    """The findings of the checks of some kinds, in their order."""
    return tuple(_found(facts, thresholds, of))


def _found(facts: TrialFacts, thresholds: Thresholds, of: Collection[str]) -> Iterator[Finding]:
    for check in CHECKS:
        if check.of in of and check.meant(facts):
            reading = check.read(facts, thresholds.rules)
            finding = None if reading is None else judge_reading(check, reading, facts, thresholds.checks)
            if finding is not None:
                yield finding


def beside_turns(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings of a trial that also took turns: a change of the machine's pace meets all turns alike, and is a fact only."""
    return tuple(replace(one, severity=Severity.NOTE) if one.id == "canary" else one for one in findings)


def is_spoiled(findings: Iterable[Finding]) -> bool:
    """True if what the machine did makes a measurement void."""
    return any(one.severity is Severity.VOID and one.id in OF_THE_MACHINE for one in findings)


def excuse(
    findings: Sequence[Finding], deadlocks: bool = False, window_s: float = math.inf, timeout_s: float = 0.0
) -> tuple[Finding, ...]:
    """The findings of a trial, in which what the machine or the workload explains is a note.

    A machine that others keep busy can make a server silent, and cannot make it answer wrongly. So only `no-answers` without a
    bad answer is excused, and the trial is void as the machine was. `deadlocks` are the workload's events: each holds rows for
    a second and comes by chance. So requests wait since before the window, and its halves differ. A window that is
    shorter than two of them may hold nothing else: it says nothing, and is void. So is a window shorter than `timeout_s`,
    which an answer may take, where every request got a good answer outside of it.
    """
    found = (_silence(one) if is_spoiled(findings) else one for one in findings)
    if window_s < timeout_s:
        found = (_outlasted(one, window_s, timeout_s) for one in found)
    if deadlocks and window_s < SHORTEST_S:
        found = (_too_short(one, window_s) for one in found)
    return tuple(_by_chance(one) if deadlocks else one for one in found)


def _by_chance(finding: Finding) -> Finding:
    if finding.id not in OF_DEADLOCKS:
        return finding
    return replace(finding, severity=Severity.NOTE, sentence=f"{finding.sentence}: deadlocks, this workload's subject, do that")


def _is_silence(finding: Finding) -> bool:
    """True if nothing came back, not even a bad answer."""
    return finding.id == "no-answers" and finding.evidence.get("bad") == 0


def _too_short(finding: Finding, window_s: float) -> Finding:
    if not _is_silence(finding) or finding.severity is not Severity.REJECT:
        return finding
    sentence = f"{finding.sentence}: a deadlock holds its rows for a second, so a window of {window_s:g} s is too short to tell"
    return replace(finding, severity=Severity.VOID, sentence=sentence)


def _outlasted(finding: Finding, window_s: float, timeout_s: float) -> Finding:
    if not _is_silence(finding) or finding.severity is not Severity.REJECT or not finding.evidence.get("outside"):
        return finding
    sentence = f"{finding.sentence}: all good answers came outside of it, so a window of {window_s:g} s is too short for them"
    return replace(
        finding, severity=Severity.VOID, sentence=f"{sentence}; one as long as an answer may take: --window {timeout_s:g}"
    )


def _silence(finding: Finding) -> Finding:
    if not _is_silence(finding):
        return finding
    sentence = f"{finding.sentence}: the machine was void, so this says nothing of the server"
    return replace(finding, severity=Severity.NOTE, sentence=sentence)


def readings(facts: TrialFacts, thresholds: Thresholds) -> Mapping[str, float]:
    """Check → the value that it reads, for all that could be made."""
    read = {check.id: check.read(facts, thresholds.rules) for check in CHECKS if check.meant(facts)}
    return {id: reading.value for id, reading in read.items() if reading is not None}


def unmade(facts: TrialFacts, thresholds: Thresholds) -> tuple[Finding, ...]:
    """One sentence on the checks that are meant for such a trial and could not be made; nothing when all were."""
    made = readings(facts, thresholds)
    lacking = [check for check in CHECKS if check.meant(facts) and check.id not in made]
    if not lacking:
        return ()
    named = ", ".join(f"{check.what} ({check.number})" for check in lacking)
    evidence = {"checks": " ".join(check.id for check in lacking)}
    return (Finding("unchecked", Severity.NOTE, f"not checked, since nothing here shows it: {named}", evidence),)
