"""The forest plot of a replication: for each claim with a published ratio a tick where it was published, and ours as an interval.

All lines share one logarithmic axis. What lies beyond its ends stands at them, with its number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fairground.report.charts import svg
from fairground.report.charts.scale import Scale, log_ticks
from fairground.report.text import words

WIDTH_PX, LINE_PX, HEAD_PX, FOOT_PX, NAMES_PX, NUMBERS_PX, EDGE_PX = 880, 22, 30, 34, 300, 150, 10
LEAST, MOST = 0.01, 200.0
COLOURS = {"holds": "valid", "does not hold": "rejected"}


@dataclass(frozen=True)
class ClaimLine:
    """One claim: its short name, the published ratio, ours with its interval, and the verdict's word."""

    name: str
    published: float
    middle: float
    low: float
    high: float
    verdict: str


def picture(lines: Sequence[ClaimLine]) -> Markup | None:
    """The plot; None where no claim has both numbers."""
    if not lines:
        return None
    seen = [value for one in lines for value in (one.published, one.low, one.high)]
    low, high = (min(MOST, max(LEAST, value)) for value in (min(seen), max(seen)))
    x = Scale(min(low, 0.9) / 1.1, max(high, 1.1) * 1.1, NAMES_PX, WIDTH_PX - NUMBERS_PX, log=True)
    foot_px = HEAD_PX + LINE_PX * len(lines)
    y = Scale(0, 1, foot_px, HEAD_PX)
    parts = [
        svg.foot_axis(x, y, svg.value_ticks(log_ticks(x.low, x.high)), "ratio, on a logarithmic axis", grid=True),
        svg.line([(x.px(1), HEAD_PX), (x.px(1), foot_px)], "soft", 1, "3 3"),
        svg.text(NAMES_PX - 8, 16, "claim", "soft", "end"),
        svg.text(WIDTH_PX - NUMBERS_PX + 8, 16, "published → here", "soft"),
    ]
    parts += [_line(one, x, HEAD_PX + LINE_PX * (place + 0.5)) for place, one in enumerate(lines)]
    said = "; ".join(f"{one.name}: {_numbers(one)}, {one.verdict}" for one in lines)
    return svg.picture(WIDTH_PX, foot_px + FOOT_PX, "Claims: published and measured ratios", parts, said)


def _line(one: ClaimLine, x: Scale, y: float) -> str:
    colour = COLOURS.get(one.verdict, "warned")
    label = f"{one.name}: {_numbers(one)}, {one.verdict}"
    at = x.px(one.published)
    return "".join(
        (
            svg.text(NAMES_PX - 8, y + 4, svg.fit(one.name, NAMES_PX - EDGE_PX - 8), "ink", "end"),
            svg.line([(x.px(one.low), y), (x.px(one.high), y)], colour, 2, label=label),
            svg.dot(x.px(one.middle), y, colour, 4, 1),
            svg.line([(at, y - 7), (at, y + 7)], "ink", 2),
            svg.text(WIDTH_PX - NUMBERS_PX + 8, y + 4, f"{words.number(one.published)} → {words.number(one.middle)}", "ink"),
        )
    )


def _numbers(one: ClaimLine) -> str:
    ends = f"{words.number(one.low)} to {words.number(one.high)}"
    return f"published {words.number(one.published)}, here {words.number(one.middle)} ({ends})"


def is_drawn(published: float | None, middle: float | None) -> bool:
    """True for numbers that have a place on a logarithmic axis."""
    return bool(published and middle and published > 0 and middle > 0 and math.isfinite(middle))
