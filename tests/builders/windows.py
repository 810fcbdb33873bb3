"""What was measured of an arm, as a schedule is told."""

from __future__ import annotations

from typing import Any, cast

from fairground.measure.arm import ArmWindow
from fairground.model import Load

LOAD = Load(connections=4, window_s=1.0, warmup_min_s=1.0, warmup_max_s=3.0)

RESULT = cast(Any, object())
"""What a whole window has, and a window in turns has not."""


def window(arm: str, number: int, ok: int = 1000, seconds: float = 1.0, warm_up: bool = False) -> ArmWindow:
    """What was measured of an arm."""
    return ArmWindow(arm, number, LOAD, ok, 0, seconds, {}, None, (), warm_up=warm_up)
