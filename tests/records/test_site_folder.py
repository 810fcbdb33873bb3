"""The folder of a site that came from somebody else: its names and links reach nothing outside of what the lab has made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders.stored import new
from fairground.lab import site
from fairground.model import LabError
from fairground.records.site_folder import MADE, MARK, SiteFolder


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A folder of somebody's own, beside results and site."""
    folder = tmp_path / "victim"
    folder.mkdir()
    (folder / "letter.html").write_text("keep me")
    return folder


def write_with_list(tmp_path: Path, name: str) -> Path:
    """A site that is written again after its list has the entry of a record that is gone under another name; its folder."""
    results, target = tmp_path / "results", tmp_path / "results" / ".site"
    run = new(results)
    list(site.write(results, target))
    told = json.loads((target / MARK).read_text())
    (target / MARK).write_text(json.dumps({**told, name: told[run.name]}))
    list(site.write(results, target))
    return target


@pytest.mark.parametrize("name", ["../../victim", "{victim}", "..", ".", "", "a/../../../victim", "cells/../../../victim"])
def test_a_name_in_the_list_removes_nothing_elsewhere(name: str, victim: Path, tmp_path: Path) -> None:
    """Neither upwards nor absolute nor through another folder."""
    target = write_with_list(tmp_path, name.format(victim=victim))
    assert (victim / "letter.html").read_text() == "keep me"
    assert (target / "index.html").exists() and (tmp_path / "results").is_dir()


def test_a_name_in_the_list_removes_no_folder_that_the_lab_did_not_make(victim: Path, tmp_path: Path) -> None:
    """Neither one that stands in the site, nor what a link in it leads to."""
    target = tmp_path / "results" / ".site"
    target.mkdir(parents=True)
    (target / MARK).touch()
    (target / "notes").mkdir()
    (target / "notes" / "index.html").write_text("my own")
    (target / "away").symlink_to(victim)
    for name in ("notes", "away"):
        write_with_list(tmp_path, name)
    assert (target / "notes" / "index.html").read_text() == "my own"
    assert (target / "away").is_symlink() and (victim / "letter.html").exists()


def test_a_folder_that_the_lab_made_is_removed(tmp_path: Path) -> None:
    """What held a record's pages goes with it, and a link inside of it is removed and not followed."""
    folder = SiteFolder(tmp_path / "site")
    folder.put("gone/trials/0001.html", "a page")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "letter").touch()
    (tmp_path / "site" / "gone" / "link").symlink_to(tmp_path / "own")
    folder.forget("gone")
    assert not (tmp_path / "site" / "gone").exists() and (tmp_path / "own" / "letter").exists()


@pytest.mark.parametrize("link", ["site", "site/index.html", "site/run", "site/.fairground-site"])
def test_a_link_is_not_written_through(link: str, victim: Path, tmp_path: Path) -> None:
    """Be it the site, a page of it, a folder or its list: one sentence, and what it leads to is as it was."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / MARK).touch()
    place, leads_to = tmp_path / link, victim if not link.endswith(("html", "site/.fairground-site")) else victim / "letter.html"
    if link == "site":
        (tmp_path / "site" / MARK).unlink()
        place.rmdir()
    place.unlink(missing_ok=True)
    place.symlink_to(leads_to)
    with pytest.raises(LabError, match="is a link"):
        folder = SiteFolder(tmp_path / "site")
        for name in ("index.html", "run/report.html", MARK):
            folder.put(name, "a page")
    assert [path.name for path in victim.iterdir()] == ["letter.html"]
    assert (victim / "letter.html").read_text() == "keep me"


def test_a_page_is_put_inside_of_the_site(tmp_path: Path) -> None:
    """A place that is none inside is refused; a folder of the lab's carries its mark, somebody's own does not."""
    folder = SiteFolder(tmp_path / "site")
    for place in ("../index.html", "/index.html", "a//b.html", "a/../b.html", "a/.", "", "a\0b.html", "a\x1bb.html"):
        with pytest.raises(LabError, match="is no place inside"):
            folder.put(place, "a page")
    (tmp_path / "site" / "notes").mkdir()
    folder.put("notes/index.html", "a page")
    folder.put("run/report.html", "a page")
    assert not (tmp_path / "site" / "notes" / MADE).exists() and folder.holds("run", "report.html")
    assert not folder.holds("run", "../index.html") and not folder.holds("notes", "index.html")


def test_a_link_to_a_folder_of_the_labs_is_none_of_the_site(tmp_path: Path) -> None:
    """Another site's folder has the mark, too: through a link it is neither shown nor removed."""
    SiteFolder(tmp_path / "other").put("run/report.html", "a page")
    folder = SiteFolder(tmp_path / "site")
    (tmp_path / "site" / "run").symlink_to(tmp_path / "other" / "run")
    assert not folder.holds("run", "report.html")
    folder.forget("run")
    assert (tmp_path / "site" / "run").is_symlink() and (tmp_path / "other" / "run" / "report.html").exists()
