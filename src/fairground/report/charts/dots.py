"""The small interval dot plot inside the result table, drawn as SVG of numbers only: nothing to escape.

Every trial is a dot, the thick dot the geometric mean over blocks, the bar its 95 % interval, the upright line the
machine's ceiling.
"""

from __future__ import annotations

from markupsafe import Markup

from fairground.report.boards import Board, BoardRow
from fairground.report.charts.scale import Scale, linear_ticks
from fairground.report.charts.svg import px
from fairground.report.text import words

WIDTH_PX, HEIGHT_PX, EDGE_PX = 220, 22, 6


def dots(board: Board, row: BoardRow) -> Markup:
    """One row's plot on the board's scale."""
    x, middle_px = _scale(board), HEIGHT_PX / 2
    values = [trial.goodput_per_s for trial in row.numbered]
    marks = []
    if board.ceiling and x.is_inside(board.ceiling.rate_per_s):
        marks.append(f'<path class="limit" d="M{px(x.px(board.ceiling.rate_per_s))} 2v{HEIGHT_PX - 4}"/>')
    if row.interval:
        marks.append(f'<path class="ci" d="M{px(x.px(row.interval.low))} {middle_px:g}H{px(x.px(row.interval.high))}"/>')
    trials = "".join(f"M{px(x.px(value or 0.0))} {middle_px:g}h0" for value in values)
    marks.append(f'<path class="t" d="{trials}"/>')
    if row.middle is not None and len(values) > 1:
        marks.append(f'<path class="m" d="M{px(x.px(row.middle))} {middle_px:g}h0"/>')
    label = "trials " + ", ".join(words.number(value) for value in values)
    return Markup(
        f'<svg class="dots" viewBox="0 0 {WIDTH_PX} {HEIGHT_PX}" role="img" aria-label="{label}">{"".join(marks)}</svg>'
    )


def axis(board: Board) -> Markup:
    """The board's scale, from 0, for the head of the column; nothing where there is no number to place on it."""
    if not board.numbered:
        return Markup()
    x = _scale(board)
    ticks = "".join(
        f'<text x="{px(x.px(value))}" y="9" text-anchor="middle">{value:,.10g}</text><path d="M{px(x.px(value))} 12v4"/>'
        for value in linear_ticks(x.high, 4)
        if value < 0.93 * x.high
    )
    return Markup(f'<svg class="dots axis" viewBox="0 0 {WIDTH_PX} 16" aria-hidden="true">{ticks}</svg>')


def _scale(board: Board) -> Scale:
    """Good answers per second, up to the ceiling where that is near enough to leave room for the stacks."""
    highest = max((trial.goodput_per_s or 0.0 for row in board.numbered for trial in row.numbered), default=0.0) or 1.0
    near = board.ceiling is not None and highest <= board.ceiling.rate_per_s <= 2.5 * highest
    right = board.ceiling.rate_per_s if near and board.ceiling else highest * 1.05
    return Scale(0, right, EDGE_PX, WIDTH_PX - EDGE_PX)
