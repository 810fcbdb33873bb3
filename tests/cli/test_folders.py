"""Verbs that copy or remove folders, and what happens where nothing can be measured."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli.command import ROOT, RUN, Run, document


def test_new_copies_sources_only(lab: Run, tmp_path: Path) -> None:
    """A new server is a copy of another without what was built, and is a server at once."""
    done = lab("new", "mine", "--servers", "servers", "--from", "alder-one")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "servers/mine is a copy of alder-one. Edit it, then: ./fairground check mine\n"
    found = {path.name for path in (tmp_path / "servers" / "mine").iterdir()}
    assert found == {".gitignore", "main.c", "server.toml"}
    planned = lab(*RUN, "--stack", "mine:plain", "-w", "ping")
    assert planned.returncode == 0 and "mine:plain ping direct c100" in planned.stdout


def test_clean_shows_first(lab: Run, tmp_path: Path) -> None:
    """Without `--yes` nothing is removed and the command that would is shown; with it only what was named goes."""
    for name in ("cache/builds", "cache/revisions", "cache/postgres", "runs/one"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "entries.jsonl").write_bytes(bytes(1_500_000))
    shown = lab("clean", "--builds", "--results", "runs")
    assert shown.returncode == 0
    assert [line.split()[:3] for line in shown.stdout.splitlines()] == [
        ["builds", "1.5", "MB"],
        ["revisions", "1.5", "MB"],
        ["databases", "1.5", "MB"],
        ["runs", "1.5", "MB"],
    ]
    assert shown.stdout.splitlines()[0].endswith(f"{tmp_path}/cache/builds  ./fairground clean --builds --yes")
    assert (tmp_path / "cache" / "builds" / "entries.jsonl").exists()
    rows = document(lab("clean", "--builds", "--yes", "--results", "runs", "--json"))["folders"]
    removed = [("builds", True), ("revisions", False), ("databases", False), ("runs", False)]
    assert [(row["what"], row["removed"]) for row in rows] == removed
    assert lab("clean", "--revisions", "--yes").returncode == 0
    left = [name for name in ("cache/builds", "cache/revisions", "cache/postgres", "runs") if (tmp_path / name).exists()]
    assert left == ["cache/postgres", "runs"]


def test_clean_removes_records_alone(lab: Run, tmp_path: Path) -> None:
    """Results may be kept in any folder: what is no record stays there, and is named."""
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "entries.jsonl").write_text("")
    (tmp_path / "thesis.txt").write_text("mine")
    done = lab("clean", "--runs", "--yes", "--results", ".")
    assert (done.returncode, done.stderr) == (0, "") and (tmp_path / "thesis.txt").read_text() == "mine"
    assert not (tmp_path / "one").exists() and "none of the lab's:" in done.stdout and "thesis.txt" in done.stdout


@pytest.mark.live
def test_check_where_nothing_can_be_started(lab: Run) -> None:
    """When no stack can be had here exit code 3 says so, and the reason is data and talk."""
    done = lab("check", "birch-two", "--servers", "servers", "--json")
    assert done.returncode == 3
    assert "not here: birch-two, needs `no-such-compiler` on PATH" in done.stderr
    states = {id: (verdict["state"], verdict["reason"]) for id, verdict in json.loads(done.stdout)["stacks"].items()}
    assert states == {f"birch-two:{name}": ("not here", "needs `no-such-compiler` on PATH") for name in ("plain", "fancy")}


@pytest.mark.live
def test_a_reader_that_went_away() -> None:
    """A reader that closes its pipe early, as `head` does, is no fault."""
    shell = shutil.which("sh")
    assert shell is not None
    done = subprocess.run(
        [shell, "-c", f"{sys.executable} -m fairground list workloads --json | true"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_import_says_what_it_made_and_what_is_left(lab: Run, tmp_path: Path) -> None:
    """A framework's folder becomes servers that are listed at once; what was not taken over is said, as lines and as data."""
    home = tmp_path / "quartz"
    home.mkdir()
    keys = {"json_url": "/json", "port": 9090, "database": "None", "language": "C"}
    tests = {"default": keys, "other": {**keys, "database": "Redis"}}
    (home / "benchmark_config.json").write_text(json.dumps({"framework": "quartz", "tests": [tests]}))
    (home / "quartz.dockerfile").write_text("FROM some\nCOPY main.c /\nRUN apk add cc\nRUN make main\nCMD ./main\n")
    (home / "main.c").write_text("int main;")
    done = lab("import", "techempower", "quartz", "--servers", "servers")
    assert done.returncode == 0 and "1 of 2 tests imported · ./fairground check quartz" in done.stderr
    assert done.stdout.splitlines()[0] == "default: servers/quartz"
    said = "  quartz.dockerfile, line 3: `apk add cc` installs packages of the system: do so by hand where they are needed"
    assert said in done.stdout.splitlines() and done.stdout.splitlines()[-1] == "other: not imported, its database is redis"
    assert "quartz:default" in lab("list", "--servers", "servers").stdout
    found = document(lab("import", "techempower", "quartz", "--servers", "more", "--json"))["tests"]
    assert [(one["id"], one["folder"]) for one in found] == [("quartz", "more/quartz"), ("quartz-other", None)]
