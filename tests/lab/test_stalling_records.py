"""Records that were made to keep a reader waiting: the lab reads on, and says what is wrong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from builders.limited import printed
from builders.stored import new

READS = """
import sys
from pathlib import Path
from fairground import records
from fairground.lab import site
from fairground.lab.places import Places
from fairground.model import LabError
from fairground.serve import app

results = Path(sys.argv[1])
print(*(type(one).__name__ for one in records.list_all(results)))
app._stamp = lambda _results: None  # no pages are drawn beside this
lab = app.Lab(Places(results=results, environ={}), results / ".site")
run = lab.state()["run"]
print(run and run["run"])
lab.close()
try:
    print(*(type(one).__name__ for one in site.write(results, results / ".site")))
except LabError as error:
    print(error.message)
"""


@pytest.mark.parametrize("name", ["database.json", "entries.jsonl", "limits.jsonl"])
def test_a_pipe_in_a_record_is_not_waited_for(name: str, tmp_path: Path) -> None:
    """Who opens one waits for its other end, which nobody has. The record is damaged, and the sound one is listed and watched."""
    sound, other = new(tmp_path), new(tmp_path)
    os.utime(other / "entries.jsonl", (1, 1))
    (other / name).unlink()
    os.mkfifo(other / name)
    listed, watched, written = printed(READS, str(tmp_path)).splitlines()
    assert listed == "Listed Damaged"
    assert watched == sound.name
    assert written == "SiteRecord SiteRecord SiteWritten"


@pytest.mark.parametrize("name", ["index.html", ".fairground-site"])
def test_a_pipe_in_a_site_is_not_waited_for(name: str, tmp_path: Path) -> None:
    """A site that came with results may hold one in place of a page: that is told in a sentence."""
    site = tmp_path / ".site"
    site.mkdir()
    (site / ".fairground-site").touch()
    (site / name).unlink(missing_ok=True)
    os.mkfifo(site / name)
    new(tmp_path)
    assert (
        printed(READS, str(tmp_path)).splitlines()[-1] == f"`{site / name}` is no file, and the lab neither reads nor writes it"
    )


def test_a_pipe_in_place_of_the_word_of_a_job_is_not_waited_for(tmp_path: Path) -> None:
    """Pages are served beside it."""
    folder = new(tmp_path)
    os.mkfifo(tmp_path / ".serve.json")
    assert printed(READS, str(tmp_path)).splitlines()[1] == folder.name
