"""Records whose names steer a terminal or cannot be in a page: each is reported, and its neighbours are."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.hostile import is_clean
from builders.stored import new
from cli.command import stored
from fairground import records
from fairground.cli.report import telling_damage
from fairground.lab import lists, pages, site
from fairground.lab.events import SiteRecord
from fairground.lab.places import Places
from fairground.model import LabError, Run
from report import fixture

NAMES = {
    "escape": "\x1b]0;title\x07\x1b[2J",
    "control": "\x00\x01\x0c\x7f\x85",
    "no character": "\ufffe\uffff",
    "half a pair": "\ud800",
    "reversed": "\u202ename",
}


@functools.cache
def small() -> Run:
    """A run whose pages are soon written."""
    return fixture.big_run(stacks=2, workloads=2, blocks=1)


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A JSON value with texts in place of others wherever these stand, in keys, too."""
    if isinstance(value, dict):
        return {renamed(key, names): renamed(one, names) for key, one in value.items()}
    if isinstance(value, list):
        return [renamed(one, names) for one in value]
    if isinstance(value, str):
        for was, name in names.items():
            value = value.replace(was, name)
    return value


def kept(results: Path, names: Mapping[str, str]) -> Path:
    """A whole run of the results in which each name of the second kind stands wherever its first did."""
    run = small()
    folder = records.create_run(
        results, run.plan, started_unix_s=run.started_unix_s, machine=run.machine, versions=run.versions,
        database_settings=run.database_settings, stacks=run.stacks, workloads=run.workloads,
    )  # fmt: skip
    for one in run.trials:
        records.append_trial(folder, one)
    for file in folder.glob("*.json"):
        file.write_text(json.dumps(renamed(json.loads(file.read_text()), names)))
    lines = (folder / "entries.jsonl").read_text().splitlines()
    (folder / "entries.jsonl").write_text("".join(json.dumps(renamed(json.loads(line), names)) + "\n" for line in lines))
    return folder


def test_a_number_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    """A record from elsewhere may count below zero: it is named, and pages that were there stay."""
    run = fixture.run(2)
    first = run.trials[0]
    assert first.result is not None
    wrong = replace(first, result=replace(first.result, window=replace(first.result.window, timeout=-1)))
    folder = stored(replace(run, trials=(wrong, *run.trials[1:])), tmp_path)
    (folder / "report.html").write_text("as it was")
    said = f"the pages of `{folder.name}` cannot be made .ValueError: "
    with pytest.raises(LabError, match=said) as caught, telling_damage(folder):
        pages.report(folder)
    assert "restore the folder" in (caught.value.hint or "") and (folder / "report.html").read_text() == "as it was"
    with pytest.raises(RuntimeError), telling_damage(folder):
        raise RuntimeError("the end of a verb")


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_steers_ends_no_report(name: str, tmp_path: Path) -> None:
    """Of a stack, a workload and the machine: pages of the run and the site are written, clean, and the sound record is in them."""
    run = small()
    three = (run.trials[0].cell.stack, run.trials[0].cell.workload, run.machine.cpu_model)
    assert all(three)
    folder, sound = kept(tmp_path / "results", {one: one + NAMES[name] for one in three}), new(tmp_path / "results")
    written = pages.report(folder)
    assert is_clean(written.path.read_text()) and is_clean((folder / "summary.csv").read_text())
    told = [one for one in site.write(tmp_path / "results", tmp_path / "public") if isinstance(one, SiteRecord)]
    assert {one.id: one.damage for one in told} == {folder.name: "", sound.name: ""}
    for page in (tmp_path / "public").rglob("*.html"):
        assert is_clean(page.read_text()), page
    assert len(lists.rows("runs", Places(results=tmp_path / "results"))) == 2
