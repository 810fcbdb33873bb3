"""The picture of one workload: a bar for each stack, its interval, and the machine's ceiling, as shares of one scale.

The page draws it with boxes and text of its own, so no label can be clipped and no font is presumed. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fairground.report.boards import Board, BoardRow
from fairground.report.run.grid import Tier, reason_of, tiers


@dataclass(frozen=True)
class Bar:
    """One stack's bar; all places are in per cent of the scale's width. `low` and `high` are None without an interval."""

    row: BoardRow
    tier: Tier
    width: float
    low: float | None
    high: float | None
    reason: str


@dataclass(frozen=True)
class Picture:
    """The bars by falling rate. `ceiling` is the place of the machine's limit; `beyond`: it lies right of the scale."""

    bars: tuple[Bar, ...]
    right: float
    ceiling: float | None
    beyond: bool


def picture(board: Board) -> Picture:
    """The bars of a board on a scale from 0; the ceiling sets its end where it leaves room enough for the stacks."""
    rows = board.numbered
    ends = [max(row.middle or 0.0, row.interval.high if row.interval and _near(row) else 0.0) for row in rows]
    highest = max(ends, default=0.0) or 1.0
    rate = board.ceiling.rate_per_s if board.ceiling else None
    right = highest * 1.02
    if rate is not None and rate <= 2.5 * highest:
        right = max(right, rate * 1.01)
    found: Mapping[str, Tier] = tiers(board.goodput)
    bars = tuple(_bar(row, found.get(row.stack, Tier()), right) for row in rows)
    return Picture(bars, right, 100 * rate / right if rate is not None and rate <= right else None, bool(rate and rate > right))


def _bar(row: BoardRow, tier: Tier, right: float) -> Bar:
    ends = (None, None) if row.interval is None else (row.interval.low, row.interval.high)
    low, high = (None if end is None else min(100.0, 100 * end / right) for end in ends)
    return Bar(row, tier, 100 * (row.middle or 0.0) / right, low, high, reason_of(row))


def _near(row: BoardRow) -> bool:
    """An interval of more than twice the value would shrink every bar: it runs out of the picture instead."""
    return row.interval is not None and row.interval.high <= 2 * (row.middle or 0.0)
