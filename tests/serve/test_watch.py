"""A run that goes on, as its folder tells: trials come, void ones are not done, a torn line waits for its end."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from builders.stored import new, small_plan, trial
from fairground import records
from fairground.model import LabError, Verdict
from fairground.serve import watch
from fairground.serve.watch import RunWatch


def test_trials_are_seen_as_they_are_stored(tmp_path: Path) -> None:
    """What is stored between two looks is seen by the second; a void trial is not done, and all of them are of the run."""
    folder = new(tmp_path)
    seen = RunWatch(folder)
    state = seen.state()
    assert (state["done"], state["slots"]) == (0, 2)
    records.append_trial(folder, trial(1))
    records.append_trial(folder, trial(2, Verdict.VOID))
    state = seen.state()
    assert state["done"] == 1
    records.append_trial(folder, trial(2, Verdict.VALID, attempt=2))
    assert seen.state()["done"] == 2 and seen.state()["left_s"] == 0
    assert seen.run() == records.load_run(folder)


def test_entries_are_not_read_through_a_link_out_of_the_results(tmp_path: Path) -> None:
    """Nothing of the other file is shown; a link to what the results hold is read."""
    folder, other = new(tmp_path / "results"), new(tmp_path / "other")
    entries = folder / records.ENTRIES
    entries.rename(folder / "held.jsonl")
    entries.symlink_to(folder / "held.jsonl")
    assert RunWatch(folder).state()["done"] == 0
    secret = other / "secret.jsonl"
    secret.write_text('{"password": "hunter2"}\n')
    entries.unlink()
    entries.symlink_to(secret)
    with pytest.raises(LabError, match="is a link out of the folder of results, and is not followed") as caught:
        RunWatch(folder).state()
    assert "hunter2" not in str(caught.value)


def test_no_more_is_left_than_budget_and_hosts_allow(tmp_path: Path) -> None:
    """A plan has the most blocks that a budget may hold: what is left of the budget is less. Hosts measure side by side."""
    folder = new(tmp_path, replace(small_plan(6), budget_s=100.0))
    seen = RunWatch(folder)
    records.append_trial(folder, replace(trial(1), duration_s=30.0, machine="a"))
    assert seen.state()["left_s"] == 70.0
    records.append_trial(folder, replace(trial(2), duration_s=30.0, machine="b"))
    assert seen.state()["left_s"] == 60.0


def test_a_budget_that_is_spent_says_nothing_of_what_is_left(tmp_path: Path) -> None:
    """Its last block took longer than foreseen, or a larger one goes on, which is not kept: nobody knows what is left."""
    folder = new(tmp_path, replace(small_plan(6), budget_s=50.0))
    seen = RunWatch(folder)
    records.append_trial(folder, replace(trial(1), duration_s=60.0))
    assert seen.state()["left_s"] is None


def test_a_torn_line_waits_for_its_end(tmp_path: Path) -> None:
    """Half a line is no trial; with its end it is one."""
    folder = new(tmp_path)
    records.append_trial(folder, trial(1))
    path = folder / "entries.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    seen = RunWatch(folder)
    assert seen.state()["done"] == 0
    path.write_bytes(whole)
    assert seen.state()["done"] == 1


def test_the_latest_run_is_the_one_written_last(tmp_path: Path) -> None:
    """By the moment of its last trial; a folder without a plan is no run."""
    assert watch.latest(tmp_path) is None
    first, second = new(tmp_path), new(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "entries.jsonl").touch()
    now = time.time() - 1
    os.utime(first / "entries.jsonl", (now, now))
    os.utime(second / "entries.jsonl", (now - 60, now - 60))
    assert watch.latest(tmp_path) == first


def test_a_record_goes_on_while_it_is_held(tmp_path: Path) -> None:
    """Whatever the times of its files are. One that was written a moment ago, and was interrupted or copied, does not."""
    run = new(tmp_path)
    records.append_trial(run, trial(1))
    assert watch.held_of(tmp_path) is None and not RunWatch(run).goes_on
    with records.hold_record(run):
        (run / "report.html").touch()
        os.utime(run / "entries.jsonl", (1, 1))
        assert watch.held_of(tmp_path) == run and RunWatch(run).goes_on
    assert watch.held_of(tmp_path) is None and not RunWatch(run).goes_on


def test_a_record_that_is_held_is_the_only_one_that_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a run that was begun in a terminal, `serve` looks twice a second: each further look opens one file."""
    made, looked, is_held = [new(tmp_path) for _ in range(5)], list[Path](), records.is_held

    def look(folder: Path) -> bool:
        looked.append(folder)
        return is_held(folder)

    monkeypatch.setattr(records, "is_held", look)
    with records.hold_record(made[3]):
        held = watch.held_of(tmp_path)
        looked.clear()
        assert watch.held_of(tmp_path, held) == made[3] and looked == [made[3]]
    assert watch.held_of(tmp_path, held) is None and set(looked) == set(made)
