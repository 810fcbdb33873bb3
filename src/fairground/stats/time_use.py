"""The use of a run's time: how much of it measured something, and what the rest was for. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairground.model import Trial, Verdict


@dataclass(frozen=True)
class TimeUse:
    """Seconds of all trials together. `measured_s`: windows, whole and in turns, of trials that have a number.

    `phases_s` are seconds by phase (reset, start, verify, warmup, window, drain, turns, stop, audit). What is in none of them, as
    when another arm is started, is missing there.
    """

    total_s: float
    measured_s: float
    phases_s: Mapping[str, float]

    @property
    def overhead_share(self) -> float | None:
        """The part of the time that gave no number: starts, verification, warm-ups, drains, audits, void trials."""
        return 1 - self.measured_s / self.total_s if self.total_s else None


def of(trials: Sequence[Trial]) -> TimeUse:
    """The time of some trials, void and rejected ones and controls among them."""
    phases: dict[str, float] = {}
    for trial in trials:
        for phase, seconds in trial.phases_s.items():
            phases[phase] = phases.get(phase, 0.0) + seconds
    sound = [trial for trial in trials if trial.result is not None and trial.verdict in (Verdict.VALID, Verdict.WARNED)]
    windows_s = [one.window_s for trial in sound for one in trial.turns]
    windows_s += [trial.result.window_s for trial in sound if trial.result is not None]
    return TimeUse(math.fsum(trial.duration_s for trial in trials), math.fsum(windows_s), phases)
