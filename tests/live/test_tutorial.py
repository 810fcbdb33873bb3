"""The tutorial does what it says: its commands are run one after the other, in a folder of their own."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from builders.paths import ROOT
from fairground.lab.places import Places

pytestmark = [pytest.mark.live, pytest.mark.nightly]

PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
MACHINE_SPOILED = """
fairground() {
    command fairground "$@" && code=0 || code=$?
    case "$1:$code" in run:3 | compare:3) code=0 ;; esac
    return "$code"
}
"""
"""A run whose windows a busy machine spoils ends with 3, and has a record and a page all the same."""


def commands(page: str) -> str:
    """The commands of a page: what stands in its blocks of shell, in their order."""
    return "\n".join(re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))


def test_the_tutorials_commands_work(tmp_path: Path) -> None:
    """From `init` to `compare`: every command ends well, the broken answer is caught, and the pages are there."""
    environment = os.environ | {
        "CI": "1",
        "FAIRGROUND_CACHE": str(Places.of(os.environ).cache),
        "PATH": f"{ROOT}:{os.environ['PATH']}",
    }
    script = f"set -eu\n{MACHINE_SPOILED}\n{commands(PAGE)}"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout + done.stderr
    assert "my-server:gunicorn: 76 cases passed" in said
    assert 'got `{"ok":true,"message":"ok"}`' in said and "exit code 1" in said
    results = tmp_path / "my-project" / "results"
    assert len(list(results.glob("*/report.html"))) == 1 and len(list(results.glob("*/compare.html"))) == 1
    stacks = {line for line in re.findall(r"my-server:\w+", next(results.glob("*/report.html")).read_text(encoding="utf-8"))}
    assert stacks == {"my-server:gunicorn", "my-server:devmode"}
