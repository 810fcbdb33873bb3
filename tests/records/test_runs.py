"""A run as a record: its trials, limits and ending are read as they were written, and tell what is done."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.full import full
from builders.stored import START, new, slot, small_plan, trial
from fairground import model, records
from fairground.judge import thresholds
from fairground.model import (
    Control,
    Ending,
    Finding,
    Limit,
    Plan,
    Qualification,
    Run,
    Severity,
    StackInfo,
    Trial,
    Verdict,
)


def test_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Every field of every value comes back in its place."""
    plan = replace(full(Plan), title="Demo")
    folder = new(tmp_path, plan)
    trials = (trial(1), trial(2, Verdict.REJECTED))
    for one in trials:
        records.append_trial(folder, one)
    limit, found = full(Limit, 4000), full(Qualification, 5000)
    records.append_limit(folder, limit)
    records.write_qualification(folder, found)
    assert records.load_run(folder) == Run(
        schema=model.SCHEMA_VERSION,
        id="2026-11-20-1128-demo",
        folder=folder,
        started_unix_s=START,
        plan=plan,
        machine=full(model.Machine),
        versions={"lab": "1.2.3", "postgres": "18.1"},
        database_settings={"fsync": "off"},
        stacks={"one:plain": full(StackInfo, 3000)},
        workloads={"db-ping": {"title": "Database ping"}},
        trials=trials,
        limits=(limit,),
        finished=False,
        qualification=found,
    )
    assert records.read_head(folder).thresholds == thresholds.standard().values()


def test_controls_are_no_results(tmp_path: Path) -> None:
    """A trial that is a control is read apart from the results, is done like them, and stands among everything in its place."""
    folder = new(tmp_path, small_plan(3))
    control = replace(trial(2), control=Control.AGAIN)
    for one in (trial(3), control, trial(1)):
        records.append_trial(folder, one)
    run = records.load_run(folder)
    assert (run.trials, run.controls) == ((trial(3), trial(1)), (control,))
    assert [one.number for one in run.everything] == [1, 2, 3]
    assert records.done_of(run.everything) == {1, 2, 3} and run.finished


def test_trials_with_other_connections_tell_what_limited(tmp_path: Path) -> None:
    """A run that holds a cell with 8 and with 32 connections is read with the reason that both together give; the file stays."""
    folder = new(tmp_path, small_plan(2))
    suspected = Finding("too-few-connections", Severity.NOTE, "nothing was full")
    for number, connections in ((1, 8), (2, 32)):
        one = trial(number)
        assert one.result is not None
        load = replace(trial(1).cell.load, model="closed", connections=connections)
        result, cell = replace(one.result, window_s=5.0, completed_ok=4000), replace(trial(1).cell, load=load)
        told = {"cell": cell, "result": result, "verdict": Verdict.VALID, "control": None}
        records.append_trial(folder, replace(one, **told, findings=(suspected,), diagnosis=suspected.id))
    written = (folder / "entries.jsonl").read_text()
    assert [one.diagnosis for one in records.load_run(folder).trials] == ["serialised", "serialised"]
    assert (folder / "entries.jsonl").read_text() == written and written.count('"too-few-connections"') == 4


def test_a_run_that_ended_early_is_finished_and_says_why(tmp_path: Path) -> None:
    """With a reason to end after block 1 the rest of the plan is not missing; reopened, it is."""
    first = slot(1)
    folder = new(tmp_path, Plan("Demo", 7, 2, (first, replace(first, number=2, block=2)), {}, "command", budget_s=60.0))
    records.append_trial(folder, trial(1))
    assert (records.load_run(folder).finished, records.load_run(folder).ending) == (False, None)
    records.end_run(folder, Ending(1, "the time is up"))
    assert records.load_run(folder).finished and records.load_run(folder).ending == Ending(1, "the time is up")
    records.reopen_run(folder, None)
    assert records.load_run(folder).finished, "under its own budget there is nothing to go on with"
    records.reopen_run(folder, 120.0)
    records.reopen_run(folder, 120.0)
    assert not records.load_run(folder).finished


def numbers(value: Any) -> Iterator[float]:
    """All numbers in a JSON document."""
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from numbers(one)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def test_filled_trial_tells_crossed_fields(tmp_path: Path) -> None:
    """In the trial that the round trip uses no two numbers are the same."""
    folder = new(tmp_path)
    records.append_trial(folder, full(Trial))
    found = list(numbers(json.loads((folder / "entries.jsonl").read_text())))
    assert len(found) == len(set(found)) > 100


@pytest.mark.parametrize("text", ["\ud800", "a\udfff\udc80b", "\udcff"])
def test_half_of_a_pair_in_a_text_ends_no_run(text: str, tmp_path: Path) -> None:
    """A server's answer may hold what no file can: the trial is kept, with a mark in its place, and other numbers as ever."""
    folder = new(tmp_path)
    made = trial(1)
    odd = Finding("odd", Severity.WARN, f"it said {text}", {text: text, "share": math.inf})
    records.append_trial(folder, replace(made, findings=(odd,)))
    (kept,) = records.load_run(folder).trials
    assert kept.findings[0].sentence.startswith("it said ") and "\ufffd" in kept.findings[0].sentence
    assert kept.findings[0].evidence["share"] is None and kept.result == made.result


def test_number_that_is_not_finite_becomes_unknown(tmp_path: Path) -> None:
    """A share of nothing is written as null and read as unknown."""
    folder = new(tmp_path)
    host = replace(full(model.HostUse), steal_share=float("nan"), busy_share=float("inf"))
    records.append_trial(folder, replace(trial(1), host=host))
    assert "NaN" not in (folder / "entries.jsonl").read_text()
    assert records.load_run(folder).trials[0].host == replace(host, steal_share=None, busy_share=None)


# ---------------------------------------------------------------- folders


@pytest.mark.parametrize(
    ("title", "name"),
    [("Demo", "2026-11-20-1128-demo"), ("a  B/../c!", "2026-11-20-1128-a-b-c"), ("…", "2026-11-20-1128-run")],
)
def test_folder_is_named_by_start_and_title(title: str, name: str, tmp_path: Path) -> None:
    """A run's id is the minute of its start in UTC and its title in plain letters."""
    assert new(tmp_path / "results", small_plan(title=title)).name == name


def test_second_run_of_a_minute_gets_a_number(tmp_path: Path) -> None:
    """Runs of the same minute and title do not share a folder."""
    assert [new(tmp_path).name[16:] for _ in range(3)] == ["demo", "demo-2", "demo-3"]


def test_plan_stands_before_the_first_trial(tmp_path: Path) -> None:
    """A run without trials is whole: it loads, with nothing done."""
    run = records.load_run(new(tmp_path))
    assert (run.plan, run.trials, run.limits, run.finished) == (small_plan(), (), (), False)
    assert records.done_of(run.everything) == frozenset()


@pytest.mark.parametrize(("attempt", "ending"), [(1, ""), (2, "-retry"), (3, "-retry2")])
def test_raw_data_has_a_folder_of_its_own(attempt: int, ending: str, tmp_path: Path) -> None:
    """Each attempt has its folder, named by number, block, stack and workload."""
    folder = new(tmp_path)
    made = records.trial_folder(folder, slot(2), attempt)
    assert made == folder / "trials" / f"0002-b1-one-plain-db-ping{ending}"
    assert made.is_dir()


def test_remains_of_an_interrupted_trial_are_removed(tmp_path: Path) -> None:
    """A trial that is measured anew starts with an empty folder."""
    folder = new(tmp_path)
    (records.trial_folder(folder, slot(1), 1) / "half.txt").write_text("half")
    assert list(records.trial_folder(folder, slot(1), 1).iterdir()) == []


def test_size_counts_all_files(tmp_path: Path) -> None:
    """A run's size is that of its files, those of its trials included."""
    folder = new(tmp_path)
    before = records.size(folder)
    assert before == sum(path.stat().st_size for path in folder.iterdir())
    (records.trial_folder(folder, slot(1), 1) / "raw").write_bytes(b"x" * 1234)
    assert records.size(folder) == before + 1234


def test_void_trials_are_done_after_the_last_attempt(tmp_path: Path) -> None:
    """A slot is done once it has a verdict that counts, or was void as often as is allowed."""
    folder = new(tmp_path, small_plan(4))
    third = [trial(3, Verdict.VOID, attempt=attempt) for attempt in (1, 2, 3)]
    for one in (trial(1), trial(2, Verdict.VOID), *third):
        records.append_trial(folder, one)
    assert records.done_of(records.load_run(folder).everything) == {1, 3}
    for one in (trial(2, Verdict.WARNED, attempt=2), trial(4, Verdict.REJECTED)):
        assert not records.load_run(folder).finished
        records.append_trial(folder, one)
    assert records.done_of(records.load_run(folder).everything) == {1, 2, 3, 4}
    assert records.load_run(folder).finished
