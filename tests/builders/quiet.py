"""A lab in a process of its own whose trials are not void where others work beside it: see `quiet/sitecustomize.py`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from builders.paths import ROOT, TESTS

PATH = os.pathsep.join(str(one) for one in (TESTS / "quiet", TESTS, ROOT / "src"))
"""Where Python finds the lab, and what makes the machine quiet to it."""


def environment(cache: Path) -> Mapping[str, str]:
    """The environment of such a lab, with a cache of the tests' own. Its trials are tried once, so its exit code is known."""
    return {**os.environ, "FAIRGROUND_CACHE": str(cache), "CI": "1", "PYTHONPATH": PATH}
