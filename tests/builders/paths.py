"""Where the repository and its tests are."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
ENGINE = ROOT / "engine" / "target" / "release" / "fairload"
