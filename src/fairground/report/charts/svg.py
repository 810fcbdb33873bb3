"""Marks and axes as SVG text. Colours are names of `palette`; every word is cleaned and escaped here. Pure.

A picture has a title, and a description for who cannot see it. A mark may have a label: it is the mark's tooltip.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape

from fairground.model import foreign
from fairground.report.charts.palette import LIGHT
from fairground.report.charts.scale import Scale
from fairground.stats import intervals

WIDTHS_PX = (880, 360)
"""Every chart of a page is drawn in both; the style sheet shows the one that fits."""
WIDE_PX = 500
"""From this many pixels on a chart has room for words beside its marks."""
MOST_STACKS = 16
"""Stacks drawn on one chart; the tables have all of them, and the caption says so."""
LETTER_PX = 6.1
"""Mean width of a letter of 11 px."""

Tick = tuple[float, str]
"""A value and its name."""


def px(value: float) -> str:
    """A place to a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def fit(words: str, room_px: float) -> str:
    """The beginning of a text of 11 px that is at most `room_px` wide."""
    most = max(2, int(room_px / LETTER_PX))
    return words if len(words) <= most else f"{words[: most - 1]}…"


def text(
    x: float, y: float, words: str, colour: str = "soft", anchor: str = "start", size_px: int | None = None, **more: str
) -> str:
    """A line of text; without `size_px` it is as large as the picture says. `more`: further attributes, `_` for a hyphen."""
    where = "" if anchor == "start" else f' text-anchor="{anchor}"'
    size = "" if size_px is None else f' font-size="{size_px}"'
    rest = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
    return f'<text x="{px(x)}" y="{px(y)}"{where} fill="{LIGHT[colour]}"{size}{rest}>{escape(foreign.line(words))}</text>'


def line(
    points: Sequence[tuple[float, float]],
    colour: str,
    width_px: float = 1,
    dash: str = "",
    opacity: float = 1,
    label: str = "",
) -> str:
    """A line through points in pixels."""
    through = "L".join(f"{px(x)} {px(y)}" for x, y in points)
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    width = f' stroke-width="{width_px:g}"' if width_px != 1 else ""
    return f'<path d="M{through}" stroke="{LIGHT[colour]}"{width}{dashes} fill="none"{_opaque(opacity)}{_named(label)}/>'


def shape(path: str, colour: str, opacity: float = 1, label: str = "") -> str:
    """A filled shape by the path of its outline."""
    return f'<path d="{path}" fill="{LIGHT[colour]}"{_opaque(opacity)}{_named(label)}/>'


def box(left: float, top: float, right: float, bottom: float, colour: str, opacity: float = 1, label: str = "") -> str:
    """A filled rectangle."""
    return shape(f"M{px(left)} {px(top)}H{px(right)}V{px(bottom)}H{px(left)}Z", colour, opacity, label)


def dot(x: float, y: float, colour: str, radius_px: float = 3.4, opacity: float = 0.75, label: str = "") -> str:
    """A filled circle."""
    return f'<circle cx="{px(x)}" cy="{px(y)}" r="{radius_px:g}" fill="{LIGHT[colour]}"{_opaque(opacity)}{_named(label)}/>'


def left_axis(x: Scale, y: Scale, ticks: Iterable[Tick], name: str = "", grid: bool = True) -> str:
    """Ticks of `y` with lines across the plot where `grid`, and the axis's name along it."""
    end_px = x.end_px if grid else x.start_px - 4
    marks = "".join(f"M{px(x.start_px)} {px(y.px(value))}H{px(end_px)}" for value, _ in ticks)
    drawn = [f'<path d="{marks}" stroke="{LIGHT["line"]}"/>' if marks else ""]
    drawn += [text(x.start_px - 6, y.px(value) + 3.8, shown, anchor="end") for value, shown in ticks]
    if name:
        middle_px = (y.start_px + y.end_px) / 2
        drawn.append(text(11, middle_px, name, anchor="middle", transform=f"rotate(-90 11 {px(middle_px)})"))
    return "".join(drawn)


def foot_axis(x: Scale, y: Scale, ticks: Iterable[Tick], name: str = "", grid: bool = False) -> str:
    """Draw the line under a plot, the ticks of `x` and the axis's name. `grid`: lines go up the plot from the ticks."""
    foot_px, top = y.start_px, px(y.end_px) if grid else px(y.start_px)
    marks = "".join(f"M{px(x.px(value))} {px(foot_px + 4)}V{top}" for value, _ in ticks)
    drawn = [f'<path d="M{px(x.start_px)} {px(foot_px)}H{px(x.end_px)}{marks}" stroke="{LIGHT["line"]}" fill="none"/>']
    drawn += [text(x.px(value), foot_px + 16, shown, anchor="middle") for value, shown in ticks]
    if name:
        drawn.append(text((x.start_px + x.end_px) / 2, foot_px + 32, name, anchor="middle"))
    return "".join(drawn)


def value_ticks(values: Iterable[float]) -> tuple[Tick, ...]:
    """Ticks that are named by their own values."""
    shown = ((value, intervals.brief(value) if abs(value) < 1 else f"{value:,.10g}") for value in values)
    return tuple((value, name.replace("-", "−")) for value, name in shown)


def picture(
    width_px: float, height_px: float, title: str, parts: Iterable[str], description: str = "", size_px: int = 11
) -> Markup:
    """The parts as one picture."""
    told = f"<desc>{escape(foreign.line(description))}</desc>" if description else ""
    size = f'viewBox="0 0 {px(width_px)} {px(height_px)}" width="{px(width_px)}" height="{px(height_px)}"'
    head = f'class="marks" {size} role="img" font-size="{size_px}"'
    return Markup(f"<svg {head}><title>{escape(foreign.line(title))}</title>{told}{''.join(parts)}</svg>")


def _opaque(opacity: float) -> str:
    return "" if opacity == 1 else f' opacity="{opacity:g}"'


def _named(label: str) -> str:
    return f' role="img" aria-label="{escape(foreign.line(label))}"' if label else ""
