"""The load curve as a chart: goodput and latency over the offered rate, every trial as a dot; and an overload second by second.

Two panels share their axis of offered rates. Above: good answers a second, with the line on which all are answered, the rates
between which capacity lies, the knee, and what an overload left of it. Below: p50 and p99 on a log scale with the objective's
deadline. Latencies are not drawn where the queue grew: there they say how long the step was. Each mark has its word beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fairground.capacity import loadcurve
from fairground.capacity.loadcurve import CurvePoint, StepWord
from fairground.model import Second
from fairground.report.charts import svg
from fairground.report.charts.scale import Scale, linear_ticks, log_ticks, whole_decades
from fairground.report.text import words
from fairground.report.text.rows import rate_text

LATENCIES = ((0.5, "p50", "stack-3"), (0.99, "p99", "stack-1"))
LEFT_PX, RIGHT_PX, TOP_PX = 62, 34, 10
PANEL_PX, FOOT_PX, OVERLOAD_PX = 176, 44, 150
WORD_PX, NEXT_WORD_PX = 10, 24
"""How far below the upper edge words on rates stand; those that could meet stand on different lines."""


@dataclass(frozen=True)
class Around:
    """The marks around a curve's steps. `kept_per_s` and `missed_per_s` are the rates between which capacity lies."""

    kept_per_s: float | None = None
    missed_per_s: float | None = None
    deadline_us: float | None = None
    knee_per_s: float | None = None
    overload: tuple[CurvePoint, ...] = ()
    """The steps in which more was offered than it can give."""


def pictures(name: str, points: Sequence[CurvePoint], around: Around,
             seconds: Sequence[Second] = (), offered: Sequence[tuple[float, float]] = ()) -> dict[str, Markup]:  # fmt: skip
    """The charts of one load curve in all widths, by name; a chart that would be empty is not among them."""
    found: dict[str, Markup] = {}
    for width_px in svg.WIDTHS_PX:
        if points:
            found[f"{name}.{width_px}"] = curve(points, around, width_px)
        if seconds and offered:
            found[f"{name}-overload.{width_px}"] = overload(seconds, offered, width_px)
    return found


def curve(points: Sequence[CurvePoint], around: Around, width_px: int) -> Markup:
    """Goodput and latency over the offered rate."""
    right = 1.04 * max(point.step.rate_per_s for point in (*points, *around.overload))
    x = Scale(0, right, LEFT_PX, width_px - RIGHT_PX)
    parts = _goodput(points, around, x)
    below = _latency(points, around, x)
    height_px = TOP_PX + PANEL_PX + FOOT_PX + (14 + PANEL_PX + FOOT_PX if below else 0)
    title = "Load curve: goodput and latency over the offered rate"
    return svg.picture(width_px, height_px, title, [*parts, *below], "; ".join(map(_said, points)))


def overload(seconds: Sequence[Second], offered: Sequence[tuple[float, float]], width_px: int) -> Markup:
    """Good answers in each second, and the offered rate as a step. `offered`: rates and for how many seconds."""
    end_s = math.fsum(lasted_s for _, lasted_s in offered)
    shown = [one for one in seconds if one.second < end_s]
    most = max((*(one.ok for one in shown), *(rate for rate, _ in offered)))
    x = Scale(0, end_s, LEFT_PX, width_px - RIGHT_PX)
    y = Scale(0, most * 1.05, TOP_PX + OVERLOAD_PX, TOP_PX)
    step, at_s = list[tuple[float, float]](), 0.0
    for rate, lasted_s in offered:
        step += [(x.px(at_s), y.px(rate)), (x.px(at_s + lasted_s), y.px(rate))]
        at_s += lasted_s
    parts = [_axes(x, y, "seconds", linear_ticks(most, 5)), svg.line(step, "warned", 1.5, "4 3")]
    parts += [
        svg.dot(x.px(one.second + 0.5), y.px(one.ok), "stack-1", label=f"second {one.second + 1}: {one.ok:,} good answers")
        for one in shown
    ]
    title = "Overload, second by second: good answers against the offered rate"
    return svg.picture(width_px, TOP_PX + OVERLOAD_PX + FOOT_PX, title, parts)


def _axes(x: Scale, y: Scale, across: str, ticks: Sequence[float], up: str = "good answers per second") -> str:
    is_wide = x.end_px > svg.WIDE_PX
    under = svg.value_ticks(linear_ticks(x.high, 9 if is_wide else 5))
    return svg.left_axis(x, y, svg.value_ticks(ticks), up) + svg.foot_axis(x, y, under, across)


def _goodput(points: Sequence[CurvePoint], around: Around, x: Scale) -> list[str]:
    """The upper panel."""
    most = max(point.step.goodput_per_s for point in (*points, *around.overload))
    y = Scale(0, max(most * 1.04, x.high), TOP_PX + PANEL_PX, TOP_PX)
    parts = [*_band(around, x, y), _axes(x, y, "offered rate, requests per second", linear_ticks(y.high, 6))]
    parts.append(svg.line([(x.px(0), y.px(0)), (x.px(x.high), y.px(x.high))], "soft", 1, "2 3"))
    for point in points:
        across, up = x.px(point.step.rate_per_s), y.px(point.step.goodput_per_s)
        grew = point.judgement.word is StepWord.UNSTABLE
        parts.append(_cross(across, up, _said(point)) if grew else svg.dot(across, up, "stack-1", label=_said(point)))
    for place, point in enumerate(around.overload):
        across, up = x.px(point.step.rate_per_s), y.px(point.step.goodput_per_s)
        path = f"M{svg.px(across)} {svg.px(up - 6)}l6 6l-6 6l-6-6Z"
        parts.append(svg.shape(path, "warned", label=_said(point)))
        if place == 0:
            parts.append(svg.text(across - 10, up + 4, "overload", "ink", "end"))
    if around.knee_per_s is not None:
        knee_px = x.px(around.knee_per_s)
        parts.append(svg.line([(knee_px, y.start_px), (knee_px, y.end_px)], "soft"))
        parts.append(svg.text(knee_px - 4, TOP_PX + NEXT_WORD_PX, "knee", "ink", "end"))
    for rate, word, side in ((around.kept_per_s, "kept", -4), (around.missed_per_s, "missed", 4)):
        if rate is not None:
            said, anchor = f"{word} {rate_text(rate)}", "end" if side < 0 else "start"
            parts.append(svg.text(x.px(rate) + side, TOP_PX + WORD_PX, said, "ink", anchor))
    return parts


def _cross(x: float, y: float, label: str) -> str:
    """A step in which the queue grew."""
    arms = f"M{svg.px(x)} {svg.px(y - 2)}l4-4l2 2l-4 4l4 4l-2 2l-4-4l-4 4l-2-2l4-4l-4-4l2-2Z"
    return svg.shape(arms, "rejected", label=label)


def _latency(points: Sequence[CurvePoint], around: Around, x: Scale) -> list[str]:
    """The lower panel: a dot for each trial that has enough requests beyond the percentile, lines through geometric means."""
    known = {
        name: [(point, us / 1000) for point in points if point.stable and (us := loadcurve.percentile_us(point.step, share))]
        for share, name, _ in LATENCIES
    }
    values = [ms for pairs in known.values() for _, ms in pairs]
    if not values:
        return []
    deadline_ms = None if around.deadline_us is None else around.deadline_us / 1000
    if deadline_ms is not None and not min(values) / 10 <= deadline_ms <= max(values) * 10:
        deadline_ms = None
    top_px = TOP_PX + PANEL_PX + FOOT_PX + 14
    y = Scale(*whole_decades([*values, *([] if deadline_ms is None else [deadline_ms])]), top_px + PANEL_PX, top_px, log=True)
    ticks = log_ticks(y.low, y.high)
    parts = [*_band(around, x, y), _axes(x, y, "offered rate, requests per second", ticks, "latency, ms (log)")]
    if deadline_ms is not None:
        at_px = y.px(deadline_ms)
        parts.append(svg.line([(x.start_px, at_px), (x.end_px, at_px)], "warned", 1.5, "4 3"))
        parts.append(svg.text(x.start_px + 4, at_px - 4, f"objective: {words.number(deadline_ms)} ms", "ink"))
    for _, name, colour in LATENCIES:
        if known[name]:
            parts += _percentile(name, colour, known[name], x, y)
    return parts


def _percentile(name: str, colour: str, pairs: Sequence[tuple[CurvePoint, float]], x: Scale, y: Scale) -> list[str]:
    """One percentile's line and dots, with its name at the end."""
    means = _means((point.step.rate_per_s, ms) for point, ms in pairs)
    through = [(x.px(rate), y.px(ms)) for rate, ms in means]
    parts = [svg.line(through, colour, 1.5, opacity=0.6)] if len(through) > 1 else []
    parts += [
        svg.dot(x.px(point.step.rate_per_s), y.px(ms), colour, label=f"{name} {ms:.4g} ms, {_said(point)}") for point, ms in pairs
    ]
    return [*parts, svg.text(through[-1][0] + 7, through[-1][1] + 4, name, colour)]


def _band(around: Around, x: Scale, y: Scale) -> list[str]:
    """The rates between which capacity lies, behind everything."""
    low, high = around.kept_per_s, around.missed_per_s
    if low is None or high is None:
        return []
    return [svg.box(x.px(low), y.end_px, x.px(high), y.start_px, "good", 0.55)]


def _means(pairs: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    by_rate: dict[float, list[float]] = {}
    for rate, value in pairs:
        by_rate.setdefault(rate, []).append(math.log(value))
    return [(rate, math.exp(math.fsum(logs) / len(logs))) for rate, logs in sorted(by_rate.items())]


def _said(point: CurvePoint) -> str:
    step = point.step
    return (
        f"{point.phase} {point.trial}: offered {rate_text(step.rate_per_s)}/s, good {words.number(step.goodput_per_s)}/s,"
        f" {point.judgement.word}"
    )
