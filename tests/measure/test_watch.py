"""Who is looked at while arms work: looking takes time from what is measured."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import pytest

from builders.waiting import eventually
from fairground.host import Meter
from fairground.measure import watch
from fairground.measure.watch import ArmWatch, WatchedArm
from fairground.postgres import Activity


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


def held(*looks: Iterable[int], allowed: tuple[int, int] | None = (25, 32)) -> int | None:
    """The connections that are held against a server whose backends have these pids, one look after the other."""
    arm = WatchedArm("trial", allowed=allowed)
    for pids in looks:
        arm.take(Activity({"idle": len(set(pids))}, (), frozenset(pids)), on_turn=False)
    return arm.connections_peak


def test_backends_that_still_end_are_not_held_against_a_pool() -> None:
    """Three of 28 change from look to look: their clients have hung up. The same 28 twice are held, and 33 at one look."""
    ending = [[*range(25), *range(100 * look, 100 * look + 3)] for look in range(1, 4)]
    assert held(*ending) == 25
    assert held(range(28)) == 25 and held(range(28), range(28)) == 28
    assert held(range(33)) == 33 and held(range(7), range(50, 57)) == 7
    assert held(*ending, allowed=None) == 28
