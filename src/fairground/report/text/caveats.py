"""Say what is to be known beside the numbers of a comparison: how much was measured, on which terms, and what is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fairground.model import CellSettings, Severity, foreign
from fairground.model.contract import SqlFile
from fairground.model.pair import Round
from fairground.model.plural import plural, with_verb
from fairground.model.record import ComparisonAsked, TryAsked
from fairground.report.text import words
from fairground.stats.rounds import JUDGED_ROUNDS, ArmModes, Decision

WITHOUT_COMMENTS = re.compile(r"--[^\n]*")
SHOWN_CHARACTERS = 200
TOLD = ("errors", "conduct")
"""Warnings of an arm that are told beside the numbers."""
WIDE = 0.02
"""A half-width from which on it is said what would narrow the interval."""


def of_rounds(asked: ComparisonAsked, decision: Decision, seconds: float, awake: bool, cores: int) -> tuple[str, ...]:
    """Sentences, what was measured first. `awake`: whether processors were kept from idling; `cores`: those of the machine."""
    return tuple(_of_rounds(asked, decision, seconds, awake, cores))


def _of_rounds(asked: ComparisonAsked, decision: Decision, seconds: float, awake: bool, cores: int) -> Iterator[str]:
    took = words.seconds(seconds)
    both = "both servers" if asked.services is None else _both(asked.services)
    yield f"{plural(decision.pairs, 'pair')} of windows, in turns, over {plural(decision.rounds, 'start')} of {both}, in {took}"
    for label, share in zip((asked.label_a, asked.label_b), decision.failed, strict=True):
        if share:
            yield f"`{label}` gave no good answer to {share:.2%} of its requests, and only good ones count"
    if decision.modes is not None:
        yield _two_modes(decision.modes, (asked.label_a, asked.label_b)[decision.modes.arm])
    if decision.void_pairs:
        left = "counts" if decision.void_pairs == 1 else "count"
        yield f"{with_verb(decision.void_pairs, 'more pair', 'was', 'were')} spoiled by the machine and {left} for nothing"
    if asked.planted:
        yield f"B was slowed down on purpose, by {asked.planted:.1%} of its CPU"
    if asked.settings.sql_before is not None:
        yield f"before each start, {sql_before(asked.settings.sql_before)} was run on the fresh data of B alone"
    if awake:
        yield "the processors of this virtual machine were kept from idling meanwhile"
    if asked.settings.pin:
        yield f"pinned to cores: {', '.join(f'{role} {_cores(some)}' for role, some in asked.settings.pin)}"
    if decision.rounds < JUDGED_ROUNDS:
        yield f"fewer than {JUDGED_ROUNDS} starts: nothing is called; give it a larger --budget"
    elif asked.services is None:
        yield from _narrower(decision.half_width, asked.settings, cores)


def _both(services: tuple[TryAsked, TryAsked]) -> str:
    """Name what was started anew for each start of a comparison of services: a service that runs is not."""
    ran = [label for label, one in zip("AB", services, strict=True) if one.command is None]
    if not ran:
        return "both services"
    they = "the services themselves ran on" if len(ran) == 2 else f"{ran[0]} itself ran on"
    return f"the load ({they}, so what differs from start to start of a service is not in the interval)"


def sql_before(file: SqlFile) -> str:
    """Name a file of SQL, and say what is in it: on one line, and no more of it than a sentence can have."""
    return f"`{file.name}` (`{foreign.line(' '.join(WITHOUT_COMMENTS.sub(' ', file.text).split()), SHOWN_CHARACTERS)}`)"


def of_errors(rounds: Sequence[Round]) -> tuple[str, ...]:
    """Say of each arm what failed, by its first start in which anything did."""
    found: dict[str, str] = {}
    for one in rounds:
        for label, findings in one.findings.items():
            for finding in findings:
                if finding.id in TOLD and finding.severity is Severity.WARN:
                    found.setdefault(label, f"`{label}`, start {one.number}: {finding.sentence}")
    return tuple(found.values())


def _two_modes(modes: ArmModes, label: str) -> str:
    """Say which arm it is, how far apart its modes are, and how many starts each has: the mean is of neither of them."""
    starts = len(modes.low) + len(modes.high)
    rounds = ", ".join(map(str, modes.high))
    return (
        f"`{label}` has two modes: in {len(modes.high)} of {starts} starts ({len(modes.high) / starts:.0%}; rounds {rounds}) its "
        f"{modes.quantity} is {modes.apart:.1%} higher than in the other {len(modes.low)}, and the mean says nothing of either"
    )


def _narrower(half_width: float | None, settings: CellSettings, cores: int) -> Iterator[str]:
    """Advise `--seats apart` where an interval is wide and there are cores to choose from.

    Roles with cores of their own meet less of the machine's other users.
    """
    if half_width is not None and half_width > WIDE and not settings.pin and cores > 1:
        yield f"± {half_width:.1%} is wide: the roles share cores, and `--seats apart` gives each its own"


def _cores(cores: tuple[int, ...]) -> str:
    return "+".join(map(str, cores))
