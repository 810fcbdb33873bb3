"""What events did to the windows of a run, and the sentences that say so."""

from __future__ import annotations

from dataclasses import replace

from builders.trials import trial
from fairground.model import EventCount, Sizing, Trial, WorkloadEvent
from fairground.model.window import WindowTally
from fairground.report.text import windows
from fairground.stats import window_sizes

DEADLOCKS = WorkloadEvent.DEADLOCKS


def sized(block: int, window_s: float, held: float | None, turns_s: float = 0.0) -> Trial:
    """A trial whose window of 4 s became another."""
    turns = (WindowTally(10, 0, turns_s, None),) if turns_s else ()
    size = Sizing(4.0, 16.0, 2.0, window_s, {DEADLOCKS: EventCount(50, 3, held)})
    return replace(trial("a:plain", block, 100.0), turns=turns, sizing=size)


def test_a_run_adds_up_what_its_events_cost() -> None:
    """Whole windows and those in turns; what might be no longer is counted apart from what was unlucky."""
    (found,) = window_sizes.of([sized(1, 16.0, 31), sized(2, 10.0, 49, turns_s=16.0), sized(3, 16.0, 12), trial("b:c", 1, 5.0)])
    assert (found.workload, found.windows, found.capped, found.added_s) == ("tx", 3, 2, 12 + 6 + 12 + 12)
    assert windows.cost(found) == "Windows of tx lasted 10 to 16 s, to hold 50 deadlocks each: 42.0 s more."
    assert windows.shortage(found) == "2 of 3 windows of tx held fewer within 16 s: 12 to 31 deadlocks."


def test_windows_that_hold_enough_lack_nothing() -> None:
    """Nothing is said of a ceiling that nobody met, nor of what did not become longer."""
    (found,) = window_sizes.of([sized(1, 4.0, 70)])
    assert windows.cost(found) == "Windows of tx lasted 4 s, to hold 50 deadlocks each: no longer than asked for."
    assert windows.shortage(found) is None


def test_what_nobody_could_count_is_not_called_none() -> None:
    """A ceiling that was met without a count says so; a run without events says nothing."""
    (found,) = window_sizes.of([sized(1, 16.0, None)])
    assert windows.shortage(found) == "1 of 1 window of tx held fewer within 16 s, as far as anybody could count."
    assert window_sizes.of([trial("a:plain", 1, 100.0)]) == ()
