"""Check the events that a workload's number depends on, as its file names them."""

from __future__ import annotations

from collections.abc import Mapping

from fairground.model import WorkloadEvent
from fairground.model.source import Source, nearest


def check_events(source: Source, given: Mapping[str, int]) -> dict[WorkloadEvent, int]:
    """The events of a workload's `events`, and how many a window should hold. LabError for one that is unknown, or below 1."""
    for name, amount in given.items():
        if name not in list(WorkloadEvent):
            hint = nearest(name, list(WorkloadEvent), "events")
            raise source.error(("events", name), f"unknown event `{name}` in `events` of", hint)
        if amount < 1:
            hint = "write how many of them a window should hold, or leave it out"
            raise source.error(("events", name), f"`events.{name}` is below 1 in", hint)
    return {WorkloadEvent(name): amount for name, amount in given.items()}
