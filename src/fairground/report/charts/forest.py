"""The forest plot: ratios to the anchor on a logarithmic scale, drawn as SVG without a renderer: numbers only, nothing to escape.

Small dots are blocks, the thick dot their geometric mean, the bar its 95 % interval, the upright line the anchor. The pale band
is what would be equivalent, the dashed one what identical stacks differed by. To the right is better. What lies beyond the edge
is an arrow there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from markupsafe import Markup

from fairground.report.text import words
from fairground.stats.comparisons import Comparison, Quantity
from fairground.stats.differences import PRACTICAL, Difference, Word

WIDTH_PX, HEIGHT_PX, EDGE_PX = 240, 22, 8
LEAST, MOST = 0.06, 3.0
"""The scale reaches at least ± 6 % and at most to a third and to three times."""

TICKS = (1 / 3, 0.5, 2 / 3, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0)
NAMES = {1 / 3: "⅓", 0.5: "½", 2 / 3: "⅔"}
CLASSES = {Word.FASTER: "more", Word.SLOWER: "less", Word.EQUIVALENT: "equal", Word.INCONCLUSIVE: "unclear"}
GLYPHS = {Word.FASTER: "▲", Word.SLOWER: "▼", Word.EQUIVALENT: "=", Word.INCONCLUSIVE: "?"}


def reach(found: Iterable[tuple[Iterable[float], Difference]]) -> float:
    """How far a scale goes to both sides of 1, as a logarithm, so that what it shows fits on it."""
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
    middle, ratios = HEIGHT_PX / 2, tuple(ratios)
    marks = [] if practical is None else [_band("near", math.log1p(practical), bound)]
    if floor is not None:
        marks.append(_band("floor", math.log1p(floor), bound))
    marks.append(f'<path class="one" d="M{_x(0.0, bound)} 1v{HEIGHT_PX - 2}"/>')
    interval = difference.ratio
    if interval is not None:
        low, high = math.log(interval.low), math.log(interval.high)
        marks.append(f'<path class="ci" d="M{_x(low, bound)} {middle:g}H{_x(high, bound)}"/>')
    inside = [math.log(ratio) for ratio in ratios if abs(math.log(ratio)) <= bound]
    if inside:
        marks.append('<path class="t" d="' + "".join(f"M{_x(value, bound)} {middle:g}h0" for value in inside) + '"/>')
    if interval is not None:
        marks.append(_middle(math.log(interval.middle), bound, middle))
    label = f"ratios {', '.join(words.number(ratio) for ratio in ratios)}" + (
        f"; mean {words.number(interval.middle)} ×" if interval is not None else ""
    )
    kind = CLASSES[difference.word]
    size = f'viewBox="0 0 {WIDTH_PX} {HEIGHT_PX}"'
    return Markup(f'<svg class="dots forest {kind}" {size} role="img" aria-label="{label}">{"".join(marks)}</svg>')


def axis(bound: float, quantity: Quantity | None) -> Markup:
    """The scale's ticks as ratios, for the head of the column; `quantity` is None where rows of several share it."""
    room, shown = 26.0, list[tuple[float, float]]()
    for tick in sorted(TICKS, key=lambda tick: (abs(math.log(tick)), tick)):
        place = float(_x(math.log(tick), bound))
        if abs(math.log(tick)) <= bound and all(abs(place - other) >= room for _, other in shown):
            shown.append((tick, place))
    ticks = "".join(
        f'<text x="{place:g}" y="9" text-anchor="middle">{NAMES.get(tick, f"{tick:g}")}</text><path d="M{place:g} 12v4"/>'
        for tick, place in sorted(shown)
    )
    better = {Quantity.GOODPUT: "more", Quantity.CPU: "cheaper", None: "better"}[quantity]
    label = f'role="img" aria-label="to the right is {better}"'
    return Markup(f'<svg class="dots forest axis" viewBox="0 0 {WIDTH_PX} 16" {label}>{ticks}</svg>')


def _middle(value: float, bound: float, y: float) -> str:
    if abs(value) <= bound:
        return f'<path class="m" d="M{_x(value, bound)} {y:g}h0"/>'
    left, tip = (EDGE_PX + 4, EDGE_PX - 4) if value < 0 else (WIDTH_PX - EDGE_PX - 4, WIDTH_PX - EDGE_PX + 4)
    return f'<path class="beyond" d="M{left} {y - 5:g}L{tip} {y:g}L{left} {y + 5:g}Z"/>'


def _band(name: str, half: float, bound: float) -> str:
    left, right = _x(-half, bound), _x(half, bound)
    return f'<path class="{name}" d="M{left} 3H{right}V{HEIGHT_PX - 3}H{left}Z"/>'


def _x(value: float, bound: float) -> str:
    inner = WIDTH_PX - 2 * EDGE_PX
    return f"{EDGE_PX + (max(-bound, min(bound, value)) / bound + 1) / 2 * inner:.1f}".removesuffix(".0")
