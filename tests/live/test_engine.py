"""The engine's own tests, which are written in Rust: `cargo test` runs them too."""

from __future__ import annotations

import subprocess

import pytest

from fairground.inputs.roots import ROOT


def cargo_test(*words: str) -> tuple[int, str]:
    """The exit code, and the end of what it said. The profile is one that compiles quickly: engine/Cargo.toml."""
    command = ["cargo", "test", "--profile", "tested", "--quiet", "--locked", *words]
    done = subprocess.run(command, cwd=ROOT / "engine", capture_output=True, text=True, check=False)
    return done.returncode, (done.stdout + done.stderr)[-8000:]


@pytest.mark.live
def test_they_compile() -> None:
    """All of them compile; that takes a while on a machine on which they never did, and measures nothing."""
    code, said = cargo_test("--no-run")
    assert code == 0, said


@pytest.mark.live
@pytest.mark.usefixtures("keeper")
def test_what_cargo_tests() -> None:
    """All of them pass, on processors that are kept awake."""
    code, said = cargo_test()
    assert code == 0, said
    assert "test result: ok." in said
