"""`try` where there is nothing to measure: a service that is not there, and a command that is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.command import Run
from fairground.host import free_port

pytestmark = pytest.mark.live


def test_nobody_answers(lab: Run, tmp_path: Path) -> None:
    """A service that is not there is exit code 3, with how to start it."""
    done = lab("try", f"http://127.0.0.1:{free_port()}/", "--results", "results")
    assert done.returncode == 3 and "got no answer: could not connect" in done.stderr and "hint: start the service" in done.stderr
    assert not list(tmp_path.glob("results/*")), "an empty folder would be taken for a run"


def test_a_command_that_is_none(lab: Run, tmp_path: Path) -> None:
    """A program that is not there is nothing to measure, and leaves no record."""
    done = lab("try", "--url", f"http://127.0.0.1:{free_port()}/", "--results", "results", "--", "no-such-program-here")
    assert done.returncode == 3 and "error: cannot start `no-such-program-here`" in done.stderr
    assert not list(tmp_path.glob("results/*"))
