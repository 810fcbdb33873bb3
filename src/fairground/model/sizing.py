"""The length of a window, by the events that its workload's number depends on. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class WorkloadEvent(StrEnum):
    """Events that a workload's file may name: deadlocks in the arm's database, good answers slower than the 99th percentile."""

    DEADLOCKS = "deadlocks"
    BEYOND_P99 = "beyond_p99"

    @property
    def words(self) -> str:
        """Several of the events, in words."""
        return {WorkloadEvent.DEADLOCKS: "deadlocks", WorkloadEvent.BEYOND_P99: "answers beyond p99"}[self]


@dataclass(frozen=True)
class EventCount:
    """The counts of an event: what a window should hold, and what pilot and window held. None: nobody could count."""

    wanted: int
    pilot: float | None = None
    window: float | None = None

    @property
    def lacks(self) -> bool:
        """True if the window held the event more seldom than it should, or nobody knows."""
        return self.window is None or self.window < self.wanted


@dataclass(frozen=True)
class Sizing:
    """The length of a window, by the event that needs the longest one.

    The load asks for `asked_s`, and `most_s` is the ceiling. The pilot is the warm-up, of `pilot_s` seconds.
    """

    asked_s: float
    most_s: float
    pilot_s: float
    window_s: float
    events: Mapping[WorkloadEvent, EventCount]

    @property
    def added_s(self) -> float:
        """Seconds by which the window is longer than the load asks for."""
        return self.window_s - self.asked_s

    @property
    def capped(self) -> bool:
        """True if the window held too few of an event because it might be no longer."""
        return self.window_s >= self.most_s and bool(self.lacking)

    @property
    def lacking(self) -> Mapping[WorkloadEvent, EventCount]:
        """The events that the window held too seldom."""
        return {event: count for event, count in self.events.items() if count.lacks}
