"""Draw what steps add to the cost of an answer: a bar for each step, with its interval. What saves goes to the left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fairground.report.charts import svg
from fairground.report.charts.scale import Scale, linear_ticks
from fairground.report.text import words

WIDTH_PX, LINE_PX, HEAD_PX, FOOT_PX, NAMES_PX, NUMBERS_PX, EDGE_PX = 880, 22, 12, 40, 340, 90, 10
MOST = 24
"""More steps need a table, which is below."""


@dataclass(frozen=True)
class WaterfallStep:
    """One step: its name, and what it adds, with the ends of its interval."""

    name: str
    middle: float
    low: float
    high: float


def picture(steps: Sequence[WaterfallStep], axis: str, unit: str) -> Markup | None:
    """The bars in the order given, the first MOST of them; None without any. `axis`: what it is that they add."""
    shown = steps[:MOST]
    if not shown:
        return None
    low, high = _reach(shown)
    if low == high:
        high = 1.0
    x = Scale(low * 1.1, high * 1.1, NAMES_PX, WIDTH_PX - NUMBERS_PX)
    foot_px = HEAD_PX + LINE_PX * len(shown)
    y = Scale(0, 1, foot_px, HEAD_PX)
    marks = linear_ticks(max(high, -low), 6)
    ticks = svg.value_ticks(tick for tick in (*(-one for one in marks[:0:-1]), *marks) if low <= tick <= high)
    parts = [svg.foot_axis(x, y, ticks, axis, grid=True)]
    parts += [_bar(one, x, HEAD_PX + LINE_PX * (place + 0.5), unit) for place, one in enumerate(shown)]
    said = "; ".join(f"{one.name}: {words.number(one.middle)} {unit}" for one in shown)
    return svg.picture(WIDTH_PX, foot_px + FOOT_PX, "What a step adds to an answer", parts, said)


def _reach(shown: Sequence[WaterfallStep]) -> tuple[float, float]:
    """The ends of the scale: all bars with their intervals, but no more than as far again as the bars go."""
    low, high = (end(0.0, *(one.middle for one in shown)) for end in (min, max))
    room = (high - low) or math.inf
    return max(low - room, min(low, *(one.low for one in shown))), min(high + room, max(high, *(one.high for one in shown)))


def _bar(one: WaterfallStep, x: Scale, y: float, unit: str) -> str:
    left, right = sorted((x.px(0), x.px(one.middle)))
    ends = f" ({words.number(one.low)} to {words.number(one.high)})" if one.low < one.high else ", one block"
    label = f"{one.name}: {words.number(one.middle)} {unit}{ends}"
    return "".join(
        (
            svg.text(NAMES_PX - 8, y + 4, svg.fit(one.name, NAMES_PX - EDGE_PX - 8), "ink", "end"),
            svg.box(left, y - 7, max(right, left + 1), y + 7, "server", 0.8, label),
            svg.line([(x.px(one.low), y), (x.px(one.high), y)], "ink", 1.5),
            *(
                svg.shape(_arrow(x.px(end), y, 5 if end > 0 else -5), "ink")
                for end in (one.low, one.high)
                if not x.is_inside(end)
            ),
            svg.text(WIDTH_PX - NUMBERS_PX + 8, y + 4, words.number(one.middle), "ink"),
        )
    )


def _arrow(x: float, y: float, length: float) -> str:
    """The outline of an arrow at the edge: the interval goes on beyond it."""
    return f"M{svg.px(x)} {svg.px(y - 4)}L{svg.px(x + length)} {svg.px(y)}L{svg.px(x)} {svg.px(y + 4)}Z"
