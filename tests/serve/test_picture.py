"""The picture of a run that goes on: drawn in the moment after a trial, seldom, and never of another run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from builders.stored import new, trial
from fairground import records
from fairground.report.run import live
from fairground.serve.picture import AFTER_S, SHARE, RunPicture
from fairground.serve.watch import RunWatch
from report import fixture


@dataclass
class Clocks:
    """The clocks of a test: a drawing takes `drawing_s` of CPU time."""

    now_s: float = 0.0
    unix_s: float = 0.0
    spent_s: float = 0.0
    drawing_s: float = 0.1

    def spent(self) -> float:
        """CPU time goes on between two questions for it."""
        self.spent_s += self.drawing_s
        return self.spent_s


@pytest.fixture
def clocks() -> Clocks:
    """Clocks that stand still."""
    return Clocks()


@pytest.fixture
def drawn(clocks: Clocks, monkeypatch: pytest.MonkeyPatch) -> RunPicture:
    """A picture of which the text is the count of trials."""
    monkeypatch.setattr(live, "so_far", lambda run: f"{run.id}: {len(run.trials)}")
    return RunPicture(lambda: clocks.now_s, lambda: clocks.unix_s, clocks.spent)


def follow(picture: RunPicture, watch: RunWatch, measures: bool = True) -> str:
    """What is shown after a look."""
    watch.state()
    picture.follow(watch, measures)
    return picture.text


def test_it_is_drawn_in_the_moment_after_a_trial(tmp_path: Path, clocks: Clocks, drawn: RunPicture) -> None:
    """Not in the middle of the next one, whoever opens a page then; where nothing is measured, at any time."""
    watch = RunWatch(new(tmp_path))
    records.append_trial(watch.folder, trial(1))
    clocks.unix_s = watch.written_s + AFTER_S + 1
    assert follow(drawn, watch) == "" and drawn.version == ""
    clocks.unix_s = watch.written_s + AFTER_S / 2
    drawn.follow(watch, measures=True, loads=True)
    assert drawn.text == ""
    assert follow(drawn, watch).endswith(": 1") and drawn.version.endswith(" 1")
    records.append_trial(watch.folder, trial(2))
    clocks.unix_s, clocks.now_s = watch.written_s + AFTER_S + 1, 1e6
    assert follow(drawn, watch).endswith(": 1")
    assert follow(drawn, watch, measures=False).endswith(": 2")


def test_what_takes_long_is_drawn_seldom(tmp_path: Path, clocks: Clocks, drawn: RunPicture) -> None:
    """A drawing rests for as long as keeps it within its share of a processor."""
    watch = RunWatch(new(tmp_path))
    records.append_trial(watch.folder, trial(1))
    clocks.unix_s = watch.written_s
    assert follow(drawn, watch).endswith(": 1")
    records.append_trial(watch.folder, trial(2))
    clocks.unix_s, clocks.now_s = watch.written_s, 0.99 * clocks.drawing_s / SHARE
    assert follow(drawn, watch).endswith(": 1")
    clocks.now_s = 1.01 * clocks.drawing_s / SHARE
    assert follow(drawn, watch).endswith(": 2")


def test_another_run_has_another_picture(tmp_path: Path, clocks: Clocks, drawn: RunPicture) -> None:
    """The last run's is not shown below the title of one that has just begun."""
    first, second = RunWatch(new(tmp_path)), RunWatch(new(tmp_path))
    records.append_trial(first.folder, trial(1))
    clocks.unix_s = first.written_s
    assert follow(drawn, first)
    clocks.unix_s = second.written_s + 100
    assert follow(drawn, second) == "" and drawn.version == ""


def test_it_has_the_page_s_own_grid_and_bars() -> None:
    """With intervals from two blocks on; nothing leads to a place that only the page has."""
    text = live.so_far(fixture.two_blocks())
    assert 'id="grid"' in text and 'class="fill"' in text and 'class="reach"' in text
    assert "#row-" not in text and "data-get" not in text
