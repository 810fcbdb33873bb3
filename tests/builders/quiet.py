"""A lab whose trials are not void where others work beside it. `quiet/sitecustomize.py` makes one in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from builders.expected import COMES_AND_GOES
from builders.paths import ROOT, TESTS
from fairground.model import Finding

PATH = os.pathsep.join(str(one) for one in (TESTS / "quiet", TESTS, ROOT / "src"))
"""Where Python finds the lab, and what makes the machine quiet to it."""


def environment(cache: Path) -> Mapping[str, str]:
    """The environment of such a lab, with a cache of the tests' own. Its trials are tried once, so its exit code is known."""
    return {**os.environ, "FAIRGROUND_CACHE": str(cache), "CI": "1", "PYTHONPATH": PATH}


def without_the_machine(judged: Callable[..., tuple[Finding, ...]]) -> Callable[..., tuple[Finding, ...]]:
    """What is found by `judged`, but for what a busy machine does by itself."""

    def quiet(*args: object, **named: object) -> tuple[Finding, ...]:
        return tuple(one for one in judged(*args, **named) if one.id not in COMES_AND_GOES)

    return quiet
