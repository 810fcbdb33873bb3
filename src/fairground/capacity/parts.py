"""The parts of a capacity as they are finished, and the capacity that they make together. Pure.

A part is one measurement that is over: the closed loop that warms the server, one step of the search, one fresh trial, one pass
of the load curve, the overload. All that is known of a capacity is a function of its parts. So it can be interrupted after any of
them, go on later, and be shown again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from fairground.capacity import loadcurve, search
from fairground.capacity.loadcurve import CurvePoint, StepWord
from fairground.capacity.objective import Objective
from fairground.capacity.search import Capacity, Goal, SearchTrial
from fairground.model import BadAnswer, Finding, Second, Severity, Verdict


class Phase(StrEnum):
    """The phase that a part is of. Phases follow each other in this order."""

    SEARCH = "search"
    CONFIRM = "confirm"
    CURVE = "curve"
    OVERLOAD = "overload"


@dataclass(frozen=True)
class CapacityPart:
    """One finished unit of the measuring of a cell. Rates per second; None: it has none.

    `cell` is the place of the cell in the record, `number` that of the part in its phase, both from 1. `spent_s` and `loads`
    count from the beginning of the cell to the end of this part.
    """

    cell: int
    phase: Phase
    number: int
    spent_s: float
    loads: int
    points: tuple[CurvePoint, ...] = ()
    closed_per_s: float | None = None
    """Goodput of the closed loop that begins a search."""
    limited_by: tuple[Finding, ...] = ()
    """What limited the server in this step."""
    seconds: tuple[Second, ...] = ()
    """Those of an overload's whole window."""
    void: str | None = None
    """What of the machine spoiled it."""
    rate_per_s: float | None = None
    duration_s: float | None = None
    """What a step of the search or a fresh trial was asked for; a fresh trial may have no point."""
    verdict: Verdict | None = None
    """That of a fresh trial."""
    findings: tuple[Finding, ...] = ()
    """What the server did wrong: it has no capacity."""
    samples: tuple[BadAnswer, ...] = ()
    """The first request of each kind that got no good answer in it."""
    ended: str | None = None
    """Set on the last part of a phase: why it ended. Empty where there is nothing to say."""

    @property
    def rejected(self) -> Finding | None:
        """The finding for which the server has no number; None where it may have one."""
        return next((one for one in self.findings if one.severity is Severity.REJECT), None)


def of_phase(parts: Sequence[CapacityPart], phase: Phase) -> list[CapacityPart]:
    """The parts of one phase."""
    return [part for part in parts if part.phase is phase]


def is_over(parts: Sequence[CapacityPart], phase: Phase) -> bool:
    """True if a phase needs no further part."""
    return any(part.ended is not None for part in of_phase(parts, phase))


def closed_per_s(parts: Sequence[CapacityPart]) -> float | None:
    """Goodput of the closed loop that begins the search; None: there was none yet."""
    return next((part.closed_per_s for part in parts if part.closed_per_s is not None), None)


def trials_of(parts: Sequence[CapacityPart], phase: Phase) -> list[SearchTrial]:
    """The steps of a phase that say something of the server. Each has the rate and the time that were asked for."""
    found = []
    for part in of_phase(parts, phase):
        low = part.points[0].judgement.low if part.points else None
        if low is not None and part.rate_per_s is not None and part.duration_s is not None:
            found.append(SearchTrial(part.rate_per_s, part.duration_s, low))
    return found


def capacity(stack: str, workload: str, objective: Objective, goal: Goal, parts: Sequence[CapacityPart]) -> Capacity:
    """The capacity that the parts of one cell make so far."""
    found = Capacity(stack, workload, objective.text, objective.deadline_us)
    searched = trials_of(parts, Phase.SEARCH)
    points = {phase: tuple(point for part in of_phase(parts, phase) for point in part.points) for phase in Phase}
    limits = {part.points[0].step.rate_per_s: part.limited_by
              for part in of_phase(parts, Phase.SEARCH) if part.points and part.limited_by}  # fmt: skip
    rejected = next((finding for part in parts if (finding := part.rejected) is not None), None)
    found = replace(
        found,
        search=points[Phase.SEARCH],
        found=search.bounds(goal, searched),
        ended=next((part.ended for part in of_phase(parts, Phase.SEARCH) if part.ended is not None), ""),
        limited_by=limits[min(limits)] if limits else (),
        fresh=points[Phase.CONFIRM],
        confirmations=search.confirmations(trials_of(parts, Phase.CONFIRM)),
        curve=points[Phase.CURVE],
        rejected=None if rejected is None else rejected.sentence,
        notes=_notes(parts),
        spoiled=_spoiled(parts),
        samples=tuple(sample for part in parts if _tells(part) for sample in part.samples),
        spent_s=parts[-1].spent_s if parts else 0.0,
    )
    return _with_overload(found, objective, parts)


def _spoiled(parts: Sequence[CapacityPart]) -> str | None:
    """The reason why every fresh trial was void, that of the last one. None where one of them was sound, or there is none."""
    reasons = [_void_of(part) for part in of_phase(parts, Phase.CONFIRM) if part.rate_per_s is not None]
    return reasons[-1] if reasons and all(reasons) else None


def _void_of(part: CapacityPart) -> str | None:
    """The reason why a fresh trial, or its step, was void; None where it was sound."""
    words = [point.judgement.why for point in part.points if point.judgement.word is StepWord.VOID]
    return part.void or (words[0] if words else None)


def _tells(part: CapacityPart) -> bool:
    """True if what failed in a part may be the server's doing, and no overload was meant."""
    return part.phase is not Phase.OVERLOAD and any(point.judgement.word is not StepWord.VOID for point in part.points)


def _with_overload(found: Capacity, objective: Objective, parts: Sequence[CapacityPart]) -> Capacity:
    """The capacity with its overload, where three sound steps were measured at shares of it."""
    whole = next((part for part in of_phase(parts, Phase.OVERLOAD) if part.points), None)
    if whole is None or found.base_per_s is None:
        return found
    if whole.void is not None or len(whole.points) < len(search.OVERLOAD):
        return replace(found, over_points=whole.points)
    before, during, after = whole.points
    ended_s = before.step.duration_s + during.step.duration_s
    felt = loadcurve.overload(found.base_per_s, during.step, after.step, whole.seconds, ended_s, objective)
    return replace(found, over=felt, over_points=whole.points, over_seconds=whole.seconds)


def _notes(parts: Sequence[CapacityPart]) -> tuple[str, ...]:
    """Sentences on what was spoiled in each phase, and on what was left out."""
    notes = list[str]()
    for phase in (Phase.SEARCH, Phase.CONFIRM):
        points = [point for part in of_phase(parts, phase) for point in part.points]
        void = [point for point in points if point.judgement.word is StepWord.VOID]
        if void:
            notes.append(f"{len(void)} of {len(points)} steps ({phase}) were void: {void[-1].judgement.why}")
    ends = [part.ended for part in parts if part.phase is not Phase.SEARCH and part.ended]
    return (*notes, *ends)
