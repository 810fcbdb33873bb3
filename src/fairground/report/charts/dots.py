"""The small interval dot plot inside the result table, drawn as SVG without a renderer: numbers only, so nothing to escape.

Every trial is a dot, the thick dot the geometric mean over blocks, the bar its 95 % interval, the upright line the
machine's ceiling.
"""

from __future__ import annotations

from markupsafe import Markup

from fairground.report.boards import Board, Row
from fairground.report.text import words

WIDTH_PX, HEIGHT_PX, EDGE_PX = 220, 22, 6


def dots(board: Board, row: Row) -> Markup:
    """One row's plot on the board's scale."""
    right, middle_px = _scale(board), HEIGHT_PX / 2
    values = [trial.goodput_per_s for trial in row.numbered]
    marks = []
    if board.ceiling and board.ceiling.rate_per_s <= right:
        marks.append(f'<path class="limit" d="M{_x(board.ceiling.rate_per_s, right)} 2v{HEIGHT_PX - 4}"/>')
    if row.interval:
        low, high = _x(row.interval.low, right), _x(min(row.interval.high, right), right)
        marks.append(f'<path class="ci" d="M{low} {middle_px:g}H{high}"/>')
    trials = "".join(f"M{_x(value or 0.0, right)} {middle_px:g}h0" for value in values)
    marks.append(f'<path class="t" d="{trials}"/>')
    if row.middle is not None and len(values) > 1:
        marks.append(f'<path class="m" d="M{_x(row.middle, right)} {middle_px:g}h0"/>')
    label = "trials " + ", ".join(words.number(value) for value in values)
    return Markup(
        f'<svg class="dots" viewBox="0 0 {WIDTH_PX} {HEIGHT_PX}" role="img" aria-label="{label}">{"".join(marks)}</svg>'
    )


def axis(board: Board) -> Markup:
    """The board's scale, from 0, for the head of the column; nothing where there is no number to place on it."""
    if not board.numbered:
        return Markup()
    right = _scale(board)
    step = next(base * 10**power for power in range(-3, 12) for base in (1, 2, 5) if base * 10**power * 3.5 >= right)
    ticks = "".join(
        f'<text x="{_x(step * place, right)}" y="9" text-anchor="middle">{words.count(step * place)}</text>'
        f'<path d="M{_x(step * place, right)} 12v4"/>'
        for place in range(int(right / step) + 1)
        if step * place / right < 0.93
    )
    return Markup(f'<svg class="dots axis" viewBox="0 0 {WIDTH_PX} 16" aria-hidden="true">{ticks}</svg>')


def _scale(board: Board) -> float:
    """The right edge in good answers per second: the ceiling where it is near enough to leave room for the stacks."""
    values = [trial.goodput_per_s or 0.0 for row in board.numbered for trial in row.numbered]
    highest = max(values, default=0.0) or 1.0
    if board.ceiling and highest <= board.ceiling.rate_per_s <= 2.5 * highest:
        return board.ceiling.rate_per_s
    return highest * 1.05


def _x(value: float, right: float) -> str:
    return f"{EDGE_PX + value / right * (WIDTH_PX - 2 * EDGE_PX):.1f}".removesuffix(".0")
