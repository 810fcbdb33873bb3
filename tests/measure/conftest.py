"""The folder of a session's raw data."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where raw data goes."""
    return tmp_path / "session"
