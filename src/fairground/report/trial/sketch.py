"""The charts of a trial's page: each second of the window as bars, and the percentiles of latency. Pure."""

from __future__ import annotations

import math

from markupsafe import Markup

from fairground.model import Second, Trial
from fairground.report.charts import percentiles, svg
from fairground.report.charts.scale import Scale, linear_ticks
from fairground.report.text import rows, words

WIDTH_PX, HEIGHT_PX, LEFT_PX, FOOT_PX, TOP_PX = 560, 200, 56, 24, 10


def seconds(trial: Trial) -> Markup | None:
    """Answers in each second of the window, good ones as bars and the rest on top; None where the generator tells none."""
    found = trial.result.seconds if trial.result else ()
    if not found:
        return None
    x, y = plot(len(found), max(one.ok + one.not_ok for one in found) or 1)
    every = max(1, math.ceil(len(found) / 12))
    under = [(place + 0.5, str(one.second)) for place, one in enumerate(found) if place % every == 0]
    bars = [_bar(one, place, x, y) for place, one in enumerate(found)]
    return frame_plot(x, y, [*bars, svg.foot_axis(x, y, under)], "Answers in each second of the window")


def _bar(one: Second, place: int, x: Scale, y: Scale) -> str:
    left, right = x.px(place) + 1, max(x.px(place) + 2, x.px(place + 1) - 1)
    tail = rows.tail_text(one.p99_us, one.ok, 0.99)
    p99 = "" if tail in (words.UNKNOWN, words.NO_NUMBER) else f", p99 {tail} ms"
    label = f"second {one.second}: {one.ok:,} good, {one.not_ok:,} other{p99}"
    rest = svg.box(left, y.px(one.ok + one.not_ok), right, y.px(one.ok), "rejected") if one.not_ok else ""
    return svg.box(left, y.px(one.ok), right, y.start_px, "server", label=label) + rest


def latencies(trial: Trial) -> Markup | None:
    """Latency of good answers at each percentile; None without a histogram or with too few answers."""
    return percentiles.of_trial(trial, WIDTH_PX, HEIGHT_PX + 20)


def plot(columns: int, most: float) -> tuple[Scale, Scale]:
    """The scales of this many columns of values from 0 to `most`."""
    return Scale(0, columns, LEFT_PX, WIDTH_PX - 8), Scale(0, most, HEIGHT_PX - FOOT_PX, TOP_PX)


def frame_plot(x: Scale, y: Scale, parts: list[str], title: str) -> Markup:
    """The picture of a plot, its values named at the left."""
    axis = svg.left_axis(x, y, svg.value_ticks(linear_ticks(y.high, 5)))
    return svg.picture(WIDTH_PX, HEIGHT_PX, title, [axis, *parts])
