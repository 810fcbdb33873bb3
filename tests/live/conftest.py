"""What live tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders.fleet import Fleet
from builders.paths import ROOT


@pytest.fixture
def fleet(cache: Path, tmp_path: Path) -> Iterator[Fleet]:
    """No process yet."""
    found = Fleet({**os.environ, "FAIRGROUND_CACHE": str(cache), "CI": "1", "PYTHONPATH": str(ROOT / "src")}, tmp_path)
    yield found
    found.end()
