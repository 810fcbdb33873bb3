"""A run as a use case: its events in order, what is on the disk between them, and what is left of it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from builders import quiet
from builders.stored import new, small_plan, trial
from builders.testbed import start_nothing
from fairground import records
from fairground.host import Keeper, machine
from fairground.inputs import manifest
from fairground.inputs.roots import ROOT
from fairground.judge import validity
from fairground.lab import pages
from fairground.lab.events import Absent, Began, Building, Built, Event, Planned, Reported, Said, TrialDone, Within
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.lab.run import _measure, dry_run, end, resumable, resume_run, run_suite
from fairground.model import (
    CellSettings,
    Ending,
    Fault,
    FaultKind,
    LabError,
    Load,
    Progress,
    StorageError,
    Suite,
    SuiteGroup,
    Verdict,
)
from fairground.postgres import packages
from fairground.run import plan, retry
from report import fixture

LOAD = Load(connections=8, window_s=1.0, warmup_min_s=1.0, warmup_max_s=1.0)
GROUP = SuiteGroup(("healthy:asyncio",), ("ping",), (LOAD,), CellSettings(workers=1, pool_size=4, scale=1))
SUITE = Suite("one", "one", "", 1, 1, (GROUP,))
ZOO = ROOT / "tests" / "zoo"


def test_the_time_that_is_told_is_that_of_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of two blocks of which one is done: the plan's time is that of the other."""
    whole = fixture.two_blocks()
    half = replace(whole, trials=tuple(one for one in whole.trials if one.block == 1), controls=())
    monkeypatch.setattr(records, "load_run", lambda _: half)
    told = next(_measure(whole.plan, Path("run"), (), (), cast(Any, SimpleNamespace(bench=None))))
    done = records.done_of(half.everything)
    assert isinstance(told, Planned) and 0 < len(done) < len(whole.plan.slots)
    assert told.left_s == pytest.approx(plan.estimate_s(slot for slot in whole.plan.slots if slot.number not in done))


def test_a_run_that_is_refused_keeps_its_end(tmp_path: Path) -> None:
    """A larger budget opens it again once it is measured into, and not before: what is refused stays finished."""
    folder = new(tmp_path, replace(small_plan(2), budget_s=60.0))
    records.append_trial(folder, replace(trial(1), block=1))
    records.end_run(folder, Ending(0, "the time is up"))
    (tmp_path / "none").mkdir()
    with pytest.raises(LabError, match="has stacks that"):
        list(resume_run(folder, Inputs(Places(servers=tmp_path / "none", results=tmp_path)), 120.0))
    found = records.load_run(folder)
    assert found.finished and found.ending == Ending(0, "the time is up")


def test_what_goes_on_has_the_budget_that_was_given(tmp_path: Path) -> None:
    """It is not kept, and without it the run would end after the block that was begun."""
    with pytest.raises(StorageError) as refused, resumable(new(tmp_path), Inputs(Places()), 7200.0):
        raise OSError(errno.ENOSPC, "full")
    assert str(refused.value.hint).endswith("-demo --budget 7200s")


GIVEN = "./fairground run -s one --database @db.txt"


@pytest.mark.parametrize(
    ("command", "url", "message", "hint"),
    [
        (GIVEN, None, "was begun with `--database`", "name it again: --database @db.txt"),
        ("./fairground run -s one", "postgresql://127.0.0.1/x", "was begun without `--database`", "leave it out, or begin anew"),
    ],
)
def test_a_run_goes_on_on_its_own_database(command: str, url: str | None, message: str, hint: str, tmp_path: Path) -> None:
    """Else half of its trials were of one server, and half of another: it is refused before anything is built or started."""
    folder = new(tmp_path, replace(small_plan(2), command=command))
    stack = SimpleNamespace(id="one:plain")
    inputs = Inputs(Places(results=tmp_path), command, database_url=url)
    with pytest.MonkeyPatch.context() as patched, pytest.raises(LabError, match=message) as refused:
        patched.setattr(manifest, "stacks_of", lambda *_: [stack])
        list(resume_run(folder, inputs))
    assert refused.value.hint == hint and [path.name for path in tmp_path.iterdir()] == [folder.name]


def test_experiments_are_of_the_runs_own_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a run that has ended, too: nothing is tried on the lab's own server, and the pages are written."""
    folder, written = new(tmp_path, replace(small_plan(2), command=GIVEN)), list[Path]()
    monkeypatch.setattr(pages, "report", written.append)
    with pytest.raises(LabError, match="was begun with `--database`"):
        list(end(folder, Inputs(Places(results=tmp_path), why_s=180.0)))
    assert written == [folder]


def test_what_goes_on_names_the_database_again(tmp_path: Path) -> None:
    """As it was typed, so that a URL in a file stays there."""
    with pytest.raises(StorageError) as refused, resumable(new(tmp_path), Inputs(Places(), GIVEN)):
        raise OSError(errno.ENOSPC, "full")
    assert str(refused.value.hint).endswith("-demo --database @db.txt")


@pytest.fixture
def inputs(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Inputs:
    """A lab of the zoo's servers, with results of its own, to which the machine is quiet, and which repeats void trials at once."""
    monkeypatch.setattr(validity, "findings", quiet.without_the_machine(validity.findings))
    monkeypatch.setattr(retry, "PAUSES_S", (0, 0))
    environ = {**os.environ, "FAIRGROUND_CACHE": str(cache)}
    return Inputs(Places.of(environ, ZOO, tmp_path), "./fairground run one")


def kinds(events: list[Event | Within]) -> list[type]:
    """The kinds of events, each once where several of a kind follow each other."""
    found = [type(event) for event in events]
    return [kind for place, kind in enumerate(found) if place == 0 or found[place - 1] is not kind]


def test_a_dry_run_plans_and_starts_nothing(inputs: Inputs, tmp_path: Path) -> None:
    """A dry run gives the plan; what cannot be measured is an error before anything is built."""
    assert [slot.cell.stack for slot in dry_run(SUITE, inputs).slots] == ["healthy:asyncio"]
    assert list(tmp_path.iterdir()) == []
    both = replace(SUITE, groups=(GROUP, replace(GROUP, settings=replace(GROUP.settings, scale=2))))
    with pytest.raises(LabError, match="the plan has several values of `scale`: 1, 2"):
        dry_run(both, inputs)
    own, other = (replace(GROUP, settings=replace(GROUP.settings, postgres_version=version)) for version in (18, 16))
    assert dry_run(replace(SUITE, groups=(own,)), inputs).slots == dry_run(SUITE, inputs).slots
    with pytest.raises(LabError, match="^a given database is of one version, and several are asked for"):
        dry_run(replace(SUITE, groups=(own, other)), replace(inputs, database_url="postgresql://127.0.0.1/x"))


@pytest.mark.parametrize(
    ("kind", "url", "message"),
    [
        (FaultKind.POOLER_RESTART, None, "`pooler-restart@3s` needs a pooler in the path, and `healthy:asyncio ping direct"),
        (FaultKind.DATABASE_RESTART, "postgresql://127.0.0.1/x", "`database-restart@3s` needs the lab's own database"),
        (FaultKind.DATABASE_CRASH, "postgresql://127.0.0.1/x", "`database-crash@3s` needs the lab's own database"),
        (FaultKind.STALL, "postgresql://127.0.0.1/x", "needs the lab's own database"),
    ],
)
def test_a_fault_of_what_is_not_there_is_refused(inputs: Inputs, kind: FaultKind, url: str | None, message: str) -> None:
    """A pooler that no path has, and a database that is not the lab's to stop, are errors before anything is built."""
    fault = Fault(kind, 3.0, 500.0 if kind is FaultKind.STALL else None)
    broken = replace(GROUP, loads=(replace(LOAD, window_s=6.0, fault=fault),))
    with pytest.raises(LabError, match=message):
        dry_run(replace(SUITE, groups=(broken,)), replace(inputs, database_url=url))


def test_a_contract_that_changed_is_another_one(inputs: Inputs, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that was begun with another copy of its contract does not go on, and says so in a sentence. Nothing is measured."""
    start_nothing(monkeypatch)
    folder = records.create_run(
        inputs.places.results, dry_run(SUITE, inputs), started_unix_s=0.0, machine=machine.fingerprint(False),
        versions={"fairground": "1", "PostgreSQL": "18.1", "contract seeds": "another"},
        database_settings={}, stacks={}, workloads={},
    )  # fmt: skip
    with pytest.raises(LabError, match="was begun with other versions: contract seeds was `another` and is `[0-9a-f]{16}`$"):
        list(resume_run(folder, inputs))


@pytest.mark.live
def test_what_is_left_is_resumed(inputs: Inputs) -> None:
    """A run that is closed after its first trial keeps it, and going on measures only what is left.

    Both tell what they do: built, planned, begun, each trial once it is on the disk, and the report at the end.
    """
    begun: list[Event | Within] = []
    with closing(run_suite(replace(SUITE, blocks=2), inputs, begun.append)) as events:
        hear(events, begun, only_first=True)
    folder = event_folder(begun)
    before = records.load_run(folder)
    rest: list[Event | Within] = []
    hear(resume_run(folder, inputs, sink=rest.append), rest)
    kept = before.everything
    assert kept and records.load_run(folder).everything[: len(kept)] == kept
    done = records.done_of(before.everything)
    assert {event.trial.number for event in rest if isinstance(event, TrialDone)} == {1, 2} - done
    for heard, last in ((begun, TrialDone), (rest, Reported)):
        told = [kind for kind in kinds(heard) if kind not in (Said, Building)]
        assert told[:3] == [Built, Planned, Began]
        assert set(told[3:]) == {Progress, TrialDone, last} and told[-1] is last
    end = rest[-1]
    assert isinstance(end, Reported) and end.path.exists() and end.run.finished


@pytest.mark.live
@pytest.mark.nightly
def test_a_run_measures_two_versions(inputs: Inputs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each cell on the server of its version, with limits of its own; a version that cannot be had is told and left out."""
    if (missing := packages.lacking(16, os.environ.get("PATH"))) is not None:
        pytest.skip(missing[0])
    at_hand, programs = packages.at_hand, packages.programs

    def brought(version: int, cache: Path, keeper: Keeper) -> Path:
        if version == 17:
            raise LabError("there is no network", None, 3)
        return programs(version, cache, keeper)

    monkeypatch.setattr(packages, "at_hand", lambda version, cache: None if version == 17 else at_hand(version, cache))
    monkeypatch.setattr(packages, "programs", brought)
    group = replace(GROUP, workloads=("db-ping",))
    groups = [replace(group, settings=replace(group.settings, postgres_version=version)) for version in (18, 17, 16)]
    told = list[Within]()
    *_, end = run_suite(replace(SUITE, groups=tuple(groups)), inputs, told.append)
    assert Absent("PostgreSQL 17", "there is no network") in told
    assert isinstance(end, Reported) and end.run.finished and end.run.plan.skipped == {"PostgreSQL 17": "there is no network"}
    assert {trial.cell.id.partition(" c8")[2] for trial in end.run.trials} == {"", " pg16"}
    assert all(trial.result is not None and trial.verdict is not Verdict.REJECTED for trial in end.run.trials)
    assert {name: text.split(".")[0] for name, text in end.run.versions.items() if name.startswith("PostgreSQL")} == {
        "PostgreSQL": "18", "PostgreSQL 16": "16",
    }  # fmt: skip
    assert {limit.postgres_version for limit in end.run.limits} == {None, 16}
    assert "PostgreSQL 16" in end.path.read_text()


def hear(events: Iterable[Event], heard: list[Event | Within], only_first: bool = False) -> None:
    """Add the events to what is heard, or those up to the first finished trial. Each trial that is told is on the disk."""
    for event in events:
        heard.append(event)
        if isinstance(event, TrialDone):
            assert records.load_run(event_folder(heard)).everything[-1] == event.trial
            if only_first and event.trial.verdict is not Verdict.VOID:
                break


def event_folder(events: list[Any]) -> Path:
    """The folder of the run that these events tell of."""
    (planned,) = [event for event in events if isinstance(event, Planned)]
    return planned.folder
