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


@pytest.mark.parametrize(("workload", "turns"), [("transfer", False), ("transfer-ordered", True), ("ping", True)])
def test_no_turns_where_requests_lock_each_other_out(
    workload: str, turns: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The workload says so by its events."""
    monkeypatch.setattr(trial, "Session", Session)
    (stack,) = manifest.find_stack(manifest.load_servers(ROOT / "tests" / "zoo"), "healthy")
    cell = Cell(stack.id, workload, Topology(), Load(), Settings())
    slots = [Slot(1, 1, cell, 7), Slot(2, 1, cell, 7, Control.AGAIN)]
    attempts = [trial.Attempt(slot, 1, stack, tmp_path / str(slot.number), "trial") for slot in slots]
    with pytest.raises(Asked) as asked:
        trial.together(None, attempts, WORKLOADS[workload])  # type: ignore[arg-type]
    schedule = asked.value.args[0]
    assert isinstance(schedule, SideBySide) and schedule.turns is turns
