"""A run that goes on, as its folder tells: trials come, void ones are not done, a torn line waits for its end."""

from __future__ import annotations

import os
import time
from pathlib import Path

from builders.stored import new, trial
from fairground import records
from fairground.model import Verdict
from fairground.serve import watch
from fairground.serve.watch import SILENT_S, RunWatch


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
    """By the moment of its last trial; a folder without a plan is no run; silence for long, or a report, is an end."""
    assert watch.latest(tmp_path) is None
    first, second = new(tmp_path), new(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "entries.jsonl").touch()
    now = time.time() - 1
    os.utime(first / "entries.jsonl", (now, now))
    os.utime(second / "entries.jsonl", (now - 2 * SILENT_S, now - 2 * SILENT_S))
    assert watch.latest(tmp_path) == first
    assert RunWatch(first).goes_on and not RunWatch(second).goes_on
    (first / "report.html").touch()
    assert not RunWatch(first).goes_on


def test_a_record_of_any_kind_is_noticed(tmp_path: Path) -> None:
    """A run, or a comparison of another process: until it has its end or its page, or is silent for long. It may go on again."""
    assert not watch.measuring(tmp_path)
    run = new(tmp_path)
    assert watch.measuring(tmp_path)
    (run / "report.html").touch()
    assert not watch.measuring(tmp_path)
    later = time.time() + 1
    os.utime(run / "entries.jsonl", (later, later))
    assert watch.measuring(tmp_path) and RunWatch(run).goes_on, "it was resumed, and has the report of its first part"
    os.utime(run / "report.html", (later, later))
    assert not watch.measuring(tmp_path)
    (compared := tmp_path / "compared").mkdir()
    for name in ("head.json", "entries.jsonl"):
        (compared / name).touch()
    assert watch.measuring(tmp_path)
    before = time.time() - 2 * SILENT_S
    os.utime(compared / "entries.jsonl", (before, before))
    assert not watch.measuring(tmp_path)
    (compared / "entries.jsonl").touch()
    (compared / "end.json").touch()
    assert not watch.measuring(tmp_path)
