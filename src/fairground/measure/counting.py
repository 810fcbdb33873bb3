"""One start of a counted arm: warm-up by work until its counts settle, then the same requests as at every start of it."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fairground.measure.arm import ArmWindow, CountedArm
from fairground.measure.bench import Bench
from fairground.measure.schedule import Counted
from fairground.measure.session import ArmSession
from fairground.model import Load, Severity
from fairground.model.count import CountedStart, CountedWindow
from fairground.stats import counts

COUNTED_S, MOST_S = 1.5, 10.0
"""The counted windows of an arm's first start take about the first together, and the second where ENOUGH takes longer."""
ENOUGH, LEAST, MOST = 3_200, 320, 200_000
"""Requests of a start that hold some collections of garbage, the fewest, and the most."""
WINDOWS = 32
"""Counted windows of a start: several for each collection of garbage, which the taper over them then leaves whole."""
LEAST_WARMING = 100
"""The fewest requests of a window of the warm-up; as a rule it has as many as a counted one.

Longer ones would never agree: with a collection of garbage in each other one, their medians are those of two kinds.
"""
BUSY_PER_S, PATIENCE = 100e6, 5
"""A translated server with a core of its own carries out at least the first in a second.

Where others keep its core busy it carries out fewer, and its warm-up may take up to so many times as long.
"""
PILOT = 5
"""The first one has so many requests for each connection."""
READY_S, SLOWER = 600.0, 10
"""A server may take so long to become ready, and so many times as long for a case: it is up to twenty times slower."""


@dataclass(frozen=True)
class WorkedOff:
    """The schedule of one start. `requests`: of its counted windows together; None: what its pilot allows.

    Where the warm-up does not settle within the load's `warmup_max_s`, it is counted all the same, and that is told. Those are
    seconds of a core of its own: what settles a server is its work, and not how long it waited for its turn.
    """

    arm: str
    load: Load
    requests: int | None
    floor: float

    def next(self, windows: Sequence[ArmWindow], failed: Collection[str]) -> Counted | None:
        """A window of the warm-up, a counted one, or the end."""
        if self.arm in failed:
            return None
        warm = [one for one in windows if one.warm_up]
        done = len(windows) - len(warm)
        if not done and not self._is_over(warm):
            return Counted(self.arm, self.load, self._warming(warm), warm_up=True)
        if done >= WINDOWS:
            return None
        return Counted(self.arm, self.load, max(1, self.requests_after(warm) // WINDOWS))

    def _warming(self, warm: Sequence[ArmWindow]) -> int:
        """The requests of the next window of the warm-up: as many as a counted one would have at this pace."""
        return max(LEAST_WARMING, self.requests_after(warm) // WINDOWS) if warm else PILOT * self.load.connections

    def requests_after(self, warm: Sequence[ArmWindow]) -> int:
        """The requests of the counted windows together, after the warm-up."""
        if self.requests is not None or not warm:
            return self.requests or 0
        pace = _pace(warm[-1])
        wanted = max(COUNTED_S * pace, min(ENOUGH, MOST_S * pace))
        return max(LEAST, min(MOST, round(wanted / WINDOWS) * WINDOWS))

    def has_settled(self, warm: Sequence[ArmWindow]) -> bool:
        """True if the counts of the warm-up's last windows agree; its pilot says nothing of them."""
        values = [one.work.instructions / one.ok for one in warm[1:] if one.work is not None and one.ok]
        return counts.has_settled(values, self.floor)

    def _is_over(self, warm: Sequence[ArmWindow]) -> bool:
        passed_s = sum(max(_busy_s(one), one.window_s / PATIENCE) for one in warm)
        return passed_s >= self.load.warmup_max_s or self.has_settled(warm)


def _busy_s(window: ArmWindow) -> float:
    """Return the seconds that a window would have taken on a core of its own."""
    return window.window_s if window.work is None else min(window.window_s, window.work.instructions / BUSY_PER_S)


def _pace(window: ArmWindow) -> float:
    """Good answers a second: so much work fits into a while. It is told to nobody."""
    return window.ok / window.window_s if window.window_s else 0.0


def patient(bench: Bench) -> Bench:
    """The same bench, which gives a translated server more time to become ready and to answer its cases."""
    cases = [replace(case, timeout_s=case.timeout_s * SLOWER) for case in bench.cases]
    return replace(bench, ready_timeout_s=READY_S, cases=cases)


def one_start(bench: Bench, arm: CountedArm, requests: int | None, floor: float, folder: Path, number: int) -> CountedStart:
    """Start an arm, count what it does, stop and audit it: the start of a number, from 1. A failure is among its findings."""
    began = time.monotonic()
    schedule = WorkedOff(arm.label, arm.cell.load, requests, floor)
    with ArmSession(patient(bench), [arm], folder) as session:
        windows = list(session.play(schedule))
    warm = [one for one in windows if one.warm_up]
    settled = schedule.has_settled(warm)
    return CountedStart(
        arm.label,
        arm.workload.id,
        number,
        schedule.requests_after(warm),
        tuple(CountedWindow(one.ok, replace(one.work, functions={}), one.warm_up) for one in windows if one.work is not None),
        settled,
        tuple(one for one in session.ended[arm.label].findings if one.severity is not Severity.NOTE),
        time.monotonic() - began,
        counts.functions([CountedWindow(one.ok, one.work) for one in windows if one.work is not None and not one.warm_up]),
        None if arm.locator is None else arm.locator.interpreter,
    )
