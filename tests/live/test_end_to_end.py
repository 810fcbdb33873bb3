"""The lab as a person uses it: runs, interruptions, `kill -9`, and a server that is new."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from builders import quiet
from builders.waiting import eventually
from fairground import records
from fairground.inputs.roots import ROOT
from fairground.model import Control
from fairground.model.cause import INTRUDER
from fairground.report.text.words import trial_page

ZOO = ROOT / "tests" / "zoo"
SHORT = ["--warmup", "1,1", "--connections", "8", "--workers", "1", "--pool-size", "4", "--scale", "1"]
BRIEF = ["--window", "1", "--blocks", "1", *SHORT]

pytestmark = pytest.mark.live


@pytest.fixture
def environment(cache: Path) -> Mapping[str, str]:
    """A lab with a cache of the tests' own, to which the machine is quiet."""
    return quiet.environment(cache)


def lab(environment: Mapping[str, str], *words: str) -> subprocess.Popen[str]:
    """Start the lab with these words, as `./fairground` does."""
    return subprocess.Popen(
        [sys.executable, "-m", "fairground", *words],
        env=environment,
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def below(process: subprocess.Popen[str]) -> dict[psutil.Process, str]:
    """All that a lab has started and that is alive, with the names of their programs."""
    found: dict[psutil.Process, str] = {}
    for child in psutil.Process(process.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it ended while we looked
            found[child] = child.name()
    return found


def finished(results: Path) -> list[dict]:
    """The stored trials of the only run."""
    lines = [line for path in results.glob("*/entries.jsonl") for line in path.read_text().splitlines()]
    return [json.loads(line) for line in lines]


def test_run_writes_an_audited_report(environment: Mapping[str, str], tmp_path: Path) -> None:
    """A run stores its plan, machine, trials and raw data, and ends with a page that shows the audit's arithmetic."""
    words = [
        "run",
        "--servers",
        str(ZOO),
        "-s",
        "healthy",
        "-w",
        "ping",
        "-w",
        "tx",
        *BRIEF,
        "--results",
        str(tmp_path),
        "--json",
    ]
    process = lab(environment, *words)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    last = json.loads(out.splitlines()[-1])
    run = records.load_run(records.find_run(tmp_path, "latest"))
    assert last["run"] == run.id and run.finished
    assert {trial.cell.workload for trial in run.trials} == {"ping", "tx"}
    for trial in run.trials:
        assert trial.result is not None and trial.result.life is not None, trial.findings
        assert all(line.holds for line in trial.audit)
        assert (run.folder / trial.folder / "engine.json").exists()
    written = next(line for trial in run.trials for line in trial.audit if line.id == "tx-history-rows")
    assert f"{written.found:,}" in (run.folder / "details.html").read_text()
    assert (run.folder / "summary.csv").read_text().count("\n") >= 2


def test_rejected_server_is_exit_code_one(environment: Mapping[str, str], tmp_path: Path) -> None:
    """A server with wrong answers has no number, and the lab says so by its exit code."""
    process = lab(environment, "run", "--servers", str(ZOO), "-s", "wrong-json", "-w", "ping", *BRIEF, "--results", str(tmp_path))
    out, err = process.communicate(timeout=600)
    assert process.returncode == 1, err
    assert "case:ping" in (tmp_path / next(iter(os.listdir(tmp_path))) / "entries.jsonl").read_text()
    assert "rejected" in out


def test_interrupted_run_is_resumed(environment: Mapping[str, str], tmp_path: Path) -> None:
    """Ctrl-C keeps finished trials and exits 130; `--resume` measures the rest, and nothing twice."""
    words = ["-s", "healthy", "-w", "ping", "-w", "tx", *BRIEF]
    process = lab(environment, "run", "--servers", str(ZOO), *words, "--results", str(tmp_path))
    assert eventually(lambda: finished(tmp_path) or process.poll() is not None, 60)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    kept = finished(tmp_path)
    again = lab(environment, "run", "--servers", str(ZOO), "--resume", "latest", "--results", str(tmp_path))
    _, err = again.communicate(timeout=900)
    assert again.returncode == 0, err
    after = finished(tmp_path)
    assert after[: len(kept)] == kept
    attempts = [(trial["number"], trial["attempt"]) for trial in after]
    assert len(set(attempts)) == len(attempts)
    run = records.load_run(records.find_run(tmp_path, "latest"))
    assert {trial.number for trial in run.trials} == {slot.number for slot in run.plan.slots}


def test_run_with_a_budget_holds_controls_and_ends_after_a_whole_block(environment: Mapping[str, str], tmp_path: Path) -> None:
    """Of nine planned blocks as many are measured as the time holds, each whole; the anchor was measured again and slowed, the engine
    qualified, every trial has its page, and going on without more time measures nothing."""
    two = ["-s", "healthy", "-s", "delayed", "-w", "ping", "--blocks", "9", "--budget", "15s", "--window", "1"]
    process = lab(environment, "run", "--servers", str(ZOO), *two, *SHORT, "--results", str(tmp_path))
    out, err = process.communicate(timeout=900)
    assert process.returncode == 0, err
    run = records.load_run(records.find_run(tmp_path, "latest"))
    assert run.finished and run.ending is not None and "budget" in run.ending.reason, err
    done = {slot.number for slot in run.plan.slots if slot.block <= run.ending.blocks}
    assert {trial.number for trial in run.everything} == done
    assert len({trial.number for trial in run.controls}) == 2 * run.ending.blocks
    assert {trial.control for trial in run.controls} == set(Control)
    assert not [finding for trial in run.controls for finding in trial.findings if finding.id == INTRUDER.id]
    assert run.qualification is not None and len(run.qualification.checks) >= 5
    assert "Ended after" in (run.folder / "report.html").read_text()
    assert "The anchor, measured twice" in out or "hold the anchor and its controls" in out
    assert all((run.folder / trial_page(trial)).exists() for trial in run.everything)
    again = lab(environment, "run", "--servers", str(ZOO), "--resume", "latest", "--results", str(tmp_path))
    _, err = again.communicate(timeout=300)
    assert again.returncode == 0, err
    assert records.load_run(run.folder).everything == run.everything


def test_kill_9_leaves_nothing(environment: Mapping[str, str], tmp_path: Path) -> None:
    """Ten seconds after the lab was killed in a trial, no server, database or generator of it is alive."""
    process = lab(
        environment,
        "run",
        "--servers",
        str(ZOO),
        "-s",
        "healthy",
        "-w",
        "tx",
        "--window",
        "30",
        *SHORT,
        "--results",
        str(tmp_path),
    )
    assert eventually(lambda: list(tmp_path.glob("*/trials/*/engine.json")), 60)
    assert eventually(lambda: {"postgres", "fairload"} <= set(below(process).values()), 60)
    found = below(process)
    everything = list(found)
    assert len(everything) > 5, found
    process.kill()
    process.wait()
    _, alive = psutil.wait_procs(everything, timeout=10)
    assert not [child for child in alive if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]


def test_new_server_needs_only_its_folder(environment: Mapping[str, str], tmp_path: Path) -> None:
    """A server made by `new` is checked as any other, and nothing outside its folder was touched."""
    servers = tmp_path / "servers"
    for name in ("animal", "healthy"):
        shutil.copytree(ZOO / name, servers / name)
    before = touched()
    for words in (
        ["new", "arrival", "--from", "healthy"],
        ["check", "arrival", "--case", "ping", "--case", "users", "--case", "tx", "--case", "transfer"],
    ):
        process = lab(environment, *words, "--servers", str(servers))
        _, err = process.communicate(timeout=600)
        assert process.returncode == 0, err
    assert sorted(path.name for path in servers.iterdir()) == ["animal", "arrival", "healthy"]
    assert touched() == before


def touched() -> str:
    """What differs from the last commit, as git tells it."""
    return subprocess.run(["git", "status", "--short"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
