"""Records that were made to keep a reader waiting: the lab reads on, and says what is wrong."""

from __future__ import annotations

import os
import queue
import threading
from pathlib import Path

import pytest

from builders.stored import new
from builders.waiting import PATIENCE_S
from fairground import records
from fairground.lab import site
from fairground.lab.places import Places
from fairground.model import LabError
from fairground.serve import app


class Reads:
    """What the lab reads of a folder of results: the kinds of entries listed, the run that is watched, and what a site says of them."""

    def __init__(self, results: Path) -> None:
        self.listed = [type(one).__name__ for one in records.list_all(results)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(app, "_stamp", lambda _results: None)  # no pages are drawn beside this
            lab = app.Lab(Places(results=results, environ={}), results / ".site")
            run = lab.state()["run"]
            lab.close()
        self.watched = run and run["run"]
        try:
            self.written = [type(one).__name__ for one in site.write(results, results / ".site")]
        except LabError as error:
            self.written = [error.message]


def reads(results: Path) -> Reads:
    """Read in a thread of its own, which may wait for ever: the test fails then."""
    done = queue.SimpleQueue[Reads]()
    threading.Thread(target=lambda: done.put(Reads(results)), daemon=True).start()
    return done.get(timeout=PATIENCE_S)


@pytest.mark.parametrize("name", ["database.json", "entries.jsonl", "limits.jsonl"])
def test_a_pipe_in_a_record_is_not_waited_for(name: str, tmp_path: Path) -> None:
    """Who opens one waits for its other end, which nobody has. The record is damaged, and the sound one is listed and watched."""
    sound, other = new(tmp_path), new(tmp_path)
    os.utime(other / "entries.jsonl", (1, 1))
    (other / name).unlink()
    os.mkfifo(other / name)
    found = reads(tmp_path)
    assert found.listed == ["Listed", "Damaged"]
    assert found.watched == sound.name
    assert found.written == ["SiteRecord", "SiteRecord", "SiteWritten"]


@pytest.mark.parametrize("name", ["index.html", ".fairground-site"])
def test_a_pipe_in_a_site_is_not_waited_for(name: str, tmp_path: Path) -> None:
    """A site that came with results may hold one in place of a page: that is told in a sentence."""
    folder = tmp_path / ".site"
    folder.mkdir()
    (folder / ".fairground-site").touch()
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    new(tmp_path)
    assert reads(tmp_path).written == [f"`{folder / name}` is no file, and the lab neither reads nor writes it"]


def test_a_pipe_in_place_of_the_word_of_a_job_is_not_waited_for(tmp_path: Path) -> None:
    """Pages are served beside it."""
    folder = new(tmp_path)
    os.mkfifo(tmp_path / ".serve.json")
    assert reads(tmp_path).watched == folder.name
