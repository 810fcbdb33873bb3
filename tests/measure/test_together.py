"""Which schedule the cells of a round have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from builders.paths import ROOT
from fairground.inputs import manifest
from fairground.measure import trial
from fairground.measure.schedule import SideBySide
from fairground.model import Cell, Control, Load, Settings, Slot, Topology

WORKLOADS = {one.id: manifest.render(one, 1) for one in manifest.load_workloads(ROOT / "workloads")}


class Asked(Exception):
    """The schedule that a session was to play."""


class Session:
    """One that starts nothing."""

    def __init__(self, *_: object) -> None:
        """Nothing is kept."""

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is stopped."""

    def play(self, schedule: Any) -> None:
        """Tell what is asked."""
        raise Asked(schedule)


@pytest.mark.parametrize("turns_s", [0.0, 2.5, None])
def test_turns_are_as_long_as_the_slots_say(turns_s: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None of them, some seconds, or as many as the window has."""
    monkeypatch.setattr(trial, "Session", Session)
    (stack,) = manifest.find_stack(manifest.load_servers(ROOT / "tests" / "zoo"), "healthy")
    cell = Cell(stack.id, "ping", Topology(), Load(), Settings())
    slots = [Slot(1, 1, cell, 7, round=1, turns_s=turns_s), Slot(2, 1, cell, 7, Control.AGAIN, round=1, turns_s=turns_s)]
    attempts = [trial.Attempt(slot, 1, stack, tmp_path / str(slot.number), "trial") for slot in slots]
    with pytest.raises(Asked) as asked:
        trial.together(None, attempts, WORKLOADS["ping"])  # type: ignore[arg-type]
    schedule = asked.value.args[0]
    assert isinstance(schedule, SideBySide) and schedule.turns_s == turns_s
