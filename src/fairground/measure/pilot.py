"""The pilot of a window that its workload's events size: the warm-up, and what is counted of them until its end."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence

from fairground.judge import sizing
from fairground.model import Load
from fairground.model.sizing import Sizing, WorkloadEvent
from fairground.model.work import difference


class Pilot:
    """A pilot, begun with the load. `deadlocks` reads how many an arm's database has had so far; None where it has none."""

    def __init__(
        self, wanted: Mapping[WorkloadEvent, int], load: Load, most_s: float, deadlocks: Callable[[], int | None]
    ) -> None:
        self._wanted, self._load, self._most_s, self._deadlocks = wanted, load, most_s, deadlocks
        self._began_s, self._at = time.monotonic(), [deadlocks()]

    def sizing(self, answers: Sequence[int]) -> Sizing:
        """Return how long the window shall be, now that the warm-up is over. `answers`: the good ones of each of its seconds."""
        pilot_s = time.monotonic() - self._began_s
        self._at.append(self._deadlocks())
        good = statistics.fmean(answers) * pilot_s if answers else None
        return sizing.sizing(self._wanted, good, self._between(0, 1), pilot_s, self._load.window_s, self._most_s)

    def end(self) -> None:
        """End the window: what comes after it is not counted."""
        self._at.append(self._deadlocks())

    def count_events(self, of: Sizing, answers: int) -> Sizing:
        """The same with what the window held, `answers` good ones among it."""
        return sizing.count_events(of, answers, self._between(1, 2))

    def _between(self, first: int, last: int) -> int | None:
        """Deadlocks from one reading to another; None where one is missing."""
        return difference(self._at[first], self._at[last] if last < len(self._at) else None)
