"""Lists, and what `report` says to machines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from builders.stored import written
from cli.command import PLAIN, ROOT, Run, document, stored
from fairground import records
from fairground.lab.places import Places
from fairground.model import Ending
from fairground.model.record import RecordKind
from report.fixture import six_blocks


def test_report_tells_machines_what_the_page_says(lab: Run, tmp_path: Path) -> None:
    """`report --json` ends with the three sentences of the claim box and every stack against its anchor; a run without transfers
    cannot explain them."""
    run = six_blocks()
    folder = stored(run, tmp_path / "results")
    records.end_run(folder, Ending(6, "the time was up"))
    end = json.loads(lab("report", "--results", "results", "--json", "--locks", "told.md").stdout)
    assert end["headline"][0].endswith("are decided in goodput, and 19 of 19 in server CPU.")
    assert 0 < end["time"]["measured_s"] < end["time"]["total_s"] and 0 < end["time"]["overhead_share"] < 1
    assert len([row for row in end["comparisons"] if row["quantity"] == "goodput"]) == 12
    assert {row["anchor"] for row in end["comparisons"]} == {"alder:inline"}
    assert len(list((folder / "trials").glob("*.html"))) == len(run.everything)
    assert "<!-- locks -->" in (tmp_path / "told.md").read_text()


def test_list_of_workloads(fairground: Run) -> None:
    """`list workloads --json` is JSON with one object for each workload file; the plain list has one line for each."""
    ids = [one.id for one in Places().workloads()]
    rows = document(fairground("list", "workloads", "--json"))["workloads"]
    assert [row["id"] for row in rows] == ids
    assert all(set(row) == {"id", "title", "contract", "why", "request"} for row in rows)
    lines = fairground("list", "workloads").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ids


@pytest.mark.live
@pytest.mark.parametrize("more", [(), ("--json",)], ids=["lines", "document"])
def test_a_reader_that_has_seen_enough_is_no_bad_answer(more: tuple[str, ...]) -> None:
    """`list | head` ends with exit code 0 and without a complaint: 1 says that a measured answer is bad."""
    reads, writes = os.pipe()
    os.close(reads)
    words = [sys.executable, "-m", "fairground", "list", "workloads", *more]
    try:
        done = subprocess.run(words, env={**os.environ, **PLAIN}, stdout=writes, stderr=subprocess.PIPE, text=True)
    finally:
        os.close(writes)
    assert (done.returncode, done.stderr) == (0, "")


def test_list_of_suites(fairground: Run) -> None:
    """Every suite is listed by the path that `run` takes."""
    rows = document(fairground("list", "suites", "--json"))["suites"]
    assert [row["path"] for row in rows] == sorted(f"suites/{path.name}" for path in (ROOT / "suites").glob("*.toml"))


@pytest.mark.live
def test_list_of_stacks(lab: Run) -> None:
    """Stacks are listed with what keeps one from being runnable here; the talk about them is no data."""
    rows = document(lab("list", "--servers", "servers", "--json"))["stacks"]
    assert [(row["id"], row["state"], row["why"]) for row in rows] == [
        ("alder-one:plain", "ready", ""),
        ("alder-one:fancy", "ready", ""),
        ("birch-two:plain", "not here", "needs `no-such-compiler` on PATH"),
        ("birch-two:fancy", "not here", "needs `no-such-compiler` on PATH"),
    ]
    assert {(row["approach"], *row["tuning"]) for row in rows} == {("documented",)}
    plain = lab("list", "--servers", "servers")
    assert plain.stdout.splitlines()[2].split() == [
        "birch-two:plain",
        "C",
        "documented",
        "Birch-Two",
        "not",
        "here",
        "needs",
        "`no-such-compiler`",
        "on",
        "PATH",
    ]
    assert plain.stderr == "4 stacks, 2 runnable here · more: list workloads · list topologies · list suites · list runs\n"


def test_list_of_no_runs(lab: Run) -> None:
    """Without a run the list of runs is empty, and that is no error."""
    assert document(lab("list", "runs", "--results", "none", "--json"))["runs"] == []


def test_records_of_other_kinds_are_listed_beside_the_runs(lab: Run, tmp_path: Path) -> None:
    """Each with its page, or with its head where it has none; what is no record is not taken for one."""
    for kind in (RecordKind.TRY, RecordKind.CHECK):
        written(tmp_path / "some", kind)
    rows = document(lab("list", "runs", "--results", "some", "--json"))["runs"]
    assert [(row["kind"], Path(row["page"]).name, row["finished"]) for row in rows] == [
        ("check", "head.json", False),
        ("try", "try.html", False),
    ]
    listed = lab("list", "runs", "--results", "some")
    assert listed.returncode == 0 and "2026-11-20-1128-try" in listed.stdout
    assert "there is no run `.` in `some`" in lab("report", ".", "--results", "some").stderr
