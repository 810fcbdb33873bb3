"""A run's charts, each at every width: the tail, CPU per answer, and goodput in each second. Pure.

Names are `form.board.width`, as in `latency.WORKLOAD.880`. The page shows one of the widths by style.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fairground.model import Run, Verdict
from fairground.report.boards import ROLES, Board, BoardRow, boards, stack_colours
from fairground.report.charts import percentiles, svg
from fairground.report.charts.scale import Scale, linear_ticks
from fairground.report.text import words
from fairground.stats import intervals

MOST_CELLS = 36
"""Windows drawn on one steadiness chart."""
ROW_PX, PANEL_PX, PANEL_GAP_PX, GAP_PX = 30, 40, 26, 10
LEFT_PX, EDGE_PX, LEAST_PANEL_PX = 48, 12, 24
"""Beside a steadiness chart, to its left and right, and the least width of a window in it."""


def pictures(run: Run) -> dict[str, Markup]:
    """All charts of a run at all widths. A board without the numbers for a form has no chart of that form."""
    shown = boards(run, judged=False)
    colours = stack_colours(shown)
    drawn: dict[str, Markup] = {}
    for board in shown:
        for width_px in svg.WIDTHS_PX:
            made = {
                "latency": percentiles.of_board(board, colours, width_px),
                "cpu": _cpu(board, width_px),
                "steadiness": _steadiness(board, colours, width_px),
            }
            drawn |= {f"{form}.{board.id}.{width_px}": chart for form, chart in made.items() if chart is not None}
    return drawn


def cpu_rows(board: Board) -> tuple[BoardRow, ...]:
    """The rows whose server's CPU is known, cheapest first; the first `MOST_STACKS` are drawn."""
    return tuple(sorted((row for row in board.numbered if row.cpu_us("server") is not None), key=cpu_total_us))


def steadiness_rows(board: Board) -> tuple[BoardRow, ...]:
    """The rows with numbers per second; the first `most_windows` are drawn."""
    return tuple(row for row in board.rows if any(trial.result and trial.result.seconds for trial in row.trials))


def most_windows(rows: Sequence[BoardRow]) -> int:
    """The number of rows of windows that fit on one chart."""
    return max(2, MOST_CELLS // max(1, len(_blocks(rows))))


def most_blocks(width_px: int) -> int:
    """The number of columns of windows that fit beside each other on a chart of this many pixels."""
    return int((width_px - LEFT_PX - EDGE_PX) / (LEAST_PANEL_PX + GAP_PX))


def cpu_total_us(row: BoardRow) -> float:
    """CPU of all roles but the generator in µs per good answer, as far as it is known."""
    return sum(row.cpu_us(role) or 0.0 for role in ROLES)


def _cpu(board: Board, width_px: int) -> Markup | None:
    """CPU in µs per good answer: one bar per stack, a segment per role, the generator as a thin bar of its own."""
    rows = cpu_rows(board)[: svg.MOST_STACKS]
    longest = max((max(cpu_total_us(row), row.cpu_us("generator") or 0.0) for row in rows), default=0.0)
    if not longest:
        return None
    left_px = 150 if width_px > svg.WIDE_PX else 118
    x = Scale(0, longest * 1.02, left_px, width_px - 52)
    y = Scale(0, 1, 8 + ROW_PX * len(rows), 4)
    ticks = svg.value_ticks(linear_ticks(longest, 7 if width_px > svg.WIDE_PX else 4))
    parts = [svg.foot_axis(x, y, ticks, "CPU, µs per good answer", grid=True)]
    for place, row in enumerate(rows):
        parts += _bar(row, x, 8 + ROW_PX * place)
    said = "; ".join(f"{row.stack} {words.number(cpu_total_us(row))} µs" for row in rows)
    return svg.picture(width_px, y.start_px + 40, f"CPU per good answer by role, {board.workload}", parts, said)


def _bar(row: BoardRow, x: Scale, top_px: float) -> list[str]:
    """Draw a stack: its name, a segment per role in the order of the request's path, the total, and the generator's thin bar."""
    drawn = [svg.text(x.start_px - 6, top_px + 11, svg.fit(row.stack, x.start_px - 8), anchor="end")]
    start_us, total_us = 0.0, cpu_total_us(row)
    for role in ROLES:
        cost_us = row.cpu_us(role)
        if not cost_us:
            continue
        left, right = x.px(start_us), x.px(start_us + cost_us)
        said = intervals.significant(cost_us)
        drawn.append(svg.box(left, top_px, max(left + 0.5, right - 1), top_px + 14, role, label=f"{row.stack}: {role} {said} µs"))
        if right - left > 10 + svg.LETTER_PX * len(said):
            drawn.append(svg.text((left + right) / 2, top_px + 11, said, "on-role", "middle", 10))
        start_us += cost_us
    drawn.append(svg.text(x.px(total_us) + 5, top_px + 11, words.number(total_us), "ink"))
    if generator_us := row.cpu_us("generator"):
        drawn.append(svg.box(x.start_px, top_px + 17, x.px(generator_us), top_px + 20, "generator"))
    return drawn


@dataclass(frozen=True)
class _Panels:
    """A grid of small plots on one scale of goodput: a row for each stack and a column for each block."""

    left_px: float
    width_px: float
    seconds: int
    most: float

    def of(self, row: int, column: int) -> tuple[Scale, Scale]:
        """The scales of one panel: seconds, and good answers in a second."""
        left_px = self.left_px + column * (self.width_px + GAP_PX)
        foot_px = 34 + row * (PANEL_PX + PANEL_GAP_PX) + PANEL_PX
        x = Scale(0, max(1, self.seconds - 1), left_px, left_px + self.width_px)
        return x, Scale(0, self.most * 1.08, foot_px, foot_px - PANEL_PX)


def _steadiness(board: Board, colours: Mapping[str, int], width_px: int) -> Markup | None:
    """Goodput per second, a row per stack, a column per block, one scale for all. Of many blocks the last ones are drawn."""
    rows = steadiness_rows(board)
    rows = rows[: most_windows(rows)]
    blocks = _blocks(rows)[-most_blocks(width_px) :]
    windows = {(row.stack, block): _window(row, block) for row in rows for block in blocks}
    lines = [points for points in windows.values() if not isinstance(points, str)]
    most = max((ok for points in lines for _, ok in points), default=0)
    if not most:
        return None
    panel_px = (width_px - LEFT_PX - EDGE_PX) / len(blocks) - GAP_PX
    panels = _Panels(LEFT_PX, panel_px, max(second for points in lines for second, _ in points) + 1, most)
    parts = []
    for column, block in enumerate(blocks):
        x, _ = panels.of(0, column)
        head = f"block {block}" if panel_px > svg.LETTER_PX * len(f"block {blocks[-1]}") else f"{block}"
        parts.append(svg.text((x.start_px + x.end_px) / 2, 11, head, anchor="middle"))
    for place, row in enumerate(rows):
        colour = f"stack-{colours[row.stack]}" if row.stack in colours else "soft"
        parts += _panel_row(panels, place, row.stack, [windows[row.stack, block] for block in blocks], colour)
    for column in range(len(blocks)):
        x, y = panels.of(len(rows) - 1, column)
        ticks = [tick for tick in linear_ticks(x.high, 2 if panel_px < 60 else 4) if tick.is_integer()]
        parts.append(svg.foot_axis(x, y, svg.value_ticks(ticks)))
    height_px = panels.of(len(rows) - 1, 0)[1].start_px + 24
    said = f"good answers in each second, from 0 to {words.count(most)}"
    return svg.picture(width_px, height_px, f"Goodput per second of each window, {board.workload}", parts, said)


def _panel_row(
    panels: _Panels, place: int, stack: str, windows: Sequence[str | Sequence[tuple[int, int]]], colour: str
) -> list[str]:
    """One stack's windows. Its name stands in the first, for beside the panels it would take a quarter of a narrow chart."""
    x, y = panels.of(place, 0)
    drawn = [
        svg.left_axis(x, y, svg.value_ticks(linear_ticks(panels.most, 3)), grid=False),
        svg.text(x.start_px, y.end_px - 5, stack, "ink"),
    ]
    for column, window in enumerate(windows):
        x, y = panels.of(place, column)
        if isinstance(window, str):
            drawn.append(svg.text((x.start_px + x.end_px) / 2, y.end_px + 24, window, "void", "middle", 10))
        else:
            points = [(x.px(second), y.px(ok)) for second, ok in window]
            drawn.append(svg.line(points, colour, 1.5) if len(points) > 1 else svg.dot(*points[0], colour))
    return drawn


def _window(row: BoardRow, block: int) -> str | tuple[tuple[int, int], ...]:
    """(second, good answers) of the last sound attempt of a block, or the word for why there are none."""
    tried = sorted((trial for trial in row.trials if trial.block == block), key=lambda one: one.verdict is not Verdict.VOID)
    if not tried or tried[-1].result is None or not tried[-1].result.seconds:
        return "not measured"
    if tried[-1].verdict in (Verdict.VOID, Verdict.REJECTED):
        return str(tried[-1].verdict)
    return tuple((second.second, second.ok) for second in tried[-1].result.seconds)


def _blocks(rows: Iterable[BoardRow]) -> tuple[int, ...]:
    return tuple(sorted({trial.block for row in rows for trial in row.trials}))
