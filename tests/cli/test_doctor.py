"""`doctor`: what is not needed is not lacking."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairground.host.machine import Check
from fairground.lab import doctor, setup
from fairground.lab.places import Places


def test_a_generator_that_is_not_here_is_optional(tmp_path: Path) -> None:
    """Load generators from elsewhere are told with how to get them, and are nothing that the lab lacks."""
    lines = setup.tool_checks(Places(cache=tmp_path, environ={"PATH": ""}))
    assert lines and {line.state for line in lines} == {"optional"} and all(line.fix for line in lines)


@pytest.mark.parametrize("state", ["optional", "lacking"])
def test_install_gets_both(state: str) -> None:
    """What is optional is installed when that is asked for, as what is lacking is."""
    fixes = list(doctor.fixes([Check("x", state, "x is missing", "apt-get install x")]))
    assert ["apt-get", "install", "x"] in fixes
