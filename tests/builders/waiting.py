"""Waiting for what becomes true in time."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 10.0
DATABASE_S = 30.0
"""The time that a database may take."""


def eventually(holds: Callable[[], object], timeout_s: float = PATIENCE_S) -> bool:
    """Whether something becomes true in time."""
    deadline = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
