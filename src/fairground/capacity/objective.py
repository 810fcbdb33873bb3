"""An objective such as `p99<50ms,errors<1%`: what a server must keep for a rate to count as one that it can serve. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fairground.model import LabError

DEFAULT = "p99<50ms,errors<1%"
EXAMPLE = f"for instance --slo '{DEFAULT}' or --slo 'p50<5ms,p99.9<200ms'"
UNITS_US = {"us": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6}
LONGEST_US = 60e6

_LATENCY = re.compile(r"p(\d+(?:\.\d+)?)\s*<=?\s*(\d+(?:\.\d+)?)\s*([^\d\s]*)")
_ERRORS = re.compile(r"errors\s*<=?\s*(\d+(?:\.\d+)?)\s*(%?)")


@dataclass(frozen=True)
class Clause:
    """A bound on bad requests: the share `allowed` at most. They have no good answer or, given a deadline, come later.

    `text` has the digits as they were typed: it is read again.
    """

    text: str
    allowed: float
    deadline_us: float | None


@dataclass(frozen=True)
class Objective:
    """Clauses that must all hold."""

    clauses: tuple[Clause, ...]

    @property
    def text(self) -> str:
        """The objective as it is written."""
        return ",".join(clause.text for clause in self.clauses)

    @property
    def deadline_us(self) -> float | None:
        """The shortest deadline: what a delay of the instrument's own is held against."""
        return min((clause.deadline_us for clause in self.clauses if clause.deadline_us is not None), default=None)

    @property
    def longest_us(self) -> float | None:
        """The longest deadline: an answer that takes longer is late for every clause."""
        return max((clause.deadline_us for clause in self.clauses if clause.deadline_us is not None), default=None)

    def wait_ms(self, least_ms: int) -> int:
        """Compute the longest wait for an answer, at least `least_ms`: it cuts off none for which a deadline has time."""
        return min(max(least_ms, round(4 * (self.longest_us or 0.0) / 1000)), round(LONGEST_US / 1000))

    @property
    def least_requests(self) -> float:
        """Requests of which ten may be bad by every clause: with fewer a share of them says little."""
        return LEAST_TAIL / min(clause.allowed for clause in self.clauses)

    @property
    def fewest_requests(self) -> float:
        """Requests that show by themselves that every clause is kept, if none of them is bad: the rule of three."""
        return RULE_OF_THREE / min(clause.allowed for clause in self.clauses)


RULE_OF_THREE = 3.0
"""Where none of n is bad, a share of more than 3/n is excluded with 95 % (Hanley and Lippman-Hand 1983)."""
LEAST_TAIL = 10
"""Requests that must be expected beyond a percentile for it to be judged by its own value."""


def parse(text: str) -> Objective:
    """Read an objective from its text. LabError for anything that is not one, with the clause and an example."""
    parts = [part.strip() for part in text.split(",")]
    if not any(parts):
        raise LabError("`--slo` is empty", EXAMPLE)
    clauses = tuple(_clause(part) for part in parts)
    kinds = [(clause.allowed if clause.deadline_us is not None else None) for clause in clauses]
    for clause, kind in zip(clauses, kinds, strict=True):
        if kinds.count(kind) > 1:
            raise LabError(f"`--slo` names `{clause.text.partition('<')[0]}` twice", "give each percentile once")
    return Objective(clauses)


def _clause(text: str) -> Clause:
    if (found := _LATENCY.fullmatch(text)) is not None:
        return _latency(text, *found.groups())
    if (found := _ERRORS.fullmatch(text)) is not None:
        if not found[2]:
            raise LabError(f"`{text}` in `--slo` has no `%`", f"for instance errors<{found[1]}%")
        share = float(found[1]) / 100
        if not 0 < share < 1:
            raise LabError(f"`{text}` in `--slo` should lie above 0 and below 100 %", "for instance errors<1%")
        return Clause(f"errors<{found[1]}%", share, None)
    raise LabError(f"`{text}` in `--slo` is not an objective", EXAMPLE)


def _latency(text: str, percentile: str, number: str, unit: str) -> Clause:
    if unit not in UNITS_US:
        problem = f"has an unknown unit `{unit}`" if unit else "has no unit"
        raise LabError(f"`{text}` in `--slo` {problem}", f"units are us, ms and s: p{percentile}<{number}ms")
    percent, deadline_us = float(percentile), float(number) * UNITS_US[unit]
    if not 0 < percent < 100:
        raise LabError(f"`{text}` in `--slo` should name a percentile above 0 and below 100", "for instance p99<50ms")
    if not 1 <= deadline_us <= LONGEST_US:
        raise LabError(f"`{text}` in `--slo` should be a time between 1 us and 60 s", "for instance p99<50ms")
    allowed = round(1 - percent / 100, 9)
    if not 0 < allowed < 1:
        raise LabError(f"`{text}` in `--slo` has a percentile of more digits than a load can tell", "for instance p99.99<50ms")
    return Clause(f"p{percentile}<{number}{unit}", allowed, deadline_us)
