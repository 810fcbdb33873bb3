"""The charts of a trial's page, drawn as SVG without a renderer, so that a page costs milliseconds: numbers only.

One shows each second of the window, good answers as bars and the rest on top of them; the other the percentiles of latency, both
axes logarithmic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from fairground.model import Second, Trial
from fairground.report.boards import pooled
from fairground.report.text import words
from fairground.stats import intervals

WIDTH_PX, HEIGHT_PX, LEFT_PX, BOTTOM_PX, TOP_PX = 560, 190, 52, 24, 10
PERCENTILES = {2.0: "50", 10.0: "90", 100.0: "99", 1000.0: "99.9", 10_000.0: "99.99"}
FIRST_X = 1.1
"""Where the latency curve begins: the tenth percentile."""


def seconds(trial: Trial) -> Markup | None:
    """Answers in each second of the window; None where the generator does not tell them."""
    found = trial.result.seconds if trial.result else ()
    if not found:
        return None
    most = max((one.ok + one.not_ok for one in found), default=0) or 1
    wide = (WIDTH_PX - LEFT_PX - 8) / len(found)
    bars = "".join(_bar(one, place, wide, most) for place, one in enumerate(found))
    ticks = "".join(level(height(value / most), words.count(value)) for value in steps(most))
    every = max(1, math.ceil(len(found) / 12))
    under = "".join(
        f'<text x="{LEFT_PX + (place + 0.5) * wide:.1f}" y="{HEIGHT_PX - 8}" text-anchor="middle">{one.second}</text>'
        for place, one in enumerate(found)
        if place % every == 0
    )
    return framed(ticks + bars + under, "answers in each second of the window")


def _bar(one: Second, place: int, wide: float, most: int) -> str:
    x, width = LEFT_PX + place * wide + 1, max(1.0, wide - 2)
    top, upper = height(one.ok / most), height((one.ok + one.not_ok) / most)
    ground = height(0.0)
    p99 = f", p99 {words.milliseconds(one.p99_us)} ms" if one.p99_us is not None else ""
    label = f"second {one.second}: {one.ok:,} good, {one.not_ok:,} other{p99}"
    rest = f'<path class="bad" d="M{x:.1f} {upper:.1f}h{width:.1f}V{top:.1f}h-{width:.1f}Z"/>' if one.not_ok else ""
    shape = f"M{x:.1f} {top:.1f}h{width:.1f}V{ground:.1f}h-{width:.1f}Z"
    return f'<path class="bar" d="{shape}"><title>{label}</title></path>{rest}'


def percentiles(trial: Trial) -> Markup | None:
    """Latency of good answers at each percentile, in ms; None without a histogram or with too few answers."""
    histogram = pooled([trial])
    if histogram is None or trial.result is None:
        return None
    lost = trial.result.window.not_ok
    curve = intervals.percentile_curve(histogram.values_us, histogram.counts, beyond=lost)
    points = [(x, value / 1000) for x, value in curve if x >= FIRST_X and value > 0]
    if len(points) < 2:
        return None
    low, high = (math.log10(value) for value in (min(ms for _, ms in points), max(ms for _, ms in points)))
    low, high = math.floor(low * 2) / 2, max(math.ceil(high * 2) / 2, math.floor(low * 2) / 2 + 0.5)
    last = math.log10(points[-1][0])

    def place(x: float, ms: float) -> str:
        across = (math.log10(x) - math.log10(FIRST_X)) / max(0.1, last - math.log10(FIRST_X))
        return f"{LEFT_PX + across * (WIDTH_PX - LEFT_PX - 30):.1f} {height((math.log10(ms) - low) / (high - low)):.1f}"

    line = "L".join(place(x, ms) for x, ms in points)
    under = "".join(
        f'<text x="{place(x, 10**low).split()[0]}" y="{HEIGHT_PX - 8}" text-anchor="middle">{name}</text>'
        for x, name in PERCENTILES.items()
        if x <= points[-1][0] * 1.02
    )
    levels = [10.0 ** (step / 2) for step in range(round(low * 2), round(high * 2) + 1)]
    ticks = "".join(level(height((math.log10(ms) - low) / (high - low)), words.number(ms)) for ms in levels)
    return framed(f'{ticks}<path class="curve" d="M{line}"/>{under}', "latency in ms at each percentile")


def framed(inside: str, label: str) -> Markup:
    size = f'viewBox="0 0 {WIDTH_PX} {HEIGHT_PX}"'
    return Markup(f'<svg class="sketch" {size} role="img" aria-label="{label}">{inside}</svg>')


def level(y: float, name: str) -> str:
    text = f'<text x="{LEFT_PX - 5}" y="{y + 3.5:.1f}" text-anchor="end">{name}</text>'
    return f'<path class="grid" d="M{LEFT_PX} {y:.1f}H{WIDTH_PX}"/>{text}'


def height(share: float) -> float:
    return HEIGHT_PX - BOTTOM_PX - share * (HEIGHT_PX - BOTTOM_PX - TOP_PX)


def steps(most: float) -> Sequence[float]:
    """Two to five round values up to `most`."""
    step = next(base * 10**power for power in range(12) for base in (1, 2, 5) if base * 10**power * 4.5 >= most)
    return [step * place for place in range(int(most / step) + 1)]
