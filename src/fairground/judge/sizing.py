"""The length of a window, by the events that its workload's number depends on, and of a warm-up in turns. Pure.

A workload may be about something rare: one meets a deadlock or two in a second, each of which holds rows for a second. A
window of few of them is mostly chance. The warm-up is the pilot: its events say how long the window must be. None of its seconds
is in the number. A window that ended with its own fiftieth event would be biased: it would end as soon as luck is bad.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from fairground.model import Finding, Severity
from fairground.model.sizing import EventCount, Sizing, WorkloadEvent
from fairground.stats.intervals import brief

PILOT_LEAST_S = 2.0
"""A shorter pilot says nothing: PostgreSQL looks for a deadlock once somebody has waited for a second."""
WARMING_S = 0.5
"""A warm-up in turns loads each server for this many seconds. What it shows says whether another one follows."""
WARMING_SHARE = 0.25
"""In a run's rounds it takes no more than so much of the seconds in turns that count."""
OF_ANSWERS = {WorkloadEvent.BEYOND_P99: 0.01}
"""Events that are a share of the good answers: as these are known, so are they."""


def sizing(
    wanted: Mapping[WorkloadEvent, int],
    answers: float | None,
    deadlocks: int | None,
    pilot_s: float,
    asked_s: float,
    most_s: float,
) -> Sizing:
    """The window, in seconds, that the pilot asks for: `answers` good ones and `deadlocks` in `pilot_s`; None: nobody counted.

    It is whole seconds, never shorter than `asked_s` and never longer than `most_s`. Where the pilot saw none of an event, or
    could see none, it is `most_s`.
    """
    counts, needed_s = dict[WorkloadEvent, EventCount](), [asked_s]
    for event, amount in wanted.items():
        share = OF_ANSWERS.get(event, 1.0)
        seen = answers if event in OF_ANSWERS else deadlocks
        counts[event] = EventCount(amount, None if seen is None else seen * share)
        needed_s.append(_needed_s(amount / share, seen, pilot_s))
    longest_s = max(needed_s)
    window_s = most_s if longest_s >= most_s else max(asked_s, float(math.ceil(longest_s)))
    return Sizing(asked_s, most_s, pilot_s, min(window_s, most_s), counts)


def warming_s(turns_s: float) -> float:
    """Seconds for which each stack of a round is loaded in turns before its `turns_s` seconds, which count."""
    return min(WARMING_S, WARMING_SHARE * turns_s)


def _needed_s(wanted: float, seen: float | None, pilot_s: float) -> float:
    """Seconds for this many events. One standard error is allowed for the pilot's rate and one for the window's own chance."""
    sure = 0.0 if seen is None or pilot_s < PILOT_LEAST_S else seen - math.sqrt(seen)
    return (wanted + math.sqrt(wanted)) * pilot_s / sure if sure > 0 else math.inf


def count_events(of: Sizing, answers: int, deadlocks: int | None) -> Sizing:
    """The sizing once the window is over, with what the window held."""
    seen = {event: answers * OF_ANSWERS[event] if event in OF_ANSWERS else deadlocks for event in of.events}
    events = {event: EventCount(count.wanted, count.pilot, seen[event]) for event, count in of.events.items()}
    return Sizing(of.asked_s, of.most_s, of.pilot_s, of.window_s, events)


def finding(of: Sizing) -> Finding:
    """A note on how long the window was and what it held."""
    held = ", ".join(f"{_amount(count.window)} of {count.wanted} {event.words}" for event, count in of.events.items())
    longer = f" in place of {brief(of.asked_s)} s" if of.added_s else ""
    capped = ", the most that it may have," if of.capped else ""
    sentence = f"the window of {brief(of.window_s)} s{longer}{capped} held {held}"
    evidence = {f"{event}_in_pilot": count.pilot for event, count in of.events.items()}
    return Finding("events", Severity.NOTE, sentence, {"pilot_s": round(of.pilot_s, 3), "most_s": of.most_s, **evidence})


def _amount(value: float | None) -> str:
    return "an unknown number" if value is None else f"{value:,.0f}"
