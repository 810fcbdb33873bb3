"""The site of a folder of results: every record is in it, what is gone leaves it, and nobody's own folder is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders.full import full
from builders.stored import START, new
from fairground import model, records
from fairground.lab import site
from fairground.lab.events import SiteRecord, SiteWritten
from fairground.model import LabError, Machine, StackInfo
from fairground.model.record import Head, RecordKind


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
