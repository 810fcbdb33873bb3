"""Two windows in turns: one of each arm of a comparison. Frozen values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fairground.model.result import Finding, Severity
from fairground.model.window import WindowTally


@dataclass(frozen=True)
class WindowPair:
    """Two windows whose turns alternate; `first` had the first of them.

    `void` says what of the machine spoiled it; then it is kept, and counts for nothing.
    """

    round: int
    number: int
    first: str
    a: WindowTally
    b: WindowTally
    void: str | None = None


@dataclass(frozen=True)
class Round:
    """One start of both arms: the unit of evidence. `findings`: what is to be said of an arm, by its label.

    A finding of severity `reject` says that there is nothing to compare. `took_s`: from the start of the servers to their end.
    """

    number: int
    pairs: tuple[WindowPair, ...]
    took_s: float
    findings: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)

    @property
    def rejected(self) -> str | None:
        """The sentence that says why there is nothing to compare, and names the arm; None where there is something."""
        return next((why for label, findings in self.findings.items() if (why := rejection(label, findings))), None)


def rejection(label: str, findings: Iterable[Finding]) -> str | None:
    """Say why an arm has no number, in a sentence that names it; None where no finding rejects it."""
    found = next((finding for finding in findings if finding.severity is Severity.REJECT), None)
    if found is None:
        return None
    why = "it does not fulfil the contract: " if found.id.startswith("case:") else ""
    return f"`{label}` is rejected: {why}{found.sentence}"
