"""The engine's own tests, which are written in Rust: `cargo test` runs them too."""

from __future__ import annotations

import subprocess

import pytest

from fairground.lab.roots import ROOT


@pytest.mark.live
@pytest.mark.usefixtures("keeper")
def test_what_cargo_tests() -> None:
    """All of them pass, on processors that are kept awake, and what fails on a restless machine is tried again as all tests are."""
    command = ["cargo", "test", "--release", "--quiet", "--locked"]
    done = subprocess.run(command, cwd=ROOT / "engine", capture_output=True, text=True, check=False)
    said = (done.stdout + done.stderr)[-8000:]
    assert done.returncode == 0, said
    assert "test result: ok." in said
