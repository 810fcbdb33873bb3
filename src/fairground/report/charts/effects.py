"""Intervals against the margin of equivalence, one line for each quantity of each cell: SVG that needs no renderer.

A row has its name, its numbers and its word in letters. On one logarithmic scale it shows the pale margin within which both sides
are equivalent, the upright line of no change, each start as a small dot, the mean as a large one, and the 95 % interval as a bar.
To the right is better. What lies beyond the edge is an arrow there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from fairground.model import foreign
from fairground.report.charts import forest
from fairground.report.charts.palette import LIGHT
from fairground.stats.differences import Difference, Word
from fairground.stats.intervals import brief

WIDE_PX = 600
"""From so many pixels on a row's name and its numbers stand on one line."""
LINE_PX, PLOT_PX, GAP_PX, EDGE_PX, AXIS_PX = 18, 30, 12, 14, 40
COLOURS = {Word.FASTER: "valid", Word.SLOWER: "warned", Word.EQUIVALENT: "soft", Word.INCONCLUSIVE: "void"}


@dataclass(frozen=True)
class Effect:
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


@dataclass(frozen=True)
class _Scale:
    width_px: int
    bound: float
    """How far it reaches to both sides of no change, as a logarithm."""

    def x(self, ratio: float) -> str:
        value = max(-self.bound, min(self.bound, math.log(ratio)))
        return f"{EDGE_PX + (value / self.bound + 1) / 2 * (self.width_px - 2 * EDGE_PX):.1f}"

    def shows(self, ratio: float) -> bool:
        return abs(math.log(ratio)) <= self.bound


def picture(effects: Sequence[Effect], width_px: int) -> Markup:
    """All of them under each other on one scale."""
    scale = _Scale(width_px, forest.reach((one.ratios, one.difference) for one in effects))
    text_px = LINE_PX if width_px >= WIDE_PX else 2 * LINE_PX
    row_px = text_px + PLOT_PX + GAP_PX
    rows = "".join(
        _words(one, width_px, place * row_px) + _marks(one, scale, place * row_px + text_px) for place, one in enumerate(effects)
    )
    foot = _axis(scale, len(effects) * row_px, sorted({one.margin for one in effects}))
    label = escape("; ".join(f"{one.name}: {one.said}" for one in effects))
    height_px = len(effects) * row_px + AXIS_PX
    return Markup(
        f'<svg class="marks" viewBox="0 0 {width_px} {height_px}" width="{width_px}" height="{height_px}" role="img"'
        f' aria-label="{label}" font-size="13">{rows}{foot}</svg>'
    )


def _words(one: Effect, width_px: int, top_px: int) -> str:
    name = f'<text x="{EDGE_PX}" y="{top_px + 13}" font-weight="600" fill="{LIGHT["ink"]}">{escape(one.name)}</text>'
    x, y, anchor = (width_px - EDGE_PX, top_px + 13, "end") if width_px >= WIDE_PX else (EDGE_PX, top_px + 13 + LINE_PX, "start")
    return name + f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{LIGHT["ink"]}">{escape(one.said)}</text>'


def _marks(one: Effect, scale: _Scale, top_px: int) -> str:
    middle, foot = top_px + PLOT_PX / 2, top_px + PLOT_PX
    low, high, none = scale.x(1 / (1 + one.margin)), scale.x(1 + one.margin), scale.x(1)
    drawn = f'<path d="M{low} {top_px}H{high}V{foot}H{low}Z" fill="{LIGHT["good"]}" opacity=".55"/>'
    drawn += f'<path d="M{none} {top_px}V{foot}" stroke="{LIGHT["soft"]}"/>'
    colour, interval = LIGHT[COLOURS[one.difference.word]], one.difference.ratio
    if interval is not None:
        bar = f"M{scale.x(interval.low)} {middle:g}H{scale.x(interval.high)}"
        ends = "".join(f"M{scale.x(end)} {middle - 5:g}v10" for end in (interval.low, interval.high) if scale.shows(end))
        drawn += f'<path d="{bar}{ends}" stroke="{colour}" stroke-width="2.5" fill="none"/>'
    starts = "".join(f"M{scale.x(ratio)} {middle:g}h0" for ratio in one.ratios if scale.shows(ratio))
    if starts:
        drawn += f'<path d="{starts}" stroke="{LIGHT["ink"]}" stroke-width="6" stroke-linecap="round" opacity=".5"/>'
    return drawn if interval is None else drawn + _mean(interval.middle, scale, middle, colour)


def _mean(ratio: float, scale: _Scale, y: float, colour: str) -> str:
    x = float(scale.x(ratio))
    if scale.shows(ratio):
        return f'<circle cx="{x:g}" cy="{y:g}" r="6" fill="{colour}"/>'
    back = 8 if ratio < 1 else -8
    return f'<path d="M{x + back:g} {y - 6:g}L{x:g} {y:g}L{x + back:g} {y + 6:g}Z" fill="{colour}"/>'


def _axis(scale: _Scale, top_px: int, margins: Sequence[float]) -> str:
    """Ticks as ratios, which way is better, and what the margin is."""
    room_px, shown = 34.0, list[tuple[float, float]]()
    for tick in sorted(forest.TICKS, key=lambda tick: (abs(math.log(tick)), tick)):
        place = float(scale.x(tick))
        if scale.shows(tick) and all(abs(place - other) >= room_px for _, other in shown):
            shown.append((tick, place))
    ticks = "".join(
        f'<path d="M{place:g} {top_px - 6}v5" stroke="{LIGHT["soft"]}"/>'
        f'<text x="{place:g}" y="{top_px + 10}" text-anchor="middle" font-size="11">{name} ×</text>'
        for name, place in ((forest.NAMES.get(tick, f"{tick:g}"), place) for tick, place in shown)
    )
    margin = f"shaded: equivalent, ± {' or '.join(f'{brief(one * 100)} %' for one in margins)}"
    under = f'y="{top_px + 30}" font-size="11"'
    return (
        f'<g fill="{LIGHT["soft"]}">{ticks}<text x="{EDGE_PX}" {under}>← B is worse</text>'
        f'<text x="{scale.width_px / 2:g}" {under} text-anchor="middle">{margin}</text>'
        f'<text x="{scale.width_px - EDGE_PX}" {under} text-anchor="end">B is better →</text></g>'
    )
