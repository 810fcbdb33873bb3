"""A disk that is full in the middle of a run, and a cache that has no room: the lab says so, keeps what it has, and goes on later."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from builders import quiet
from fairground import records
from fairground.inputs.roots import ROOT

ZOO = ROOT / "tests" / "zoo"
WORDS = ["-s", "healthy", "-w", "ping", "--blocks", "4", "--window", "1", "--warmup", "1,1", "--connections", "8", "--workers", "1",
         "--pool-size", "4", "--scale", "1", "--no-controls"]  # fmt: skip

pytestmark = pytest.mark.live


def lab(environment: Mapping[str, str], results: Path, *words: str) -> subprocess.Popen[str]:
    """Start the lab on the zoo."""
    command = [sys.executable, "-m", "fairground", "run", "--servers", str(ZOO), "--results", str(results), *words]
    return subprocess.Popen(command, env=environment, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.nightly
def test_results_that_fill_up_in_a_run(cache: Path, small_disk: Callable[..., Path]) -> None:
    """The run ends with its sentence and exit code 3, finished trials are there, and with space `--resume` completes it."""
    environment = quiet.environment(cache)
    results = small_disk("results", 64)
    process = lab(environment, results, *WORDS)
    deadline = time.monotonic() + 120
    while not any(path.read_text() for path in results.glob("*/entries.jsonl")):
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()[1]
        time.sleep(0.05)
    filler = results / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 65_536)
        except OSError:
            pass  # the disk is full, as it should be
    _, said = process.communicate(timeout=120)
    assert process.returncode == 3, said
    assert "error: `" in said or "error: the disk of `" in said
    assert "make space" in said and "--resume" in said and "Traceback" not in said and "fault of the lab" not in said
    kept = records.load_run(records.find_run(results, "latest"))
    assert 1 <= len(kept.trials) < 4 and not kept.finished
    filler.unlink()
    again = lab(environment, results, "--resume", "latest")
    _, said = again.communicate(timeout=170)
    assert again.returncode == 0, said
    run = records.load_run(kept.folder)
    assert run.finished and run.trials[: len(kept.trials)] == kept.trials
    assert (run.folder / "report.html").exists()


def test_a_cache_without_room(tmp_path: Path, small_disk: Callable[..., Path]) -> None:
    """PostgreSQL that finds no room for its files is not told as a lack of user namespaces."""
    cache = small_disk("cache", 4)
    process = lab({**os.environ, "FAIRGROUND_CACHE": str(cache), "CI": "1"}, tmp_path / "results", *WORDS)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 3, said
    assert f"`{cache}" in said and "cannot be written: no space is left" in said, said
    assert "namespaces" not in said and "Traceback" not in said


def refused(cache: Path, results: Path) -> str:
    """What the lab says of a cache that it cannot write. It ends with exit code 3, and no traceback."""
    process = lab({**os.environ, "FAIRGROUND_CACHE": str(cache), "CI": "1"}, results, *WORDS)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 3 and "Traceback" not in said, said
    return said


@pytest.mark.parametrize("below", ["", "deeper"])
def test_a_file_in_the_place_of_the_cache(below: str, tmp_path: Path) -> None:
    """The file is named, and stays as it was."""
    file = tmp_path / "cache"
    file.write_text("mine")
    assert "a file stands where a folder should be" in refused(file / below if below else file, tmp_path / "results")
    assert file.read_text() == "mine"


def test_a_cache_that_is_read_only(tmp_path: Path, small_disk: Callable[..., Path]) -> None:
    """It is said of the cache, and not of the results, which can be written."""
    cache = small_disk("cache", 4)
    subprocess.run(["mount", "-o", "remount,ro", str(cache)], check=True)
    said = refused(cache, tmp_path / "results")
    assert f"`{cache}" in said and "its file system is read-only" in said, said


@pytest.mark.parametrize("place", ["file", "read-only"])
def test_results_that_cannot_be_written(place: str, cache: Path, tmp_path: Path, small_disk: Callable[..., Path]) -> None:
    """The run ends before its first trial, and says which folder is meant."""
    if place == "file":
        results = tmp_path / "results"
        results.write_text("mine")
    else:
        results = small_disk("results", 64)
        subprocess.run(["mount", "-o", "remount,ro", str(results)], check=True)
    said = refused(cache, results)
    assert f"`{results}" in said, said
    assert ("a file stands where a folder should be" if place == "file" else "its file system is read-only") in said, said
