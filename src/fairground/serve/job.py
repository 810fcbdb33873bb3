"""One measurement at a time, as a process of its own: the command line, with its results as JSON lines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from fairground.host import process
from fairground.model import LabError, foreign
from fairground.records import journal

MOST_LINES = 40
CHILD = "fairground.serve.child"
"""The module that is the command of the lab, until the server is gone."""


@dataclass(frozen=True)
class JobProcess:
    """A process by its number and the moment when it began, which no later process of that number has."""

    pid: int
    began_ticks: int

    @property
    def running(self) -> bool:
        """True if it has not ended."""
        found = process.look(self.pid)
        return found is not None and found.runs and found.began_ticks == self.began_ticks

    def stop(self) -> None:
        """Ask it to end as Ctrl-C would."""
        if self.running:
            os.kill(self.pid, signal.SIGINT)

    def write(self, path: Path) -> None:
        """Leave word of it for a lab that comes later."""
        journal.replace(path, json.dumps({"pid": self.pid, "began_ticks": self.began_ticks}).encode())

    @classmethod
    def read(cls, path: Path) -> JobProcess | None:
        """The process of which an earlier lab has left word; None: of none. Only one of this user's and this lab's counts."""
        try:
            told = json.loads(journal.content_of(path)) if not path.is_symlink() else {}
            found = cls(int(told["pid"]), int(told["began_ticks"]))
            words = Path(f"/proc/{found.pid}/cmdline").read_bytes().split(b"\0")
            own = os.stat(f"/proc/{found.pid}").st_uid == os.geteuid()
        except (OSError, ValueError, KeyError, TypeError, RecursionError, LabError):
            return None
        return found if own and CHILD.encode() in words else None


def _document(text: str) -> Mapping[str, Any] | None:
    """The JSON object that a text is; None where it is none."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


class LabJob:
    """A command of the lab while it runs, in a session of its own: a Ctrl-C in the terminal is for the server, which ends it."""

    def __init__(self, words: Sequence[str], environ: Mapping[str, str]) -> None:
        self.words = tuple(words)
        self._said: deque[str] = deque(maxlen=MOST_LINES)
        self._lock = threading.Lock()
        self._folder: str | None = None
        self._now: Mapping[str, Any] | None = None
        self._end: Mapping[str, Any] | None = None
        self._child = subprocess.Popen(
            (sys.executable, "-m", CHILD, str(os.getpid()), *words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={**environ, "NO_COLOR": "1", "CI": "1"},  # CI: plain lines in place of a live screen
            start_new_session=True,
        )
        assert self._child.stdout is not None and self._child.stderr is not None, "both are pipes"
        self._readers = [
            threading.Thread(target=self._read_events, args=(self._child.stdout,), daemon=True),
            threading.Thread(target=self._read_talk, args=(self._child.stderr,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    @property
    def running(self) -> bool:
        return self._child.poll() is None

    @property
    def process(self) -> JobProcess:
        """The process, by which it is known to whoever comes later."""
        found = process.look(self._child.pid)
        return JobProcess(self._child.pid, 0 if found is None else found.began_ticks)

    def state(self) -> dict[str, Any]:
        """Return what is known of the job: `code` is None while it runs, `folder` None before there is a record."""
        with self._lock:
            return {
                "command": "./fairground " + " ".join(self.words),
                "code": self._child.poll(),
                "folder": self._folder,
                "now": self._now if self.running else None,
                "said": list(self._said),
                "end": self._end,
            }

    def stop(self) -> None:
        """Ask it to end as Ctrl-C would; what is finished is kept."""
        if self.running:
            os.kill(self._child.pid, signal.SIGINT)

    def wait(self, seconds: float | None = None) -> int | None:
        """Wait until it has ended and all is read; its exit code, or None when it has not ended in time."""
        try:
            code = self._child.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        for reader in self._readers:
            reader.join(5)
        return code

    def _read_events(self, stream: IO[str]) -> None:
        rest = list[str]()
        for line in stream:
            if (event := _document(line)) is not None:
                self._take(event)
            else:
                rest.append(line)  # of a document over several lines; of other text nothing is read
        if (event := _document("".join(rest))) is not None:
            self._take(event)

    def _take(self, event: Mapping[str, Any]) -> None:
        with self._lock:
            match event.get("event"):
                case "plan":
                    self._folder = event["folder"]
                case "progress":
                    self._now = event
                case "building":
                    self._said.append(foreign.line(f"building {event['server']}"))
                case "trial" | "why":
                    pass  # the record's folder has it
                case _:
                    self._end = event
                    self._folder = event.get("folder") or self._folder

    def _read_talk(self, stream: IO[str]) -> None:
        for line in stream:
            if text := foreign.line(line.rstrip()):
                with self._lock:
                    self._said.append(text)
