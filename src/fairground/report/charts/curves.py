"""The latency percentile curves of a board: all trials' histograms added as a thick line, single trials as thin ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fairground.model import Trial
from fairground.report.boards import Board, Row, pooled, unanswered
from fairground.report.charts.frame import MOST_STACKS, Spec, framed, short
from fairground.report.charts.palette import LIGHT
from fairground.stats import intervals

FIRST_X = 1.3
"""Curves begin at the 25th percentile: the fastest answers are not what the picture is about."""

_PERCENTILES = {2: "50", 10: "90", 100: "99", 1_000: "99.9", 10_000: "99.99", 100_000: "99.999", 1_000_000: "99.9999"}


def latency_rows(board: Board) -> tuple[Row, ...]:
    """The rows whose trials all keep a histogram; the first `MOST_STACKS` are drawn."""
    return tuple(
        row for row in board.numbered if all(t.result and t.result.latency_ok and t.result.latency_ok.v2 for t in row.numbered)
    )


def latency(board: Board, colours: Mapping[str, int], width_px: int) -> Spec | None:
    """Percentile curves: x is 1 / (1 − p) on a log scale, y milliseconds on a log scale over whole decades."""
    lines: list[dict[str, Any]] = []
    ends: list[dict[str, Any]] = []
    for row in latency_rows(board)[:MOST_STACKS]:
        colour = LIGHT[f"stack-{colours[row.stack]}"] if row.stack in colours else LIGHT["other"]
        if row.stack in colours and len(row.numbered) > 1:
            for trial in row.numbered:
                lines += _curve(row.stack, [trial], colour, f"trial {trial.number}")
        thick = _curve(row.stack, row.numbered, colour, "")
        lines += thick
        if thick:
            ends.append(next(point for point in reversed(thick) if not point["left"]) | {"name": row.stack})
    if not ends:
        return None
    values = [line["ms"] for line in lines if line["ms"] is not None]
    low, high = 10 ** math.floor(math.log10(min(values))), 10 ** math.ceil(math.log10(max(values) * 1.0001))
    for line in lines:
        line["ms"] = high if line["ms"] is None else line["ms"]
    wide = width_px > 500
    height_px = 260 if wide else 220
    room_px = 150 if wide else 8
    plot_px = width_px - room_px - 46
    layers = [
        _lines([line for line in lines if line["trial"]], 0.8, 0.45),
        _lines([line for line in lines if not line["trial"]], 2.0, 1.0),
    ]
    layers[1]["mark"]["aria"] = True
    if any(line["left"] for line in lines):
        layers.append(_band(high))
    if wide:
        layers += _end_labels(ends, low, high, plot_px, height_px)
    last = max(line["x"] for line in lines)
    axes = {
        "x": {
            "field": "x",
            "type": "quantitative",
            "title": "percentile of requests",
            "scale": {"type": "log", "domain": [FIRST_X, last * 1.02], "nice": False},
            "axis": {"values": [x for x in _PERCENTILES if x <= last * 1.02], "labelExpr": _label_expression()},
        },
        "y": {
            "field": "ms",
            "type": "quantitative",
            "title": "latency, ms (log)",
            "scale": {"type": "log", "domain": [low, high], "nice": False},
            "axis": {"values": _decade_ticks(low, high), "format": ",~g"},
        },
    }
    return framed(
        {"width": plot_px, "height": height_px, "encoding": axes, "layer": layers}, f"Latency percentile curves, {board.workload}"
    )


def _curve(stack: str, trials: Sequence[Trial], colour: str, name: str) -> list[dict[str, Any]]:
    """One line. Requests without a good answer lie beyond every latency: there the line leaves at the top (ms None)."""
    histogram = pooled(trials)
    if histogram is None:
        return []
    lost = unanswered(trials)
    steps = 4 if name else 8
    points = intervals.percentile_curve(histogram.values_us, histogram.counts, beyond=lost, steps_per_decade=steps)
    label = f"{stack}{f', {name}' if name else ''}"
    line: list[dict[str, Any]] = [
        {"x": short(x), "ms": short(value / 1000), "name": label, "colour": colour, "trial": name, "left": False}
        for x, value in points
        if x >= FIRST_X
    ]
    if line and lost >= intervals.FEW_TAIL_SAMPLES:
        leaves = (histogram.total + lost) / lost
        line += [
            {"x": short(leaves), "ms": ms, "name": label, "colour": colour, "trial": name, "left": ms is None}
            for ms in (line[-1]["ms"], None)
        ]
    return line


def _lines(values: list[dict[str, Any]], width: float, opacity: float) -> Spec:
    return {
        "data": {"values": values},
        "mark": {"type": "line", "strokeWidth": width, "strokeOpacity": opacity, "aria": False, "interpolate": "linear"},
        "encoding": {"detail": {"field": "name"}, "stroke": {"field": "colour", "scale": None}, "description": {"field": "name"}},
    }


def _band(top_ms: float) -> Spec:
    """The edge at which a line leaves when the requests beyond have no good answer."""
    return {
        "data": {"values": [{"ms": top_ms}]},
        "mark": {
            "type": "text",
            "text": "↑ no good answer",
            "align": "right",
            "baseline": "bottom",
            "dy": -4,
            "fontSize": 10,
            "aria": False,
            "color": LIGHT["rejected"],
        },
        "encoding": {"x": {"value": "width"}},
    }


def _end_labels(ends: list[dict[str, Any]], low: float, high: float, plot_px: int, height_px: int) -> list[Spec]:
    """Names at the right edge, pushed apart so that none covers another, each with a hair line from its curve's end."""
    named = sorted((end for end in ends if end["colour"] != LIGHT["other"]), key=lambda end: -(end["ms"] or high))
    span = math.log10(high) - math.log10(low)
    tops = [height_px * (math.log10(high) - math.log10(end["ms"] or high)) / span for end in named]
    placed = spread(tops, 14.0, float(height_px))
    labels = []
    for end, top in zip(named, placed, strict=True):
        text = {
            "type": "text",
            "text": end["name"],
            "align": "left",
            "baseline": "middle",
            "fontSize": 11,
            "dx": 8,
            "color": end["colour"],
            "aria": False,
        }
        labels.append(
            {"data": {"values": [{}]}, "mark": text, "encoding": {"x": {"value": plot_px}, "y": {"value": round(top, 1)}}}
        )
        hair = {"type": "rule", "color": LIGHT["line"], "strokeWidth": 1, "aria": False}
        labels.append(
            {
                "data": {"values": [{"x": end["x"], "ms": end["ms"] or high}]},
                "mark": hair,
                "encoding": {"x2": {"value": plot_px + 5}, "y2": {"value": round(top, 1)}},
            }
        )
    return labels


def spread(tops: Sequence[float], gap: float, bottom: float) -> list[float]:
    """Move sorted positions apart to at least `gap`, downwards first, then back up from `bottom`."""
    placed: list[float] = []
    for top in tops:
        placed.append(max(top, placed[-1] + gap) if placed else top)
    for place in range(len(placed) - 1, -1, -1):
        ceiling = bottom if place == len(placed) - 1 else placed[place + 1] - gap
        placed[place] = min(placed[place], ceiling)
    return placed


def _decade_ticks(low: float, high: float) -> list[float]:
    decades = round(math.log10(high / low))
    steps = (1, 2, 5) if decades <= 2 else (1,)
    return [
        short(low * 10**decade * step)
        for decade in range(decades + 1)
        for step in steps
        if low * 10**decade * step <= high * 1.0001
    ]


def _label_expression() -> str:
    cases = "".join(f"datum.value == {x} ? '{name}' : " for x, name in _PERCENTILES.items())
    return f"{cases}''"
