"""The findings that a busy machine causes by itself: they come and go, and say nothing of the server under test."""

from __future__ import annotations

from fairground.run import retry

COMES_AND_GOES = frozenset(
    ["generator", "send-lag", "unsent", "steadiness", "steady-median", "steady-cost", "warm-up", *retry.OF_THE_MACHINE]
)
