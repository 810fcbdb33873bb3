"""The forest plot: ratios to the anchor on a logarithmic scale, drawn as SVG of numbers only: nothing to escape.

Small dots are blocks, the thick dot their geometric mean, the bar its 95 % interval, the upright line the anchor. The pale band
is what would be equivalent, the dashed one what identical stacks differed by. To the right is better. What lies beyond the edge
is an arrow there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from markupsafe import Markup

from fairground.report.charts.scale import Scale, ratio_scale, ratio_ticks
from fairground.report.charts.svg import px
from fairground.report.text import words
from fairground.stats.comparisons import Comparison, Quantity
from fairground.stats.differences import PRACTICAL, Difference, DifferenceWord

WIDTH_PX, HEIGHT_PX, EDGE_PX = 240, 22, 8
LEAST, MOST = 0.06, 3.0
"""The scale reaches at least ± 6 % and at most to a third and to three times."""

CLASSES = {
    DifferenceWord.FASTER: "more",
    DifferenceWord.SLOWER: "less",
    DifferenceWord.EQUIVALENT: "equal",
    DifferenceWord.INCONCLUSIVE: "unclear",
}
GLYPHS = {
    DifferenceWord.FASTER: "▲",
    DifferenceWord.SLOWER: "▼",
    DifferenceWord.EQUIVALENT: "=",
    DifferenceWord.INCONCLUSIVE: "?",
}


def reach(found: Iterable[tuple[Iterable[float], Difference]]) -> float:
    """The distance, as a logarithm, that a scale goes to both sides of 1, so that what it shows fits."""
    seen = [abs(math.log(ratio)) for ratios, _ in found for ratio in ratios]
    intervals = [difference.ratio for _, difference in found if difference.ratio is not None]
    seen += [abs(math.log(bound)) for interval in intervals for bound in (interval.low, interval.high)]
    return min(math.log(MOST), max(math.log1p(LEAST), 1.05 * max(seen, default=0.0)))


def scale(comparison: Comparison) -> float:
    """The reach of all rows of a comparison."""
    return reach([(row.ratios, row.difference) for row in comparison.rows])


def forest(
    ratios: Iterable[float], difference: Difference, floor: float | None, bound: float, practical: float | None = PRACTICAL
) -> Markup:
    """One row on a scale that reaches to ± `bound` (a logarithm). `practical` is the margin of equivalence, None to show none."""
    x, middle, ratios = ratio_scale(bound, WIDTH_PX, EDGE_PX), HEIGHT_PX / 2, tuple(ratios)
    marks = [] if practical is None else [_band("near", practical, x)]
    if floor is not None:
        marks.append(_band("floor", floor, x))
    marks.append(f'<path class="one" d="M{px(x.px(1))} 1v{HEIGHT_PX - 2}"/>')
    interval = difference.ratio
    if interval is not None:
        marks.append(f'<path class="ci" d="M{px(x.px(interval.low))} {middle:g}H{px(x.px(interval.high))}"/>')
    inside = [x.px(ratio) for ratio in ratios if x.is_inside(ratio)]
    if inside:
        marks.append('<path class="t" d="' + "".join(f"M{px(place)} {middle:g}h0" for place in inside) + '"/>')
    if interval is not None:
        marks.append(_middle(interval.middle, x, middle))
    label = f"ratios {', '.join(words.number(ratio) for ratio in ratios)}" + (
        f"; mean {words.number(interval.middle)} ×" if interval is not None else ""
    )
    kind = CLASSES[difference.word]
    size = f'viewBox="0 0 {WIDTH_PX} {HEIGHT_PX}"'
    return Markup(f'<svg class="dots forest {kind}" {size} role="img" aria-label="{label}">{"".join(marks)}</svg>')


def axis(bound: float, quantity: Quantity | None) -> Markup:
    """The scale's ticks as ratios, for the head of the column; `quantity` is None where rows of several share it."""
    ticks = "".join(
        f'<text x="{px(place)}" y="9" text-anchor="middle">{name}</text><path d="M{px(place)} 12v4"/>'
        for place, name in ratio_ticks(ratio_scale(bound, WIDTH_PX, EDGE_PX), 26)
    )
    better = {Quantity.GOODPUT: "more", Quantity.CPU: "cheaper", None: "better"}[quantity]
    label = f'role="img" aria-label="to the right is {better}"'
    return Markup(f'<svg class="dots forest axis" viewBox="0 0 {WIDTH_PX} 16" {label}>{ticks}</svg>')


def _middle(ratio: float, x: Scale, y: float) -> str:
    if x.is_inside(ratio):
        return f'<path class="m" d="M{px(x.px(ratio))} {y:g}h0"/>'
    left, tip = (EDGE_PX + 4, EDGE_PX - 4) if ratio < 1 else (WIDTH_PX - EDGE_PX - 4, WIDTH_PX - EDGE_PX + 4)
    return f'<path class="beyond" d="M{left} {y - 5:g}L{tip} {y:g}L{left} {y + 5:g}Z"/>'


def _band(name: str, margin: float, x: Scale) -> str:
    left, right = px(x.px(1 / (1 + margin))), px(x.px(1 + margin))
    return f'<path class="{name}" d="M{left} 3H{right}V{HEIGHT_PX - 3}H{left}Z"/>'
