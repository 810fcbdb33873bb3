"""Sessions of arms on a host, a database and an engine that are none, played to their end."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders.fakes import LOAD, Server, World
from fairground.judge import validity
from fairground.measure.arm import ArmWindow, Ended
from fairground.measure.schedule import InTurns, Schedule, whole
from fairground.measure.session import ArmSession
from fairground.model import (
    Severity,
)


class Played:
    """A session that is over."""

    def __init__(self, world: World, folder: Path, schedule: Schedule) -> None:
        with ArmSession(world.bench(), world.arms(), folder) as session:
            self.windows: list[ArmWindow] = list(session.play(schedule))
        self.ended, self.log = session.ended, world.log

    def grave(self, label: str) -> dict[str, str]:
        """What rejects an arm or makes it void, by id; findings of this machine's clocks left out."""
        ended: Ended = self.ended[label]
        return {
            one.id: str(one.severity)
            for one in ended.findings
            if one.severity in (Severity.REJECT, Severity.VOID) and one.id not in validity.OF_THE_MACHINE
        }


def trial(server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch, watch_failure: str | None = None) -> Played:
    """One arm in one whole window."""
    world = World({"a": server}, watch_failure=watch_failure).moved_into(monkeypatch)
    return Played(world, folder, whole("a", LOAD, 7))


def pair(a: Server, b: Server, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    """Two arms in two windows of turns."""
    world = World({"a": a, "b": b}).moved_into(monkeypatch)
    return Played(world, folder, InTurns(("a", "b"), LOAD, 2, lambda _: True, turn_s=0.5))
