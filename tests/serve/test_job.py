"""A measurement as a process: its events and words are read, an end is asked for as Ctrl-C would, odd output does no harm."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from fairground.serve import job
from fairground.serve.job import LabJob

SPEAKS = """
import json, sys
print("no JSON")
print("[1]")
print(json.dumps({"event": "building", "server": "a" + chr(27) + "[31m"}))
print('{"event": "plan", "folder": "/r/one", "left_s": 3}')
print('{"event": "progress", "phase": "window"}', flush=True)
print("making the data " + chr(27) + "[1m", file=sys.stderr, flush=True)
print('{"event": "trial"}')
print('{"event": "end", "run": "one"}', flush=True)
"""
WAITS = """
import time
print('{"event": "progress", "phase": "window"}', flush=True)
try:
    time.sleep(60)
except KeyboardInterrupt:
    raise SystemExit(130)
"""


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A job that runs a program of the test's in place of the lab."""
    popen = subprocess.Popen

    def start(program: str) -> LabJob:
        def of_test(_words: Any, **settings: Any) -> Any:
            return popen((sys.executable, "-c", program), **settings)

        monkeypatch.setattr(job.subprocess, "Popen", of_test)
        return LabJob(("run", "suites/demo.toml"), dict(os.environ))

    return start


def test_what_it_tells_is_read(started: Any) -> None:
    """Folder, last words and result are known; lines that are no events are passed over, and what it says is cleaned."""
    made = started(SPEAKS)
    assert made.wait(20) == 0
    state = made.state()
    assert state["command"] == "./fairground run suites/demo.toml"
    assert (state["code"], state["folder"], state["now"]) == (0, "/r/one", None)
    assert state["end"] == {"event": "end", "run": "one"}
    assert len(state["said"]) == 2 and not any("\x1b" in line for line in state["said"])
    assert json.dumps(state)


def test_a_document_over_several_lines_is_read(started: Any) -> None:
    """A comparison prints one document at its end: it says where the record is."""
    made = started("import json; print(json.dumps({'schema': 1, 'lines': [], 'folder': '/r/two'}, indent=2))")
    assert made.wait(20) == 0
    state = made.state()
    assert state["folder"] == "/r/two" and state["end"]["lines"] == []


def test_it_ends_as_by_ctrl_c(started: Any) -> None:
    """While it runs its code is not known and what goes on is; stopped, it ends by its own way out."""
    made = started(WAITS)
    while made.state()["now"] is None:
        assert made.running
    assert made.wait(0.01) is None
    made.stop()
    assert made.wait(20) in (130, -signal.SIGINT)
    made.stop()
    assert not made.running and made.state()["now"] is None
