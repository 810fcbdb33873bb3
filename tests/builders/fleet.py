"""Processes of a fleet, as persons start them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from builders.paths import ROOT

BRIEF = ["-w", "ping", "--blocks", "2", "--window", "1", "--warmup", "1,1", "--connections", "8", "--workers", "1", "--pool-size", "4",
         "--scale", "1"]  # fmt: skip


class Fleet:
    """Processes of one fleet, ended with the test."""

    def __init__(self, environment: Mapping[str, str], folder: Path) -> None:
        self._environment, self.folder = environment, folder
        self._started: list[subprocess.Popen[str]] = []

    def start(self, name: str, *words: str, before: Sequence[str] = ()) -> subprocess.Popen[str]:
        """Start the lab with these words; what it prints is in files. `before`: what starts it."""
        with open(self.folder / f"{name}.out", "w") as out, open(self.folder / f"{name}.err", "w") as err:
            one = subprocess.Popen(
                [*before, sys.executable, "-m", "fairground", *words],
                env=self._environment,
                cwd=ROOT,
                text=True,
                stdout=out,
                stderr=err,
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


def below(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """What a process has started, and what that has."""
    found: list[psutil.Process] = psutil.Process(process.pid).children(recursive=True)
    return found


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that have not ended."""
    return [one for one in processes if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]
