"""One start of a counted arm: warm-up by work until its counts settle, then the same requests as at every start of it."""

from __future__ import annotations

import math
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

COUNTED_S, MOST_S = 1.5, 2.5
"""The counted windows of an arm's first start take about the first together, and the second where ENOUGH takes longer."""
ENOUGH, LEAST, MOST = 3_200, 320, 204_800
"""Requests of a start that hold some collections of garbage, the fewest, and the most."""
LEAST_WINDOWS, MOST_WINDOWS = 8, 32
"""Counted windows of a start: several for each collection of garbage, which the taper over them then leaves whole."""
OF_WINDOW = 100
"""A window has this many requests at least, if there are enough: at both of its ends connections idle, which costs something.

Those of the warm-up have as many as counted ones. Longer ones would never agree: with a collection of garbage in each other one,
their medians are those of two kinds.
"""
BUSY_PER_S, PATIENCE = 100e6, 5
"""A translated server with a core of its own carries out at least the first in a second.

Where others keep its core busy it carries out fewer, and its warm-up may take up to this many times as long.
"""
PILOT = 5
"""The first one has this many requests for each connection."""
READY_S, SLOWER = 600.0, 10
"""A server may take this long to become ready, and this many times as long for a case: it is up to twenty times slower."""


@dataclass(frozen=True)
class WorkedOff:
    """The schedule of one start. `requests`: of its counted windows together; None: what its pilot allows.

    The last windows are the counted ones. While they still fall, more are made: a compiler that began late was not warm.
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
        requests = self.requests_after(warm)
        if done >= windows_of(requests) and not (self._falls(windows) and self._passed_s(windows) < self.load.warmup_max_s):
            return None
        return Counted(self.arm, self.load, size_of(requests))

    def _warming(self, warm: Sequence[ArmWindow]) -> int:
        """The requests of the next window of the warm-up: as many as a counted one would have at this pace."""
        requests = self.requests_after(warm)
        return max(OF_WINDOW, size_of(requests)) if warm else PILOT * self.load.connections

    def requests_after(self, warm: Sequence[ArmWindow]) -> int:
        """The requests of the counted windows together, after the warm-up."""
        if self.requests is not None or not warm:
            return self.requests or 0
        pace = _pace(warm[-1])
        wanted = max(LEAST, min(MOST, max(COUNTED_S * pace, min(ENOUGH, MOST_S * pace))))
        return size_near(wanted / windows_of(wanted)) * windows_of(wanted)

    def has_settled(self, windows: Sequence[ArmWindow]) -> bool:
        """True if the counts of the warm-up's last windows agree, and the counted ones do not fall."""
        return self._is_warm([one for one in windows if one.warm_up]) and not self._falls(windows)

    def _is_warm(self, warm: Sequence[ArmWindow]) -> bool:
        """True if the counts of these last windows agree; the pilot says nothing of them."""
        return counts.has_settled(_costs(warm[1:]), self.floor)

    def _falls(self, windows: Sequence[ArmWindow]) -> bool:
        warm, counted = ([one for one in windows if one.warm_up is which] for which in (True, False))
        return counts.is_falling(_costs(counted[-windows_of(self.requests_after(warm)) :]))

    def _is_over(self, warm: Sequence[ArmWindow]) -> bool:
        return self._passed_s(warm) >= self.load.warmup_max_s or self._is_warm(warm)

    def _passed_s(self, windows: Sequence[ArmWindow]) -> float:
        return sum(max(_busy_s(one), one.window_s / PATIENCE) for one in windows)


def windows_of(requests: float) -> int:
    """Return how many windows a number of counted requests is asked in."""
    return max(LEAST_WINDOWS, min(MOST_WINDOWS, int(requests / OF_WINDOW)))


def size_of(requests: int) -> int:
    """The requests of each of these windows."""
    return max(1, requests // windows_of(requests))


def size_near(requests: float) -> int:
    """The size of a window near this many requests: OF_WINDOW, doubled or halved.

    The first start has no number of requests but what its pace allows, and a pace is chance. Its windows are those of the others
    all the same, so that a runtime which compiles by what it has seen sees the same.
    """
    return max(1, round(OF_WINDOW * 2.0 ** round(math.log2(requests / OF_WINDOW))))


def _costs(windows: Sequence[ArmWindow]) -> list[float]:
    """The instructions of each window for an answer."""
    return [one.work.instructions / one.ok for one in windows if one.work is not None and one.ok]


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
    warm, settled = [one for one in windows if one.warm_up], schedule.has_settled(windows)
    asked = schedule.requests_after(warm)
    windows = [replace(one, warm_up=one.warm_up or place < len(windows) - windows_of(asked)) for place, one in enumerate(windows)]
    return CountedStart(
        arm.label,
        arm.workload.id,
        number,
        size_of(asked) * windows_of(asked) if asked else 0,
        tuple(CountedWindow(one.ok, replace(one.work, functions={}), one.warm_up) for one in windows if one.work is not None),
        settled,
        tuple(one for one in session.ended[arm.label].findings if one.severity is not Severity.NOTE),
        time.monotonic() - began,
        counts.functions([CountedWindow(one.ok, one.work) for one in windows if one.work is not None and not one.warm_up]),
        None if arm.locator is None else arm.locator.interpreter,
    )
