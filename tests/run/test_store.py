"""Run folders: everything written is read again, whatever a crash left there, and old runs stay readable."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from builders.full import full
from builders.stored import FIXTURES, SCHEMA_FILE, START, new, slot, small_plan, trial
from fairground import model
from fairground.model import (
    Control,
    Ending,
    Finding,
    LabError,
    Limit,
    Plan,
    Qualification,
    Run,
    Severity,
    StackInfo,
    Trial,
    Verdict,
)
from fairground.run import records, store

# ---------------------------------------------------------------- round trip


def test_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Every field of every value comes back in its place."""
    plan = replace(full(Plan), title="Demo")
    folder = new(tmp_path, plan)
    trials = (trial(1), trial(2, Verdict.REJECTED))
    for one in trials:
        store.append(folder, one)
    limit = full(Limit, 4000)
    store.append_limit(folder, limit)
    assert store.load(folder) == Run(
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
    )


def test_controls_are_no_results(tmp_path: Path) -> None:
    """A trial that is a control is read apart from the results, is done like them, and stands among everything in its place."""
    folder = new(tmp_path, small_plan(3))
    control = replace(trial(2), control=Control.AGAIN)
    for one in (trial(3), control, trial(1)):
        store.append(folder, one)
    run = store.load(folder)
    assert (run.trials, run.controls) == ((trial(3), trial(1)), (control,))
    assert [one.number for one in run.everything] == [1, 2, 3]
    assert store.done_slots(run) == {1, 2, 3} and run.finished


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
        store.append(folder, replace(one, **told, findings=(suspected,), diagnosis=suspected.id))
    written = (folder / "trials.jsonl").read_text()
    assert [one.diagnosis for one in store.load(folder).trials] == ["serialised", "serialised"]
    assert (folder / "trials.jsonl").read_text() == written and written.count('"too-few-connections"') == 4


def test_a_run_that_ended_early_is_finished_and_says_why(tmp_path: Path) -> None:
    """With a reason to end after block 1 the rest of the plan is not missing; reopened, it is."""
    first = slot(1)
    folder = new(tmp_path, Plan("Demo", 7, 2, (first, replace(first, number=2, block=2)), {}, "command", budget_s=60.0))
    store.append(folder, trial(1))
    assert (store.load(folder).finished, store.load(folder).ending) == (False, None)
    store.end(folder, Ending(1, "the time is up"))
    assert store.load(folder).finished and store.load(folder).ending == Ending(1, "the time is up")
    store.reopen(folder)
    store.reopen(folder)
    assert not store.load(folder).finished


def test_a_qualification_is_read_as_it_was_written(tmp_path: Path) -> None:
    """What the engine found of known numbers is kept with the run, and a run without it has none."""
    folder = new(tmp_path)
    assert store.load(folder).qualification is None
    found: Qualification = full(Qualification)
    store.qualify(folder, found)
    assert store.load(folder).qualification == found


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
    store.append(folder, full(Trial))
    found = list(numbers(json.loads((folder / "trials.jsonl").read_text())))
    assert len(found) == len(set(found)) > 100


st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
st.register_type_strategy(Mapping, lambda kind: st.dictionaries(*map(st.from_type, get_args(kind)), max_size=3))


@pytest.mark.parametrize("name", store.SHAPES)
def test_any_value_survives_json(name: str) -> None:
    """Whatever a value holds, unknowns, empty tables and odd texts too, its JSON is read as the same value."""
    adapter: TypeAdapter[Any] = TypeAdapter(store.SHAPES[name])

    @settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.from_type(store.SHAPES[name]))
    def survives(value: Any) -> None:
        assert adapter.validate_python(json.loads(adapter.dump_json(value))) == value

    survives()


def test_number_that_is_not_finite_becomes_unknown(tmp_path: Path) -> None:
    """A share of nothing is written as null and read as unknown."""
    folder = new(tmp_path)
    host = replace(full(model.HostUse), steal_share=float("nan"), busy_share=float("inf"))
    store.append(folder, replace(trial(1), host=host))
    assert "NaN" not in (folder / "trials.jsonl").read_text()
    assert store.load(folder).trials[0].host == replace(host, steal_share=None, busy_share=None)


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
    run = store.load(new(tmp_path))
    assert (run.plan, run.trials, run.limits, run.finished) == (small_plan(), (), (), False)
    assert store.done_slots(run) == frozenset()


@pytest.mark.parametrize(("attempt", "ending"), [(1, ""), (2, "-retry"), (3, "-retry2")])
def test_raw_data_has_a_folder_of_its_own(attempt: int, ending: str, tmp_path: Path) -> None:
    """Each attempt has its folder, named by number, block, stack and workload."""
    folder = new(tmp_path)
    made = store.trial_folder(folder, slot(2), attempt)
    assert made == folder / "trials" / f"0002-b1-one-plain-db-ping{ending}"
    assert made.is_dir()


def test_remains_of_an_interrupted_trial_are_removed(tmp_path: Path) -> None:
    """A trial that is measured anew starts with an empty folder."""
    folder = new(tmp_path)
    (store.trial_folder(folder, slot(1), 1) / "half.txt").write_text("half")
    assert list(store.trial_folder(folder, slot(1), 1).iterdir()) == []


def test_summary_replaces_an_earlier_one(tmp_path: Path) -> None:
    """The summary is the caller's last text, and no partial file stays."""
    folder = new(tmp_path)
    store.write_summary(folder, "old,old,old\n")
    assert store.write_summary(folder, "stack,rate_per_s\n").read_text() == "stack,rate_per_s\n"
    assert not list(folder.glob("*.partial"))


def test_size_counts_all_files(tmp_path: Path) -> None:
    """A run's size is that of its files, those of its trials included."""
    folder = new(tmp_path)
    before = store.size(folder)
    assert before == sum(path.stat().st_size for path in folder.iterdir())
    (store.trial_folder(folder, slot(1), 1) / "raw").write_bytes(b"x" * 1234)
    assert store.size(folder) == before + 1234


# ---------------------------------------------------------------- crash and resume


def test_torn_line_is_no_trial_wherever_it_is_torn(tmp_path: Path) -> None:
    """A crash inside the last line loses that trial alone, and the next trial is written after the whole ones."""
    folder = new(tmp_path, small_plan(3))
    path = folder / "trials.jsonl"
    store.append(folder, trial(1))
    whole = path.read_bytes()
    store.append(folder, trial(2))
    both = path.read_bytes()
    for end in (*range(len(whole) + 1, len(both), 97), len(both) - 1):
        path.write_bytes(both[:end])
        assert [one.number for one in store.load(folder).trials] == [1]
        store.append(folder, trial(3))
        assert path.read_bytes().startswith(whole)
        assert store.load(folder).trials == (trial(1), trial(3))


def test_torn_first_line_leaves_no_trial(tmp_path: Path) -> None:
    """A crash in the first trial leaves a run without trials, and it goes on."""
    folder = new(tmp_path)
    (folder / "trials.jsonl").write_bytes(b'{"number":1,"blo')
    assert store.load(folder).trials == ()
    store.append(folder, trial(1))
    assert store.load(folder).trials == (trial(1),)


def test_finished_trials_are_never_rewritten(tmp_path: Path) -> None:
    """Adding a trial leaves every earlier byte as it was."""
    folder = new(tmp_path)
    store.append(folder, trial(1))
    before = (folder / "trials.jsonl").read_bytes()
    store.append(folder, trial(2))
    assert (folder / "trials.jsonl").read_bytes()[: len(before)] == before


def test_trial_is_on_the_disk_when_append_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole line is in the file when the disk is told to keep it."""
    folder = new(tmp_path)
    seen: list[bytes] = []
    monkeypatch.setattr(os, "fsync", lambda _: seen.append((folder / "trials.jsonl").read_bytes()))
    store.append(folder, trial(1))
    assert len(seen) == 1
    assert seen[0].endswith(b"}\n")


def test_value_of_a_wrong_type_is_refused_before_it_is_written(tmp_path: Path) -> None:
    """What could not be read again is an error of the program at once, and the run stays whole."""
    folder = new(tmp_path)
    store.append(folder, trial(1))
    before = (folder / "trials.jsonl").read_bytes()
    with pytest.raises(ValueError, match="duration_s"):
        store.append(folder, replace(trial(2), duration_s="soon"))  # type: ignore[arg-type]
    assert (folder / "trials.jsonl").read_bytes() == before


def test_void_trials_are_done_after_the_last_attempt(tmp_path: Path) -> None:
    """A slot is done once it has a verdict that counts, or was void as often as is allowed."""
    folder = new(tmp_path, small_plan(4))
    third = [trial(3, Verdict.VOID, attempt=attempt) for attempt in (1, 2, 3)]
    for one in (trial(1), trial(2, Verdict.VOID), *third):
        store.append(folder, one)
    assert store.done_slots(store.load(folder)) == {1, 3}
    for one in (trial(2, Verdict.WARNED, attempt=2), trial(4, Verdict.REJECTED)):
        assert not store.load(folder).finished
        store.append(folder, one)
    assert store.done_slots(store.load(folder)) == {1, 2, 3, 4}
    assert store.load(folder).finished


# ---------------------------------------------------------------- finding


def test_run_is_found(tmp_path: Path) -> None:
    """A run is found by path, by id, by the beginning of its id, and as the latest."""
    later = new(tmp_path, small_plan(title="a"), START + 1)
    first = new(tmp_path, small_plan(title="b"), START)
    old = new(tmp_path, small_plan(title="b"), START - 86_400)
    (tmp_path / "no-run").mkdir()
    assert store.find(tmp_path, str(old)) == old
    assert store.find(tmp_path, first.name) == first
    assert store.find(tmp_path, "2026-11-19") == old
    assert store.find(tmp_path, "latest") == later


def test_id_that_begins_another_is_found(tmp_path: Path) -> None:
    """A whole id is that run, although a second run of the minute begins with it."""
    first, _ = new(tmp_path), new(tmp_path)
    assert store.find(tmp_path, first.name) == first


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("2026-11-20", "`2026-11-20` fits 2 runs in `results`", "say which: 2026-11-20-1128-demo, 2026-11-20-1128-other"),
        (
            "2026-11-20-1128-dmo",
            "there is no run `2026-11-20-1128-dmo` in `results`",
            "there are 2026-11-20-1128-demo, 2026-11-20-1128-other; `latest` is the newest",
        ),
        ("", "there is no run `` in `results`", "there are 2026-11-20-1128-demo, 2026-11-20-1128-other; `latest` is the newest"),
    ],
)
def test_run_that_is_not_found(text: str, message: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unclear name is met with the runs that there are."""
    monkeypatch.chdir(tmp_path)
    for title in ("demo", "other"):
        new(Path("results"), small_plan(title=title))
    with pytest.raises(LabError) as raised:
        store.find(Path("results"), text)
    assert (raised.value.message, raised.value.hint) == (message, hint)


def test_no_runs_at_all(tmp_path: Path) -> None:
    """Before the first run the error says how to make one."""
    with pytest.raises(LabError, match="there is no run in") as raised:
        store.find(tmp_path / "results", "latest")
    assert raised.value.hint == "make one with `./fairground demo`"


# ---------------------------------------------------------------- damage and age


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("machine.json", "{", "`machine.json` of run `2026-11-20-1128-demo` cannot be read ("),
        ("machine.json", "{}", "`machine.json` of run `2026-11-20-1128-demo` is damaged at `hostname_hash`: "),
        ("trials.jsonl", "{}\n", "`trials.jsonl` of run `2026-11-20-1128-demo` is damaged at `number`: "),
        ("trials.jsonl", "}\n{}\n", "`trials.jsonl` of run `2026-11-20-1128-demo` is damaged in line 1"),
        ("plan.json", "{}", "`plan.json` of run `2026-11-20-1128-demo` does not say its schema"),
    ],
)
def test_damaged_run_is_refused(name: str, content: str, message: str, tmp_path: Path) -> None:
    """A file that was altered is named, never guessed at."""
    folder = new(tmp_path)
    (folder / name).write_text(content)
    with pytest.raises(LabError) as raised:
        store.load(folder)
    assert raised.value.message.startswith(message)


def test_folder_without_plan_is_no_run(tmp_path: Path) -> None:
    """Any other folder is refused in a sentence."""
    with pytest.raises(LabError, match="is not a run: it has no `plan.json`"):
        store.load(tmp_path)


def test_run_of_a_newer_lab_is_refused(tmp_path: Path) -> None:
    """A run that a newer lab wrote is not half understood."""
    folder = new(tmp_path)
    path = folder / "plan.json"
    path.write_text(path.read_text().replace('"schema": 1', '"schema": 999'))
    with pytest.raises(LabError) as raised:
        store.load(folder)
    assert raised.value.message == "run `2026-11-20-1128-demo` has schema 999, and this lab reads up to 1"


def test_older_run_is_brought_up_step_by_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of an old schema passes through every migration between it and now."""
    folder = new(tmp_path)

    def second(document: store.Document) -> store.Document:
        return document | {"workloads": document["workloads"] | {"two": {}}}

    def third(document: store.Document) -> store.Document:
        return document | {"workloads": document["workloads"] | {"three": document["workloads"]["two"]}}

    monkeypatch.setattr(store, "SCHEMA_VERSION", model.SCHEMA_VERSION + 2)
    monkeypatch.setattr(store, "MIGRATIONS", {model.SCHEMA_VERSION: second, model.SCHEMA_VERSION + 1: third})
    assert list(store.load(folder).workloads) == ["db-ping", "two", "three"]


def test_every_older_schema_has_a_migration() -> None:
    """No version since the first is left behind."""
    assert sorted(store.MIGRATIONS) == list(range(1, model.SCHEMA_VERSION))


def test_run_of_schema_1_is_still_read() -> None:
    """The run in the fixtures was written by schema 1 and loads with its values in place."""
    run = store.load(FIXTURES / "run-v1")
    first, second = run.trials
    assert (run.id, run.started_unix_s, run.plan.title, run.plan.seed) == ("run-v1", START, "Demo", 7)
    assert (
        run.plan.slots[1].cell.id
        == "one:plain db-ping text 1002 “ü”\n+text 1003 “ü”\n c1004-1011.5rps-1013threads-close-text 1012 “ü”\n"
    )
    assert (first.number, first.verdict, second.number, second.verdict) == (1, Verdict.VALID, 2, Verdict.REJECTED)
    assert first.result is not None
    assert first.result.window == model.Outcomes(1034, 1035, {1036: 1037, 1038: 1039}, *range(1040, 1047))
    assert run.limits[0].rate_per_s == 4002.5
    assert run.versions == {"lab": "1.2.3", "postgres": "18.1"}
    assert run.finished


# ---------------------------------------------------------------- the published schema


def test_published_schema_is_up_to_date() -> None:
    """`docs/result-schema.json` is what the code writes. `make golden` writes it anew."""
    text = json.dumps(records.json_schema(), indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("FAIRGROUND_GOLDEN") == "write":
        SCHEMA_FILE.write_text(text)
    assert SCHEMA_FILE.read_text() == text


def test_files_of_a_run_fulfil_the_published_schema(tmp_path: Path) -> None:
    """What a run folder holds is valid by the schema, and a wrong field is not."""
    folder = new(tmp_path)
    store.append(folder, trial(1))
    store.append_limit(folder, full(Limit))
    store.qualify(folder, full(Qualification))
    store.end(folder, full(Ending))
    document = {name: json.loads((folder / name).read_text()) for name in store.SHAPES}
    schema = json.loads(SCHEMA_FILE.read_text())
    jsonschema.Draft202012Validator(schema).validate(document)
    document["trials.jsonl"]["result"]["completed_ok"] = None
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate(document)
