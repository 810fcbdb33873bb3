"""Published beside measured: a line from what was published to what was measured, for each stack.

Machines differ, so each side is scaled to its own largest number: a level line is a stack that stands where it was published. One
whose place changed is dashed. Every end has its name or its number beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fairground.model import foreign
from fairground.report.charts import svg
from fairground.report.text import words

HEAD_PX, LEAST_PX, LINE_PX, PLOT_PX, EDGE_PX, LETTER_PX = 34, 220, 16, 250, 10, 7.0
LEADER_PX = 14


@dataclass(frozen=True)
class Slope:
    """One stack. `measured` None: no trial of it has a number."""

    name: str
    published: float
    measured: float | None


def picture(rows: Sequence[Slope], unit: str) -> Markup | None:
    """The lines of a table; None where no two of them have both ends."""
    whole = [one for one in rows if one.measured is not None]
    if len(whole) < 2:
        return None
    texts = [foreign.line(f"{one.name} · {words.number(one.published)}") for one in rows]
    left_px = EDGE_PX + LEADER_PX + LETTER_PX * max(len("published"), *map(len, texts))
    ends = [words.number(one.measured) for one in whole]
    right_px = EDGE_PX + LEADER_PX + LETTER_PX * max(len("measured here"), *map(len, ends))
    height_px = max(LEAST_PX, LINE_PX * len(rows))
    published = _heights([one.published for one in rows], height_px)
    measured = dict(zip((one.name for one in whole), _heights([one.measured or 0.0 for one in whole], height_px), strict=True))
    moved = _moved(whole)
    x, far = left_px, left_px + PLOT_PX
    lines = "".join(
        _line(x, at, far, measured[one.name], one.name in moved)
        for one, at in zip(rows, published, strict=True)
        if one.name in measured
    )
    left, low = _labels(texts, published, x, -1)
    right, lower = _labels(ends, list(measured.values()), far, 1)
    width, foot = far + right_px, max(low, lower, HEAD_PX + height_px) + LINE_PX
    said = "; ".join(
        f"{one.name} {words.number(one.published)} published, {words.number(one.measured)} measured" for one in whole
    )
    head = [
        svg.text(place, 14, name, "ink", anchor, 12, font_weight="600")
        + svg.line([(place, HEAD_PX - 8), (place, HEAD_PX + height_px + 8)], "line")
        for place, anchor, name in ((x, "end", "published"), (far, "start", "measured here"))
    ]
    return svg.picture(width, foot, f"Published and measured, {unit}", [*head, lines, left, right], said, size_px=12)


def _heights(values: Sequence[float], height_px: float) -> list[float]:
    """The heights of values, from the top: the largest is there, 0 at the bottom."""
    most = max(values)
    return [HEAD_PX + height_px * (1 - (value / most if most else 0.0)) for value in values]


def _moved(whole: Sequence[Slope]) -> set[str]:
    """The stacks that stand in another place than they were published in."""
    before = [one.name for one in sorted(whole, key=lambda one: -one.published)]
    after = [one.name for one in sorted(whole, key=lambda one: -(one.measured or 0.0))]
    return {name for name, other in zip(before, after, strict=True) if name != other}


def _line(x: float, y: float, far: float, at: float, moved: bool) -> str:
    colour = "warned" if moved else "valid"
    ends = svg.dot(x, y, colour, 4, 1) + svg.dot(far, at, colour, 4, 1)
    return svg.line([(x, y), (far, at)], colour, 2, "6 4" if moved else "") + ends


def _labels(texts: Sequence[str], heights: Sequence[float], x: float, side: int) -> tuple[str, float]:
    """Texts beside their places, moved down where they would cover each other; and how far down the last one stands."""
    drawn, last, edge = "", 0.0, x + side * LEADER_PX
    for at, text in sorted(zip(heights, texts, strict=True)):
        last = max(at, last + LINE_PX)
        drawn += svg.line([(x + side * 5, at), (edge - side * 2, last)], "other")
        drawn += svg.text(edge, last + 4, text, "ink", "end" if side < 0 else "start", 12)
    return drawn, last
