"""All published benchmarks in one go: their order, a run of each, what goes on after an interruption, and the time that is left."""

from __future__ import annotations

import itertools
import os
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli.command import stored
from fairground import records
from fairground.lab import replicate
from fairground.lab.events import Absent, Event, Planned, Replicated, Replicating, Reported, Sink
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.lab.replicate import ALL, ReplicationAsked, _draw, replicate_all, replicate_suites
from fairground.model import LabError, Suite
from report.fixture import one_block
from report.subjects import replicated

FIVE = ["apostol", "lookup", "pgbench-tx", "transfer", "users"]
ABSENT = "lookup"


@pytest.fixture
def asked(tmp_path: Path) -> ReplicationAsked:
    """All suites of the lab."""
    return ReplicationAsked(ALL, markdown=tmp_path / "told.md")


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Inputs:
    """Runs are made up: one cannot be measured here."""

    def measured(chosen: Suite, carried: Inputs, _sink: Sink) -> Generator[Event]:
        if chosen.id == ABSENT:
            raise LabError("nothing is left to measure", "install something", exit_code=3)
        made = one_block()
        folder = stored(replace(made, plan=replace(made.plan, title=chosen.title, command=carried.command)), tmp_path)
        yield Planned(made.plan, folder, 1.0)
        yield Reported(folder / "report.html", records.load_run(folder))

    def resumed(folder: Path, _carried: Inputs, **_: Any) -> Generator[Event]:
        yield Reported(folder / "report.html", records.load_run(folder))

    monkeypatch.setattr("fairground.lab.run.run_suite", measured)
    monkeypatch.setattr("fairground.lab.run.resume_run", resumed)
    return Inputs(Places.of(os.environ, results=tmp_path))


def told(inputs: Inputs, asked: ReplicationAsked) -> tuple[list[Replicating], list[str], list[str]]:
    """What begins, the suites that have verdicts, and what is not here."""
    events = list(replicate_all(inputs, asked))
    begun = [one for one in events if isinstance(one, Replicating)]
    done = [one.found.suite.id for one in events if isinstance(one, Replicated)]
    return begun, done, [one.what for one in events if isinstance(one, Absent)]


def test_all_have_a_run_of_their_own(inputs: Inputs, asked: ReplicationAsked) -> None:
    """One after the other, each under its own command and with its own part of the file; what cannot run is told of, and left out."""
    begun, done, absent = told(inputs, asked)
    assert [(one.suite, one.place, one.suites) for one in begun] == [(name, at, 5) for at, name in enumerate(FIVE, 1)]
    assert done == [name for name in FIVE if name != ABSENT] and absent == [f"suite {ABSENT}"]
    assert all(one.later_s > after.later_s for one, after in itertools.pairwise(begun)) and begun[-1].later_s == 0
    assert asked.markdown is not None and [f"<!-- {name} -->" in asked.markdown.read_text() for name in done] == [True] * 4
    commands = {records.load_run(one).plan.command for one in inputs.places.results.iterdir() if one.is_dir()}
    assert commands == {f"./fairground replicate {name} --profile quick" for name in done}


def test_an_interrupted_one_goes_on_and_so_do_those_after_it(inputs: Inputs, asked: ReplicationAsked) -> None:
    """The run that is named is gone on with; suites before it are done, and those after it get runs."""
    list(replicate_suites(inputs, replace(asked, suite="transfer")))
    begun, done, _ = told(inputs, replace(asked, resume="latest"))
    assert [(one.suite, one.place) for one in begun] == [("transfer", 4), ("users", 5)] and done == ["transfer", "users"]
    assert len([one for one in inputs.places.results.iterdir() if one.is_dir()]) == 2


def test_a_run_names_the_database_that_was_given(inputs: Inputs, asked: ReplicationAsked) -> None:
    """Its command is the replication's own, and without the option it could not be gone on with."""
    given = replace(inputs, command="./fairground replicate transfer --database @db")
    list(replicate_suites(given, replace(asked, suite="transfer")))
    (folder,) = (one for one in inputs.places.results.iterdir() if one.is_dir())
    assert records.load_run(folder).plan.command == "./fairground replicate transfer --profile quick --database @db"


def test_a_run_of_no_suite_is_refused(inputs: Inputs, asked: ReplicationAsked) -> None:
    """A run of something else is none to go on with, and one run is not judged by five suites."""
    stored(one_block(), inputs.places.results)
    with pytest.raises(LabError, match="is of none of the suites apostol, lookup"):
        list(replicate_all(inputs, replace(asked, resume="latest")))
    with pytest.raises(LabError, match="`--run` judges the run of one suite, and `all` names several"):
        list(replicate_all(inputs, replace(asked, of_runs=("latest",))))


def test_blocks_that_are_said_are_those_of_all_cells(tmp_path: Path) -> None:
    """Groups that have more blocks than their suite have those that are asked for."""
    inputs = Inputs(Places.of(os.environ, results=tmp_path))
    usual, once = (replicate.suite(inputs, ReplicationAsked("users", blocks=blocks)) for blocks in (None, 1))
    assert any(group.blocks for group in usual.groups) and not any(group.blocks for group in once.groups)
    assert once.blocks == 1


def test_the_claims_plot_stands_beside_the_markdown(tmp_path: Path) -> None:
    """It is a picture of its own there, since Markdown holds none."""
    _draw(replicated(), tmp_path / "pictures")
    drawn = (tmp_path / "pictures" / "claims-fable.svg").read_text()
    assert drawn.startswith('<svg xmlns="http://www.w3.org/2000/svg"') and "aspen-first" in drawn


def test_what_fails_otherwise_ends_it(inputs: Inputs, asked: ReplicationAsked, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that is no absence, or comes after a run began, is the caller's."""

    def breaks(_chosen: Suite, _carried: Inputs, _sink: Sink) -> Generator[Event]:
        yield Planned(one_block().plan, inputs.places.results, 1.0)
        raise LabError("the disk is full", exit_code=3)

    monkeypatch.setattr("fairground.lab.run.run_suite", breaks)
    with pytest.raises(LabError, match="the disk is full"):
        list(replicate_all(inputs, asked))
