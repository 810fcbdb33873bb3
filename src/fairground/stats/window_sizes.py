"""The effect of events on the windows of a run: how long they became, what that cost, and where it was not enough. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairground.model import Trial, WorkloadEvent


@dataclass(frozen=True)
class HeldEvents:
    """An event: how often windows should hold it, and how often those did that might be no longer; None: nobody could count."""

    wanted: int
    fewest: float | None
    most: float | None


@dataclass(frozen=True)
class WindowSizes:
    """The windows of one workload, in seconds. `added_s`: beyond what the loads ask for, whole and in turns, all together.

    `capped` of the `windows` hold too few of an event, since none might be longer than `ceiling_s`.
    """

    workload: str
    windows: int
    asked_s: float
    shortest_s: float
    longest_s: float
    ceiling_s: float
    added_s: float
    capped: int
    events: Mapping[WorkloadEvent, HeldEvents]


def of(trials: Sequence[Trial]) -> tuple[WindowSizes, ...]:
    """The sizes of each workload whose windows were sized, in the order of the trials; controls and void trials among them."""
    by_workload: dict[str, list[Trial]] = {}
    for trial in trials:
        if trial.sizing is not None:
            by_workload.setdefault(trial.cell.workload, []).append(trial)
    return tuple(_of(workload, some) for workload, some in by_workload.items())


def _of(workload: str, trials: Sequence[Trial]) -> WindowSizes:
    sizes = [trial.sizing for trial in trials if trial.sizing is not None]
    in_turns_s = [trial.in_turns.window_s - trial.sizing.asked_s for trial in trials if trial.in_turns and trial.sizing]
    lacking = [size.lacking for size in sizes if size.capped]
    events = dict.fromkeys(event for size in sizes for event in size.events)
    held = {}
    for event in events:
        seen = [found[event].window for found in lacking if event in found]
        known = [amount for amount in seen if amount is not None]
        wanted = max(size.events[event].wanted for size in sizes if event in size.events)
        held[event] = HeldEvents(wanted, min(known, default=None), max(known, default=None))
    lengths = [size.window_s for size in sizes]
    return WindowSizes(
        workload, len(sizes), min(size.asked_s for size in sizes), min(lengths), max(lengths), max(size.most_s for size in sizes),
        math.fsum(size.added_s for size in sizes) + math.fsum(max(0.0, more_s) for more_s in in_turns_s), len(lacking), held,
    )  # fmt: skip
