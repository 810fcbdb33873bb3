"""The latency percentile curve: of a board with every trial as a thin line, and of one trial alone.

x is 1 / (1 − p) and y is milliseconds, both logarithmic. A line ends at the last percentile that enough samples carry. Requests
without a good answer lie beyond every latency: there the line leaves at the top.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fairground.model import Trial
from fairground.report.boards import Board, BoardRow, add_histograms, count_unanswered
from fairground.report.charts import svg
from fairground.report.charts.scale import Scale, log_ticks, spread, whole_decades
from fairground.report.text import words
from fairground.stats import intervals

FIRST_X = 1.3
"""Curves begin at the 23rd percentile: the fastest answers are not what the picture is about."""
PERCENTILES = {2.0: "50", 10.0: "90", 1e2: "99", 1e3: "99.9", 1e4: "99.99", 1e5: "99.999", 1e6: "99.9999"}
LEFT_PX, TOP_PX, FOOT_PX, NAMES_PX = 56, 20, 40, 130


@dataclass(frozen=True)
class Curve:
    """Points (1 / (1 − p), ms) of some trials' added histograms. `leaves_at`: the x beyond which no request has a good answer."""

    points: tuple[tuple[float, float], ...]
    leaves_at: float | None

    @property
    def last_x(self) -> float:
        return self.leaves_at or self.points[-1][0]


def curve_of(trials: Sequence[Trial], steps_per_decade: int = 8) -> Curve | None:
    """The curve of trials together; None where they keep no histogram, or too few samples for a line."""
    histogram = add_histograms(trials)
    if histogram is None:
        return None
    lost = count_unanswered(trials)
    found = intervals.percentile_curve(histogram.values_us, histogram.counts, lost, steps_per_decade=steps_per_decade)
    points = tuple((x, us / 1000) for x, us in found if x >= FIRST_X and us > 0)
    if len(points) < 2:
        return None
    return Curve(points, (histogram.total + lost) / lost if lost >= intervals.FEW_TAIL_SAMPLES else None)


def latency_rows(board: Board) -> tuple[BoardRow, ...]:
    """The rows whose trials all keep a histogram; the first `MOST_STACKS` are drawn."""
    return tuple(
        row for row in board.numbered if all(t.result and t.result.latency_ok and t.result.latency_ok.v2 for t in row.numbered)
    )


def of_board(board: Board, colours: Mapping[str, int], width_px: int) -> Markup | None:
    """The curves of a board; None where no stack has one."""
    rows = latency_rows(board)[: svg.MOST_STACKS]
    thick = [(row.stack, curve) for row in rows if (curve := curve_of(row.numbered)) is not None]
    if not thick:
        return None
    singles = [
        (row.stack, trial.number, curve)
        for row in rows
        if row.stack in colours and len(row.numbered) > 1
        for trial in row.numbered
        if (curve := curve_of([trial], steps_per_decade=4)) is not None
    ]
    is_wide = width_px > svg.WIDE_PX
    height_px = 320 if is_wide else 280
    plot = _Plot.around(
        [*(curve for _, _, curve in singles), *(curve for _, curve in thick)], width_px - (NAMES_PX if is_wide else 12), height_px
    )

    def colour(stack: str) -> str:
        return f"stack-{colours[stack]}" if stack in colours else "other"

    parts = [plot.axes("percentile of requests", "latency, ms (log)")]
    parts += [plot.line(curve, colour(stack), 0.8, f"{stack}, trial {number}", 0.45) for stack, number, curve in singles]
    parts += [plot.line(curve, colour(stack), 2, stack) for stack, curve in thick]
    if is_wide:
        parts += _end_names(plot, [(stack, colour(stack), curve) for stack, curve in thick if stack in colours])
    ends = "; ".join(f"{stack} ends at {words.number(curve.points[-1][1])} ms" for stack, curve in thick)
    return svg.picture(width_px, height_px, f"Latency percentile curves, {board.workload}", parts, ends)


def of_trial(trial: Trial, width_px: int, height_px: int) -> Markup | None:
    """The curve of one trial; None where it has none."""
    curve = curve_of([trial]) if trial.result is not None else None
    if curve is None:
        return None
    plot = _Plot.around([curve], width_px - 20, height_px)
    parts = (plot.axes("percentile of requests", "ms (log)"), plot.line(curve, "server", 2))
    return svg.picture(width_px, height_px, "Latency of good answers in ms at each percentile", parts)


@dataclass(frozen=True)
class _Plot:
    x: Scale
    y: Scale
    leaves: bool
    """Some line leaves at the top."""

    @classmethod
    def around(cls, curves: Sequence[Curve], end_px: float, height_px: float) -> _Plot:
        low, high = whole_decades(ms for curve in curves for _, ms in curve.points)
        last_x = 1.02 * max(curve.last_x for curve in curves)
        x = Scale(FIRST_X, last_x, LEFT_PX, end_px, log=True)
        return cls(x, Scale(low, high, height_px - FOOT_PX, TOP_PX, log=True), any(curve.leaves_at for curve in curves))

    def axes(self, across: str, up: str) -> str:
        under = [(value, name) for value, name in PERCENTILES.items() if self.x.is_inside(value)]
        drawn = svg.left_axis(self.x, self.y, svg.value_ticks(log_ticks(self.y.low, self.y.high)), up)
        drawn += svg.foot_axis(self.x, self.y, under, across, grid=True)
        top = svg.text(self.x.end_px, TOP_PX - 6, "↑ no good answer", "rejected", "end", 10) if self.leaves else ""
        return drawn + top

    def line(self, curve: Curve, colour: str, width_px: float, label: str = "", opacity: float = 1) -> str:
        points = [(self.x.px(x), self.y.px(ms)) for x, ms in curve.points]
        if curve.leaves_at is not None:
            edge_px = self.x.px(curve.leaves_at)
            points += [(edge_px, points[-1][1]), (edge_px, self.y.end_px)]
        return svg.line(points, colour, width_px, opacity=opacity, label=label)


def _end_names(plot: _Plot, named: Sequence[tuple[str, str, Curve]]) -> list[str]:
    """Draw the names at the right edge, with a hair line from each curve's end. They are pushed apart: none covers another."""
    ends = sorted((plot.y.px(curve.points[-1][1]), stack, colour, curve) for stack, colour, curve in named)
    tops = spread([top for top, *_ in ends], 14.0, plot.y.start_px)
    drawn = []
    for (end, stack, colour, curve), top in zip(ends, tops, strict=True):
        drawn.append(svg.line([(plot.x.px(curve.last_x), end), (plot.x.end_px + 5, top)], "line"))
        drawn.append(svg.text(plot.x.end_px + 8, top + 4, svg.fit(stack, NAMES_PX - 8), colour))
    return drawn
