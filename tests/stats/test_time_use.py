"""Where the time of a run went."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders.trials import trial
from fairground.model import Verdict
from fairground.model.window import WindowTally
from fairground.stats import time_use


def test_windows_of_sound_trials_are_measured_time() -> None:
    """A whole window of 5 s and 3 s in turns of 9 s count; a void trial is overhead from end to end."""
    sound = replace(
        trial("a", 1, 100.0), turns=(WindowTally(10, 0, 1.0, None), WindowTally(10, 0, 2.0, None)), phases_s={"start": 0.5}
    )
    void = replace(trial("b", 1, 100.0), verdict=Verdict.VOID, phases_s={"start": 0.25, "stop": 1.0})
    found = time_use.of([sound, void])
    assert (found.total_s, found.measured_s) == (18.0, 8.0)
    assert found.phases_s == {"start": 0.75, "stop": 1.0}
    assert found.overhead_share == pytest.approx(10 / 18)


def test_nothing_measured_has_no_share() -> None:
    """Without a trial there is no time to share out."""
    assert time_use.of([]).overhead_share is None
