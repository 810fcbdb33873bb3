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
from typing import IO, Any

from fairground.model import foreign

MOST_LINES = 40


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
            (sys.executable, "-m", "fairground", *words),
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
        for line in stream:
            try:
                event = json.loads(line)
            except json.JSONDecodeError:
                continue  # a verb that prints text beside its JSON; stderr has what matters
            self._take(event if isinstance(event, dict) else {})

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

    def _read_talk(self, stream: IO[str]) -> None:
        for line in stream:
            if text := foreign.line(line.rstrip()):
                with self._lock:
                    self._said.append(text)
