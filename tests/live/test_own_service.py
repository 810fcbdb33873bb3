"""The page on a service of one's own does what it says: its commands are run one after the other."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from builders import quiet
from builders.paths import ROOT
from fairground.lab.places import Places

pytestmark = [pytest.mark.live, pytest.mark.nightly]

PAGE = (ROOT / "docs" / "own-service.md").read_text(encoding="utf-8")


def test_its_commands_work(tmp_path: Path) -> None:
    """From the login to the comparison: every command ends well, and the records are there."""
    shutil.copytree(ROOT / "examples" / "own-service", tmp_path / "examples" / "own-service")
    (tmp_path / "fairground").symlink_to(ROOT / "fairground")
    environment = quiet.environment(Places.of({}).cache)
    commands = "\n".join(re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
    commands = re.sub(r"(\./fairground (?:try|why)\b)", rf"\1 --results {tmp_path}/results", commands)
    ended = "trap 'kill $SHOP $CHANGED 2>/dev/null || :' EXIT"
    done = subprocess.run(
        ["bash", "-c", f"set -eu\nSHOP= CHANGED=\n{ended}\n{commands}"], cwd=tmp_path, env=environment, capture_output=True,
        text=True, timeout=600,
    )  # fmt: skip
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "good answers a second" in said and "A contract would add" in said
    assert "the services themselves ran on" in said
    assert (tmp_path / "summary.md").read_text(encoding="utf-8").count("goodput") >= 2
