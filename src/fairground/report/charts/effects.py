"""Intervals against the margin of equivalence, one line for each quantity of each cell.

A row has its name, its numbers and its word in letters. On one logarithmic scale it shows the pale margin within which both sides
are equivalent, the upright line of no change, each start as a small dot, the mean as a large one, and the 95 % interval as a bar.
To the right is better. What lies beyond the edge is an arrow there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fairground.model import foreign
from fairground.report.charts import forest, svg
from fairground.report.charts.palette import LIGHT
from fairground.report.charts.scale import Scale, ratio_scale, ratio_ticks
from fairground.stats.differences import Difference, DifferenceWord
from fairground.stats.intervals import brief

WIDE_PX = 600
"""From this many pixels on a row's name and its numbers stand on one line."""
LINE_PX, PLOT_PX, GAP_PX, EDGE_PX, AXIS_PX = 18, 30, 12, 14, 40
COLOURS = {
    DifferenceWord.FASTER: "valid",
    DifferenceWord.SLOWER: "warned",
    DifferenceWord.EQUIVALENT: "soft",
    DifferenceWord.INCONCLUSIVE: "void",
}


@dataclass(frozen=True)
class EffectRow:
    """One quantity of one cell. `ratios` and `difference` are turned so that more is better; `shown` is what is said of it."""

    cell: str
    quantity: str
    ratios: tuple[float, ...]
    difference: Difference
    margin: float
    shown: str

    @property
    def name(self) -> str:
        return foreign.line(f"{self.cell} · {self.quantity}")

    @property
    def said(self) -> str:
        """Numbers and word, with the sign that tells the word without its colour."""
        return foreign.line(f"{self.shown} {forest.GLYPHS[self.difference.word]}")


def draw_effects(effects: Sequence[EffectRow], width_px: int) -> Markup:
    """All of them under each other on one scale."""
    x = ratio_scale(forest.reach((one.ratios, one.difference) for one in effects), width_px, EDGE_PX)
    text_px = LINE_PX if width_px >= WIDE_PX else 2 * LINE_PX
    row_px = text_px + PLOT_PX + GAP_PX
    parts = [
        _words(one, width_px, place * row_px) + _marks(one, x, place * row_px + text_px) for place, one in enumerate(effects)
    ]
    parts.append(_axis(x, width_px, len(effects) * row_px, sorted({one.margin for one in effects})))
    said = "; ".join(f"{one.name}: {one.said}" for one in effects)
    return svg.picture(width_px, len(effects) * row_px + AXIS_PX, "B against A", parts, said, size_px=13)


def _words(one: EffectRow, width_px: int, top_px: int) -> str:
    name = svg.text(EDGE_PX, top_px + 13, one.name, "ink", size_px=13, font_weight="600")
    if width_px >= WIDE_PX:
        return name + svg.text(width_px - EDGE_PX, top_px + 13, one.said, "ink", "end", 13)
    return name + svg.text(EDGE_PX, top_px + 13 + LINE_PX, one.said, "ink", size_px=13)


def _marks(one: EffectRow, x: Scale, top_px: int) -> str:
    middle, foot = top_px + PLOT_PX / 2, top_px + PLOT_PX
    drawn = svg.box(x.px(1 / (1 + one.margin)), top_px, x.px(1 + one.margin), foot, "good", 0.55)
    drawn += svg.line([(x.px(1), top_px), (x.px(1), foot)], "soft")
    colour, interval = COLOURS[one.difference.word], one.difference.ratio
    if interval is not None:
        drawn += svg.line([(x.px(interval.low), middle), (x.px(interval.high), middle)], colour, 2.5)
        ends = [end for end in (interval.low, interval.high) if x.is_inside(end)]
        drawn += "".join(svg.line([(x.px(end), middle - 5), (x.px(end), middle + 5)], colour, 2.5) for end in ends)
    starts = "".join(f"M{svg.px(x.px(ratio))} {middle:g}h0" for ratio in one.ratios if x.is_inside(ratio))
    if starts:
        drawn += f'<path d="{starts}" stroke="{LIGHT["ink"]}" stroke-width="6" stroke-linecap="round" opacity="0.5"/>'
    return drawn if interval is None else drawn + _mean(interval.middle, x, middle, colour)


def _mean(ratio: float, x: Scale, y: float, colour: str) -> str:
    at = x.px(ratio)
    if x.is_inside(ratio):
        return svg.dot(at, y, colour, 6, 1)
    back = 8 if ratio < 1 else -8
    return svg.shape(f"M{svg.px(at + back)} {y - 6:g}L{svg.px(at)} {y:g}L{svg.px(at + back)} {y + 6:g}Z", colour)


def _axis(x: Scale, width_px: int, top_px: int, margins: Sequence[float]) -> str:
    """Ticks as ratios, which way is better, and what the margin is."""
    drawn = ""
    for place, name in ratio_ticks(x, 34):
        drawn += svg.line([(place, top_px - 6), (place, top_px - 1)], "soft")
        drawn += svg.text(place, top_px + 10, f"{name} ×", anchor="middle", size_px=11)
    margin = f"shaded: equivalent, ± {' or '.join(f'{brief(one * 100)} %' for one in margins)}"
    drawn += svg.text(EDGE_PX, top_px + 30, "← B is worse", size_px=11)
    drawn += svg.text(width_px / 2, top_px + 30, margin, anchor="middle", size_px=11)
    return drawn + svg.text(width_px - EDGE_PX, top_px + 30, "B is better →", anchor="end", size_px=11)
