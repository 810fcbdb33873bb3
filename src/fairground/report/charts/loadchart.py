"""The load curve as a chart: goodput and latency over the offered rate, every trial as a dot; and an overload second by second.

Two panels share their axis of offered rates. Above: good answers a second, with the line on which all are answered, the rates
between which capacity lies, the knee, and what an overload left of it. Below: p50 and p99 on a log scale with the objective's
deadline. Latencies are not drawn where the queue grew: there they say how long the step was. Each mark has its word beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fairground.capacity import loadcurve
from fairground.capacity.loadcurve import Point, Word
from fairground.model import Second
from fairground.report.charts.frame import WIDTHS_PX, Spec, framed, short
from fairground.report.charts.palette import LIGHT
from fairground.report.text import words

LATENCIES = ((0.5, "p50", "stack-3"), (0.99, "p99", "stack-1"))
ROOM_PX = 64


PANEL_PX = 176
WORD_PX, NEXT_WORD_PX = 8, 22
"""How far below the upper edge words on rates stand; those that could meet stand on different lines."""


@dataclass(frozen=True)
class Around:
    """What stands around a curve's steps. `kept_per_s` and `missed_per_s` are the rates between which capacity lies."""

    kept_per_s: float | None = None
    missed_per_s: float | None = None
    deadline_us: float | None = None
    knee_per_s: float | None = None
    overload: tuple[Point, ...] = ()
    """The steps in which more was offered than it can give."""


def specs(name: str, points: Sequence[Point], around: Around,
          seconds: Sequence[Second] = (), offered: Sequence[tuple[float, float]] = ()) -> dict[str, Spec]:  # fmt: skip
    """The charts of one load curve in all widths, by name; a chart that would be empty is not among them."""
    found: dict[str, Spec] = {}
    for width_px in WIDTHS_PX:
        if points:
            found[f"{name}.{width_px}"] = curve(points, around, width_px)
        if seconds:
            found[f"{name}-overload.{width_px}"] = overload(seconds, offered, width_px)
    return found


def curve(points: Sequence[Point], around: Around, width_px: int) -> Spec:
    """Goodput and latency over the offered rate."""
    plot_px = width_px - ROOM_PX
    right = short(1.04 * max(point.step.rate_per_s for point in (*points, *around.overload)))
    x = {
        "field": "x",
        "type": "quantitative",
        "title": "offered rate, requests per second",
        "scale": {"domain": [0, right], "nice": False},
        "axis": {"format": ",.6~g", "tickCount": 8 if width_px > 500 else 4, "grid": False},
    }
    panels = [_goodput(points, around, right), _latency(points, around)]
    rows = [{"width": plot_px, "height": PANEL_PX, "encoding": {"x": x}, "layer": panel} for panel in panels if panel]
    return framed({"vconcat": rows, "spacing": 14}, "Load curve: goodput and latency over the offered rate")


def overload(seconds: Sequence[Second], offered: Sequence[tuple[float, float]], width_px: int) -> Spec:
    """Good answers in each second, and the offered rate as a step. `offered`: rates and for how many seconds."""
    line, at_s = list[dict[str, Any]](), 0.0
    for rate, lasted_s in offered:
        line += [{"x": at_s, "y": short(rate)}, {"x": at_s + lasted_s, "y": short(rate)}]
        at_s += lasted_s
    bars = [{"x": one.second + 0.5, "y": one.ok, "name": f"second {one.second + 1}: {one.ok:,} good answers"}
            for one in seconds if one.second < at_s]  # fmt: skip
    x = {
        "field": "x",
        "type": "quantitative",
        "title": "seconds",
        "scale": {"domain": [0, at_s], "nice": False},
        "axis": {"grid": False, "format": "~g"},
    }
    layers = [
        _dots(bars, "stack-1") | {"mark": {"type": "circle", "size": 30, "color": LIGHT["stack-1"], "opacity": 0.8}},
        {
            "data": {"values": line},
            "mark": {"type": "line", "color": LIGHT["warned"], "strokeDash": [4, 3], "strokeWidth": 1.5, "aria": False},
            "encoding": {"y": _y("good answers per second")},
        },
    ]
    return framed(
        {"width": width_px - ROOM_PX, "height": 150, "encoding": {"x": x}, "layer": layers},
        "Overload, second by second: good answers against the offered rate",
    )


def _goodput(points: Sequence[Point], around: Around, right: float) -> list[Spec]:
    grew = [point for point in points if point.judgement.word is Word.UNSTABLE]
    rest = [point for point in points if point.judgement.word is not Word.UNSTABLE]
    diagonal = {
        "data": {"values": [{"x": 0, "y": 0}, {"x": right, "y": right}]},
        "mark": {"type": "line", "color": LIGHT["soft"], "strokeDash": [2, 3], "strokeWidth": 1, "aria": False},
        "encoding": {"y": _y("good answers per second")},
    }
    layers = [*_band(around), diagonal, _dots(_marks(rest), "stack-1"), _crosses(_marks(grew))]
    if around.overload:
        layers += _overloads(_marks(around.overload))
    if around.knee_per_s is not None:
        rule = {"type": "rule", "color": LIGHT["soft"], "strokeWidth": 1, "aria": False}
        layers.append({"data": {"values": [{"x": short(around.knee_per_s)}]}, "mark": rule})
        layers.append(_word(around.knee_per_s, "knee", "right", NEXT_WORD_PX))
    for rate, word, side in ((around.kept_per_s, "kept", "right"), (around.missed_per_s, "missed", "left")):
        if rate is not None:
            layers.append(_word(rate, f"{word} {words.number(rate)}", side, WORD_PX))
    return layers


def _marks(points: Iterable[Point]) -> list[dict[str, Any]]:
    return [{"x": short(point.step.rate_per_s), "y": short(point.step.goodput_per_s), "name": _said(point)} for point in points]


def _word(rate: float, text: str, align: str, y_px: int) -> Spec:
    """A word beside an upright place, so that no colour or line has to be known."""
    mark = {"type": "text", "text": text, "align": align, "dx": -4 if align == "right" else 4, "color": LIGHT["ink"],
            "fontSize": 11, "aria": False}  # fmt: skip
    return {"data": {"values": [{"x": short(rate)}]}, "mark": mark, "encoding": {"y": {"value": y_px}}}


def _latency(points: Sequence[Point], around: Around) -> list[Spec]:
    """Dots for each trial that has enough requests beyond the percentile, and a line through their geometric means."""
    layers, values = list[Spec](), list[float]()
    for share, name, colour in LATENCIES:
        known = [(point, loadcurve.percentile_us(point.step, share)) for point in points if point.stable]
        pairs = [(short(point.step.rate_per_s), short(us / 1000), point) for point, us in known if us is not None]
        dots = [{"x": rate, "y": ms, "name": f"{name} {ms:g} ms, {_said(point)}"} for rate, ms, point in pairs]
        if dots:
            means = [{"x": rate, "y": short(mean)} for rate, mean in _means((rate, ms) for rate, ms, _ in pairs)]
            line = {"type": "line", "color": LIGHT[colour], "strokeWidth": 1.5, "strokeOpacity": 0.6, "aria": False}
            end = {"type": "text", "text": name, "align": "left", "dx": 6, "color": LIGHT[colour], "fontSize": 11, "aria": False}
            y = {"y": _y("latency, ms (log)", log=True)}
            layers += [{"data": {"values": means}, "mark": line, "encoding": y}, _dots(dots, colour, log=True)]
            layers.append({"data": {"values": [means[-1]]}, "mark": end, "encoding": y})
            values += [ms for _, ms, _ in pairs]
    if not values:
        return []
    deadline_ms = None if around.deadline_us is None else around.deadline_us / 1000
    if deadline_ms is not None and min(values) / 10 <= deadline_ms <= max(values) * 10:
        layers = [*_deadline(deadline_ms), *layers]
    return [*_band(around), *layers]


def _deadline(deadline_ms: float) -> list[Spec]:
    """The objective's deadline as a line with its name."""
    data, y = {"values": [{"y": short(deadline_ms)}]}, _y("latency, ms (log)", log=True)
    rule = {"type": "rule", "color": LIGHT["warned"], "strokeDash": [4, 3], "strokeWidth": 1.5, "aria": False}
    name = {"type": "text", "text": f"objective: {words.number(deadline_ms)} ms", "align": "left", "baseline": "bottom", "dy": -2,
            "color": LIGHT["ink"], "fontSize": 11, "aria": False}  # fmt: skip
    return [
        {"data": data, "mark": rule, "encoding": {"x": None, "y": y}},
        {"data": data, "mark": name, "encoding": {"x": {"value": 4}, "y": y}},
    ]


def _band(around: Around) -> list[Spec]:
    """The rates between which capacity lies, behind everything."""
    low, high = around.kept_per_s, around.missed_per_s
    if low is None or high is None:
        return []
    mark = {"type": "rect", "color": LIGHT["good"], "opacity": 0.55, "aria": False}
    return [{"data": {"values": [{"x": short(low), "x2": short(high)}]}, "mark": mark, "encoding": {"x2": {"field": "x2"}}}]


def _dots(values: list[dict[str, Any]], colour: str, log: bool = False) -> Spec:
    title = "latency, ms (log)" if log else "good answers per second"
    return {
        "data": {"values": values},
        "mark": {"type": "circle", "size": 36, "color": LIGHT[colour], "opacity": 0.75},
        "encoding": {"y": _y(title, log), "description": {"field": "name"}},
    }


def _crosses(values: list[dict[str, Any]]) -> Spec:
    """Steps in which the queue grew."""
    mark = {"type": "point", "shape": "cross", "angle": 45, "filled": True, "size": 70, "color": LIGHT["rejected"]}
    encoding = {"y": _y("good answers per second"), "description": {"field": "name"}}
    return {"data": {"values": values}, "mark": mark, "encoding": encoding}


def _overloads(values: list[dict[str, Any]]) -> list[Spec]:
    """What it gave while more was offered than it can give."""
    mark = {"type": "point", "shape": "diamond", "filled": True, "size": 80, "color": LIGHT["warned"]}
    encoding = {"y": _y("good answers per second"), "description": {"field": "name"}}
    name = {"type": "text", "text": "overload", "align": "right", "dx": -8, "color": LIGHT["ink"], "fontSize": 11, "aria": False}
    return [
        {"data": {"values": values}, "mark": mark, "encoding": encoding},
        {"data": {"values": values[:1]}, "mark": name, "encoding": {"y": _y("good answers per second")}},
    ]


def _y(title: str, log: bool = False) -> dict[str, Any]:
    scale: dict[str, Any] = {"type": "log"} if log else {"zero": True}
    return {"field": "y", "type": "quantitative", "title": title, "scale": scale, "axis": {"format": ",.6~g", "tickCount": 5}}


def _means(pairs: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    by_rate: dict[float, list[float]] = {}
    for rate, value in pairs:
        by_rate.setdefault(rate, []).append(math.log(value))
    return [(rate, math.exp(math.fsum(logs) / len(logs))) for rate, logs in sorted(by_rate.items())]


def _said(point: Point) -> str:
    step = point.step
    return (
        f"{point.phase} {point.trial}: offered {words.number(step.rate_per_s)}/s, good {words.number(step.goodput_per_s)}/s,"
        f" {point.judgement.word}"
    )
