"""Clearing a folder of results: what the lab made there goes, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from builders.stored import new
from fairground import records
from fairground.cli import clean
from fairground.lab import folders
from fairground.lab.places import Places
from fairground.model import LabError
from fairground.postgres import embedded
from fairground.records import removal
from fairground.records.site_folder import SiteFolder


def test_only_what_the_lab_made_is_its_own(tmp_path: Path) -> None:
    """Records, the pages of `serve` and its word go; a person's file and folder stay, a link and what it leads to, too."""
    results, elsewhere = tmp_path / "results", tmp_path / "elsewhere"
    for folder in (results / "2026-11-30-1000-try", elsewhere):
        folder.mkdir(parents=True)
        (folder / records.ENTRIES).write_text("")
    (results / "linked").symlink_to(elsewhere)
    (results / "photos").mkdir()
    (results / "notes.txt").write_text("mine")
    (results / records.SERVE_WORD).write_text("{}")
    SiteFolder(results / records.SITE)
    own = records.own_of(results)
    assert results / "linked" not in own, "what it leads to is none of the space that the lab takes"
    cleared = records.clear("runs", results, True, True)
    assert (cleared.left, cleared.stuck) == (("linked", "notes.txt", "photos"), ())
    assert (elsewhere / records.ENTRIES).exists()


def test_a_site_of_somebody_else_stays(tmp_path: Path) -> None:
    """A folder that has the name of the lab's pages, and not their mark, is none of them."""
    (tmp_path / records.SITE).mkdir()
    assert records.own_of(tmp_path) == () and records.own_of(tmp_path / "nowhere") == ()


def test_what_cannot_be_removed_is_the_labs_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record on a read-only disk, or of another user's: it is named as one that stayed, and as nobody else's."""
    for folder in (tmp_path / "builds" / "one", tmp_path / "results" / "2026-11-30-1000-try"):
        folder.mkdir(parents=True)
        (folder / records.ENTRIES).write_text("")
    (tmp_path / "results" / "notes.txt").write_text("mine")
    monkeypatch.setattr(removal.shutil, "rmtree", lambda *_, **__: None)
    runs = records.clear("runs", tmp_path / "results", True, True)
    assert (runs.left, runs.stuck) == (("notes.txt",), ("2026-11-30-1000-try",))
    builds = records.clear("builds", tmp_path / "builds", True, False)
    assert (builds.left, builds.stuck) == ((), ("one",))
    assert clean._removed(runs) == (
        "removed, but for what could not be removed: 2026-11-30-1000-try and for what is none of the lab's: notes.txt"
    )
    with pytest.raises(typer.Exit) as ended:
        clean._end([runs])
    assert ended.value.exit_code == 3


@pytest.mark.parametrize("what", ["builds", "revisions", "databases", "runs"])
def test_nothing_is_removed_under_a_measurement(what: str, tmp_path: Path) -> None:
    """Its record, its database's files, or the folder in which its server runs."""
    places = Places(results=tmp_path / "results", cache=tmp_path / "cache")
    held = new(places.results)
    (places.cache / "builds").mkdir(parents=True)
    with records.hold_record(held):
        with pytest.raises(LabError, match="is measured into by another process"):
            folders.clean(places, (what,))
        assert folders.clean(places)[-1].bytes > 0, "sizes are shown all the same"
    assert held.exists() and (places.cache / "builds").exists()


def test_databases_stay_while_a_run_of_other_results_uses_one(tmp_path: Path) -> None:
    """The cache is one for all folders of results. Other things of it are removed; so are databases once the run has ended."""
    places = Places(results=tmp_path / "results", cache=tmp_path / "cache")
    (places.cache / "builds").mkdir(parents=True)
    used = embedded.Cluster.claim(places.cache / "postgres", 18, tmp_path)
    with pytest.raises(LabError, match="^another run uses the database in "):
        folders.clean(places, ("databases",))
    folders.clean(places, ("builds",))
    assert used.folder.exists() and not (places.cache / "builds").exists()
    used._lock.close()
    folders.clean(places, ("databases",))
    assert not used.folder.exists()
