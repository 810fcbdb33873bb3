"""Golden files: compare, or rewrite them all with FAIRGROUND_GOLDEN=write. A mismatch leaves what was got beside the golden."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"


def check(name: str, got: str) -> None:
    """Fail unless the golden `name` holds exactly `got`."""
    golden, left = FOLDER / name, FOLDER / f"{name}.got"
    if os.environ.get("FAIRGROUND_GOLDEN") == "write":
        golden.write_text(got, encoding="utf-8")
        left.unlink(missing_ok=True)
        return
    expected = golden.read_text(encoding="utf-8") if golden.exists() else ""
    if got != expected:
        left.write_text(got, encoding="utf-8")
        raise AssertionError(f"{golden} differs from {left.name}: compare them, then FAIRGROUND_GOLDEN=write rewrites it")
    left.unlink(missing_ok=True)
