"""Clearing a folder of results: what the lab made there goes, and nothing else."""

from __future__ import annotations

from pathlib import Path

from fairground import records
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
    records.remove(own)
    assert records.names_in(results) == ("linked", "notes.txt", "photos")
    assert (elsewhere / records.ENTRIES).exists()


def test_a_site_of_somebody_else_stays(tmp_path: Path) -> None:
    """A folder that has the name of the lab's pages, and not their mark, is none of them."""
    (tmp_path / records.SITE).mkdir()
    assert records.own_of(tmp_path) == () and records.own_of(tmp_path / "nowhere") == ()
