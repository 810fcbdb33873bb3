"""The outcome of a claim: its verdict, how sure that is, and whether the published size was found. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fairground.model import Claim
from fairground.stats.intervals import Interval


class ClaimVerdict(StrEnum):
    HOLDS = "holds"
    FAILS = "does not hold"
    TIE = "a tie"
    INCONCLUSIVE = "inconclusive"
    UNTESTED = "cannot be tested here"
    REFUTED_ON_PAPER = "its own table refutes it"
    SUPPORTED_ON_PAPER = "its own table supports it"

    @property
    def decided(self) -> bool:
        """True if something was measured that decides."""
        return self in (ClaimVerdict.HOLDS, ClaimVerdict.FAILS, ClaimVerdict.TIE)


class VerdictGrade(StrEnum):
    """The sureness of a measured verdict: beyond a 99.5 % interval, or beyond a 95 % interval only."""

    CLEAR = "clear"
    LEANING = "leaning"


class SizeAnswer(StrEnum):
    """The answer on a published size: by the whole interval, which may also leave it open."""

    FOUND = "size and direction"
    MISSED = "direction only"
    OPEN = "size open"


@dataclass(frozen=True)
class ClaimJudgement:
    """A claim's verdict: `measured` is its left side over its right side (ratios), or its left side (shares and counts)."""

    claim: Claim
    verdict: ClaimVerdict
    sentence: str
    measured: Interval | None = None
    trials: tuple[int, ...] = ()
    """Slots of the plan that it rests on."""
    size: SizeAnswer | None = None
    """Whether the published size was found; None where the claim has none, or does not hold."""
    paper: bool | None = None
    """Whether the published numbers themselves support it; None where they do not tell."""
    grade: VerdictGrade | None = None
    """How sure it is; None where nothing measured decides it."""
    again: float | None = None
    """How likely a fresh run of the same length has the same verdict, in parts of 1; None where it is not decided."""
    needs: int | None = None
    """About so many blocks would decide what is inconclusive; None where it is decided, and where no number is in sight."""

    @property
    def words(self) -> str:
        """The verdict in full: `holds, size and direction (clear)`, `holds, direction only (leaning)`."""
        parts = [str(self.verdict), *([] if self.size is None else [str(self.size)])]
        return ", ".join(parts) + ("" if self.grade is None else f" ({self.grade})")

    @property
    def repeats(self) -> str:
        """The chance that a fresh run says the same, in words; empty where it is not decided."""
        if self.again is None:
            return ""
        return f"a fresh run says the same in {min(99, max(1, round(self.again * 100)))} of 100 cases"
