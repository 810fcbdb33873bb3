"""The commands of `bench/` as modules."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from builders.paths import ROOT


def bench(name: str) -> Any:
    """A module of `bench/`, which is a folder of commands and no package."""
    folder = str(ROOT / "bench")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(name)
