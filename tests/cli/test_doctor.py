"""`doctor`: what is not needed is not lacking."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from fairground import generators
from fairground.cli.doctor import _run
from fairground.host.machine import MachineCheck
from fairground.lab import doctor


def test_a_generator_that_is_not_here_is_optional(tmp_path: Path) -> None:
    """Load generators from elsewhere are told with how to get them, and are nothing that the lab lacks."""
    lines = list(generators.checks("", tmp_path))
    assert lines and {line.state for line in lines} == {"optional"} and all(line.fix for line in lines)


@pytest.mark.parametrize("state", ["optional", "lacking"])
def test_install_gets_both(state: str) -> None:
    """What is optional is installed when that is asked for, as what is lacking is."""
    fixes = list(doctor.fixes([MachineCheck("x", state, "x is missing", "apt-get install x")]))
    assert ["apt-get", "install", "x"] in fixes


def test_every_generator_can_be_got_by_a_command(tmp_path: Path) -> None:
    """Each generator has a command that `--install` runs, and one that no package manager pins names its version."""
    for name in generators.TOOLS:
        words = shlex.split(generators.install_words(name, tmp_path))
        assert words[0] in doctor.PROGRAMS
        assert words[0] == "apt-get" or any("@v" in word or "@1" in word for word in words)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["sh", "-c", "exit 7"], "this failed with exit code 7"),
        (["no-such-program", "x"], "`no-such-program` cannot be started: No such file or directory"),
    ],
)
def test_a_fix_that_fails_is_said(command: list[str], said: str, capfd: pytest.CaptureFixture[str]) -> None:
    """A command that cannot be started or fails, as without a network, is told in a sentence and ends nothing."""
    _run(command)
    assert said in " ".join(capfd.readouterr().err.split())
    _run(["true"])
    assert "failed" not in capfd.readouterr().err
