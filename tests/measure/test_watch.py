"""Who is looked at while arms work: looking takes time from what is measured."""

from __future__ import annotations

from typing import cast

import pytest

from builders.waiting import eventually
from fairground.host import Meter
from fairground.measure import watch
from fairground.measure.watch import ArmWatch, WatchedArm


class Counted:
    """A meter that counts its samples."""

    memory_bytes = None

    def __init__(self) -> None:
        self.samples = 0

    def start(self) -> None:
        """Nothing is forgotten."""

    def cpu_ns(self) -> int:
        """It has used nothing."""
        return 0

    def sample(self) -> None:
        """Count it."""
        self.samples += 1


@pytest.mark.parametrize(("turn", "looked_at"), [("a", {"a"}), ("b", {"b"}), (None, {"a", "b"})])
def test_only_what_is_loaded_is_sampled(turn: str | None, looked_at: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """An arm that waits for its turn has nothing to tell, nor has one whose window has not begun. All do where nobody takes turns."""
    monkeypatch.setattr(watch, "INTERVAL_S", 0.001)
    meters = {label: Counted() for label in "abc"}
    arms = {label: WatchedArm(None, {"server": cast(Meter, meter)}) for label, meter in meters.items()}
    for label in "ab":
        arms[label].open_window()
    with ArmWatch(arms, None) as looking:
        looking.turn = turn
        before = {label: meter.samples for label, meter in meters.items()}
        assert eventually(lambda: all(meters[label].samples > before[label] + 2 for label in looked_at), 10)
        now = {label for label, meter in meters.items() if meter.samples > before[label] + 2}
    assert now == looked_at and looking.failure is None
