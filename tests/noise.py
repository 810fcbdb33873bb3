"""Findings that a restless machine makes: they come and go, and say nothing of the server."""

from __future__ import annotations

from fairground import validity

OF_THE_MACHINE = frozenset(
    ["generator", "steadiness", "steady-median", "steady-cost", "warm-up"]
    + [check.id for check in validity.CHECKS if check.of == "machine"]
)
