"""The site of a folder of results: every record is in it, what is gone leaves it, and nobody's own folder is touched."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from builders.full import full
from builders.paths import ROOT
from builders.stored import START, new
from cli.command import stored
from fairground import model, records
from fairground.lab import lists, pages, site
from fairground.lab.events import SiteRecord, SiteWritten
from fairground.lab.places import Places
from fairground.model import LabError, Machine, Run, StackInfo
from fairground.model.record import Head, Listed, RecordKind
from fairground.report.site import history
from report import fixture


def _check(results: Path) -> str:
    """A record of a check, which has no page; its id."""
    info = {"one:plain": full(StackInfo, 300)}
    asked = full(records.SHAPES[RecordKind.CHECK].asked, 100)
    head = Head(
        model.SCHEMA_VERSION, RecordKind.CHECK, "", "command", START, full(Machine, 200), {"fairground": "1"}, {}, info, asked
    )
    return records.create(results, "check", head).id


def test_every_record_is_in_the_site(tmp_path: Path) -> None:
    """Runs with their pages, checks as lines; the folder is made with those above it."""
    run, check = new(tmp_path / "results").name, _check(tmp_path / "results")
    target = tmp_path / "public" / "deep"
    events = list(site.write(tmp_path / "results", target))
    assert [one.id for one in events if isinstance(one, SiteRecord)] == sorted([run, check])
    assert events[-1] == SiteWritten(target / "index.html", 2)
    overview = (target / "index.html").read_text()
    assert f'href="{run}/report.html"' in overview and check in overview
    page = (target / run / "report.html").read_text()
    assert 'href="../index.html"' in page
    assert (target / "cells.html").exists()


def test_a_record_that_is_gone_leaves_the_site(tmp_path: Path) -> None:
    """A site written again holds what the results hold now; what somebody else put beside it stays."""
    folder = new(tmp_path / "results")
    list(site.write(tmp_path / "results", tmp_path / "public"))
    (tmp_path / "public" / ".git").mkdir()
    (tmp_path / "public" / ".git" / "HEAD").write_text("somebody's own")
    folder.rename(tmp_path / "elsewhere")
    list(site.write(tmp_path / "results", tmp_path / "public"))
    assert not (tmp_path / "public" / folder.name).exists()
    assert "No record yet" in (tmp_path / "public" / "index.html").read_text()
    assert (tmp_path / "public" / ".git" / "HEAD").read_text() == "somebody's own"


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    """A folder with other files, or a file, is named in the error and keeps what it has."""
    own = tmp_path / "own"
    own.mkdir()
    (own / "letter.txt").write_text("keep me")
    for target, words in ((own, "holds something else"), (own / "letter.txt", "is a file")):
        with pytest.raises(LabError, match=words):
            list(site.write(tmp_path, target))
    assert [path.name for path in own.iterdir()] == ["letter.txt"]


def test_the_records_own_folder_is_left_as_it_was(tmp_path: Path) -> None:
    """The site is a copy: nothing is added to the results."""
    folder = new(tmp_path / "results")
    before = sorted(path.name for path in folder.rglob("*"))
    list(site.write(tmp_path / "results", tmp_path / "public"))
    assert sorted(path.name for path in folder.rglob("*")) == before


def test_pages_are_written_anew_only_where_something_changed(tmp_path: Path) -> None:
    """The second time nothing is told; a record with one more entry is, and so is a page that somebody removed."""
    run, target = new(tmp_path / "results").name, tmp_path / "public"
    check = records.load(tmp_path / "results" / _check(tmp_path / "results"))

    def told() -> list[str]:
        return [one.id for one in site.write(tmp_path / "results", target) if isinstance(one, SiteRecord)]

    assert len(told()) == 2
    assert told() == []
    records.append(check, full(records.SHAPES[RecordKind.CHECK].entry, 1000))
    assert told() == [check.id]
    (target / run / "report.html").unlink()
    assert told() == [run]
    assert (target / "index.html").read_text().count('<tr id="') == 2


def damage(folder: Path, how: str) -> None:
    """Spoil a record as a crash, an editor or a stranger would."""
    match how:
        case "half a head":
            (folder / "head.json").write_bytes((folder / "head.json").read_bytes()[:200])
        case "a kind that is none":
            (folder / "head.json").write_text('{"schema": 1, "kind": ["run"]}')
        case "a start that no clock has":
            text = (folder / "head.json").read_text()
            (folder / "head.json").write_text(text.replace('"started_unix_s": 1795174081.25', '"started_unix_s": 1e300'))
        case "a file less":
            (folder / "database.json").unlink()
        case "a line that is none":
            (folder / "entries.jsonl").write_text("[" * 100_000 + "\n")
        case "no head":
            (folder / "entries.jsonl").write_text("{}\n")
            (folder / "head.json").unlink()
        case "another's file":
            (folder.parent.parent / "secret.jsonl").write_text("{}\n")
            (folder / "entries.jsonl").unlink()
            (folder / "entries.jsonl").symlink_to(folder.parent.parent / "secret.jsonl")
        case "another's folder":
            folder.rename(folder.parent.parent / "elsewhere")
            folder.symlink_to(folder.parent.parent / "elsewhere")


@pytest.mark.parametrize(
    "how",
    ["half a head", "a kind that is none", "a start that no clock has", "a file less", "a line that is none", "no head", "another's file",
     "another's folder"],
)  # fmt: skip
def test_a_damaged_record_hides_no_other(how: str, tmp_path: Path) -> None:
    """It has a line that names it and says what is wrong, in the list and in the site; a sound one is found and shown."""
    results = tmp_path / "results"
    sound, other = new(results), new(results)
    damage(other, how)
    listed = {one.id: one for one in records.list_all(results)}
    damaged = listed[other.name]
    assert isinstance(damaged, records.Damaged) and other.name in damaged.why
    assert isinstance(listed[sound.name], Listed) and len(listed) == 2
    rows = {row["id"]: row for row in lists.rows("runs", Places(results=results))}
    assert rows[other.name]["damage"] == damaged.why and rows[sound.name]["damage"] is None
    assert rows[other.name].keys() == rows[sound.name].keys()
    assert records.find(results, sound.name) == sound and pages.report(sound).path.exists()
    events = list(site.write(results, tmp_path / "public"))
    told = {one.id: one.damage for one in events if isinstance(one, SiteRecord)}
    assert told[other.name] and not told[sound.name]
    overview = (tmp_path / "public" / "index.html").read_text()
    assert f'href="{sound.name}/report.html"' in overview and f'id="{other.name}"' in overview


def test_a_run_without_a_history_takes_it_from_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is wrong with one that is somebody else's, the cells of the others are drawn over time, and it is said."""
    names = [stored(fixture.run(), tmp_path / "results").name for _ in range(3)]
    drawn, made = list[list[str]](), history.histories

    def histories(runs: Sequence[Run]) -> Sequence[Any]:
        if names[0] in [run.id for run in runs]:
            raise ZeroDivisionError
        drawn.append([run.id for run in runs])
        return made(runs)

    monkeypatch.setattr(history, "histories", histories)
    told = [one for one in site.write(tmp_path / "results", tmp_path / "public") if isinstance(one, SiteRecord)]
    assert sorted(drawn[-1]) == sorted(names[1:])
    assert {one.id: one.damage for one in told if one.damage} == {names[0]: "its history cannot be made (ZeroDivisionError: )"}


def test_a_damaged_record_that_is_asked_for_is_told(tmp_path: Path) -> None:
    """By its id; `latest` means one that can be read."""
    sound, other = new(tmp_path), new(tmp_path, started=START + 3600)
    damage(other, "half a head")
    with pytest.raises(LabError, match="cannot be read"):
        records.find(tmp_path, other.name)
    assert records.find(tmp_path, "latest") == sound


def test_pages_of_a_replication_are_made_of_the_record(tmp_path: Path) -> None:
    """A page that stands in a record is published in the lab's words, or not at all: neither its HTML nor what a link leads to."""
    suites = tmp_path / "suites"
    suites.mkdir()
    shutil.copy(ROOT / "suites" / "transfer.toml", suites)
    folder = new(tmp_path / "results")
    hostile = "<meta http-equiv=refresh content='0;url=https://example.org'>leaked"
    (tmp_path / "secret.txt").write_text(hostile)
    for name in ("transfer", "leak", "x"):
        (folder / f"replicate-{name}.html").write_text(hostile)
    (folder / "replicate-linked.html").symlink_to(tmp_path / "secret.txt")
    list(site.write(tmp_path / "results", tmp_path / "public", suites))
    made = tmp_path / "public" / folder.name
    assert sorted(path.name for path in made.glob("replicate-*")) == ["replicate-transfer.html"]
    assert "leaked" not in (made / "replicate-transfer.html").read_text()
    assert f'href="{folder.name}/replicate-transfer.html"' in (tmp_path / "public" / "index.html").read_text()


@pytest.mark.parametrize("place", ["report.html", "report.partial", "trials"])
def test_a_page_is_not_written_through_a_link_in_a_record(place: str, tmp_path: Path) -> None:
    """`report` of a record that somebody sent writes to its folder alone."""
    folder = new(tmp_path / "results")
    records.append_trial(folder, fixture.two_blocks().trials[0])
    own = tmp_path / "own"
    own.mkdir()
    (own / "letter").write_text("keep me")
    (folder / place).symlink_to(own if place == "trials" else own / "letter")
    try:
        pages.report(folder)
    except LabError as error:
        assert "is a link" in error.message
    assert [path.name for path in own.iterdir()] == ["letter"] and (own / "letter").read_text() == "keep me"
