"""The length of windows, by the time that a run has. Pure.

A small budget makes them shorter, and the events of a workload make them longer.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

from fairground.judge import sizing
from fairground.model import Load, PlanSlot, Workload

MOST_WINDOWS = 4.0
"""Without a budget: this many times the window that the load asks for."""
BLOCKS = 4
"""This many blocks of a plan with a budget shall fit into it. A plan also has this many where nobody said how often.

Fewer tell too little of how starts differ, and one bad minute decides. More cost starts.
"""
TURNS_S = 3.0
"""With a budget stacks are loaded in turns for this many seconds, or as long as windows last. What differs from start to start is
then as much as what differs from second to second, so that a longer time says less than another start."""
SHORTER_S = ((3.0, math.inf), (2.0, math.inf), (1.5, math.inf), (1.0, math.inf), (1.0, 0.5), (0.7, 0.5))
"""Windows that a small budget gets, and their longest warm-ups: one step after the other. Turns tell who was not warm."""
WARM_STEPS = sum(warmup_s == math.inf for _, warmup_s in SHORTER_S)
"""This many of its steps leave warm-ups alone."""
EVENTFUL_S = 2.0
"""No window of a workload that depends on events gets shorter: two deadlocks may hold all of it."""
LONGEST_S = 60.0
"""No budget makes a window longer, unless its load asks for that."""


def shorter(loads: Sequence[Load], step: int, workloads: Collection[Workload]) -> tuple[Load, ...]:
    """The loads as a step of SHORTER_S has them, which makes none longer. Steps too short for their events do nothing."""
    eventful = any(workload.events for workload in workloads)
    window_s, warmup_s = [one for one in SHORTER_S[: step + 1] if one[0] >= EVENTFUL_S or not eventful][-1]
    return tuple(
        replace(
            load,
            window_s=min(load.window_s, window_s),
            warmup_min_s=min(load.warmup_min_s, warmup_s),
            warmup_max_s=min(load.warmup_max_s, warmup_s),
        )
        if sizable(load) and not load.stages
        else load
        for load in loads
    )


def with_turns(slots: Sequence[PlanSlot], locked: Collection[str], asked_s: float | None) -> tuple[PlanSlot, ...]:
    """The slots with their seconds in turns: none on `locked` workloads, where requests lock each other out."""
    return tuple(replace(one, turns_s=0.0 if one.cell.workload in locked else asked_s) if one.round else one for one in slots)


def sizable(load: Load) -> bool:
    """True if events can size windows of this load: it is the engine's, lasts a time, and nothing goes wrong in it on purpose."""
    return load.generator == Load.generator and load.requests is None and load.fault is None


def with_ceilings(slots: Sequence[PlanSlot], workloads: Collection[str], room_s: float | None) -> tuple[PlanSlot, ...]:
    """The slots, with a ceiling for windows of `workloads`, those that name events.

    `room_s`: the seconds that a block of the run may take longer, shared out between all that can grow; None: it has no budget.
    """
    growing = [slot for slot in slots if slot.cell.workload in workloads and sizable(slot.cell.load)]
    first = [slot for slot in growing if slot.block == growing[0].block]
    windows = sum(2 if slot.round and slot.turns_s != 0 else 1 for slot in first)  # those in turns grow with the whole ones
    more_s = None if room_s is None else max(0.0, room_s) / max(1, windows)
    ceilings = {slot.number: _ceiling_s(slot.cell.load, more_s) for slot in growing}
    return tuple(replace(slot, window_most_s=ceilings.get(slot.number)) for slot in slots)


def _ceiling_s(load: Load, more_s: float | None) -> float:
    if more_s is None:  # what no pilot can size stays as short as somebody in a hurry made it
        return load.window_s * (MOST_WINDOWS if load.warmup_max_s >= sizing.PILOT_LEAST_S else 1.0)
    return max(load.window_s, float(math.floor(min(LONGEST_S, load.window_s + more_s))))
