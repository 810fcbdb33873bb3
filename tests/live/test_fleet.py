"""A run on two hosts, as persons start them: with TLS, and with one of them killed on the way."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from builders.paths import ROOT
from fairground.host import machine
from fairground.run import store

BRIEF = ["-w", "ping", "--blocks", "2", "--window", "1", "--warmup", "1,1", "--connections", "8", "--workers", "1", "--pool-size", "4",
         "--scale", "1"]  # fmt: skip

pytestmark = [pytest.mark.live, pytest.mark.measures]


class Fleet:
    """Processes of one fleet, ended with the test."""

    def __init__(self, environment: Mapping[str, str], folder: Path) -> None:
        self._environment, self.folder = environment, folder
        self._started: list[subprocess.Popen[str]] = []

    def start(self, name: str, *words: str) -> subprocess.Popen[str]:
        """Start the lab with these words; what it prints is in files."""
        with open(self.folder / f"{name}.out", "w") as out, open(self.folder / f"{name}.err", "w") as err:
            one = subprocess.Popen(
                [sys.executable, "-m", "fairground", *words], env=self._environment, cwd=ROOT, text=True, stdout=out, stderr=err
            )
        self._started.append(one)
        return one

    def said(self, name: str) -> str:
        """What a process has printed so far, on both streams."""
        return (self.folder / f"{name}.out").read_text() + (self.folder / f"{name}.err").read_text()

    def end(self) -> None:
        """Nothing of it stays."""
        for one in reversed(self._started):
            if one.poll() is None:
                one.terminate()
        for one in self._started:
            one.wait(30)


@pytest.fixture
def fleet(cache: Path, tmp_path: Path) -> Iterator[Fleet]:
    """No process yet."""
    found = Fleet({**os.environ, "FAIRGROUND_CACHE": str(cache), "CI": "1", "PYTHONPATH": str(ROOT / "src")}, tmp_path)
    yield found
    found.end()


def until(true: Callable[[], object], why: Callable[[], str], timeout_s: float = 120.0) -> None:
    """Wait for something to become true."""
    deadline = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < deadline, why()
        time.sleep(0.1)


def test_two_hosts_measure_a_run_and_one_is_killed(fleet: Fleet, tmp_path: Path) -> None:
    """Its block goes to the other: the run is whole, each trial says where it was made, and nothing measures on."""
    servers, tls, results = tmp_path / "servers", tmp_path / "tls", tmp_path / "results"
    shutil.copytree(ROOT / "tests" / "zoo" / "healthy", servers / "healthy")
    shutil.copytree(ROOT / "tests" / "zoo" / "animal", servers / "healthy" / "animal")  # what is sent is one folder
    fleet.start("serve", "host", "serve", "--address", "tls://127.0.0.1:0", "--tls", str(tls), "--json")
    until(lambda: "}" in fleet.said("serve"), lambda: fleet.said("serve"))
    address = json.loads((tmp_path / "serve.out").read_text())["address"]
    secured = ("--tls", str(tls))
    fleet.start("a", "host", "join", address, "--allow", str(servers), "--name", "a", *secured)
    lost = fleet.start("b", "host", "join", address, "--allow", "healthy", "--name", "b", *secured)
    until(lambda: all("has joined" in fleet.said(name) for name in "ab"), lambda: fleet.said("a") + fleet.said("b"))
    words = ["-s", "healthy", *BRIEF, "--servers", str(servers), "--results", str(results), "--hosts", address, *secured]
    run = fleet.start("run", "run", *words)
    until(lambda: list(results.glob("*/plan.json")) or run.poll() is not None, lambda: fleet.said("run"))
    below = psutil.Process(lost.pid).children(recursive=True)
    lost.kill()
    assert run.wait(300) == 0, fleet.said("run")
    (folder,) = results.glob("*/")
    found = store.load(folder)
    assert found.finished and {one.block for one in found.trials} == {1, 2}, fleet.said("run")
    assert {one.machine for one in found.trials} == {machine.fingerprint().hostname_hash}
    assert (folder / "report.html").exists() and found.limits
    until(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in below), lambda: str(below), 20)
