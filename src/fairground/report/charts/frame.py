"""What all charts share: their type, their widths, their look."""

from __future__ import annotations

from typing import Any

from fairground.report.charts.palette import LIGHT

Spec = dict[str, Any]

WIDTHS_PX = (880, 360)
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
MOST_STACKS = 16
"""Stacks drawn on one chart; the tables have all of them, and the caption says so."""

_FONT = "Liberation Sans"


def short(value: float) -> float:
    """Four digits are more than a pixel shows, and keep the page small."""
    return float(f"{value:.4g}")


def framed(spec: Spec, description: str) -> Spec:
    """The look shared by all charts; every colour is one that the style sheet can swap."""
    text = {
        "labelColor": LIGHT["soft"],
        "titleColor": LIGHT["soft"],
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
    }
    axis = text | {
        "domainColor": LIGHT["line"],
        "tickColor": LIGHT["line"],
        "gridColor": LIGHT["line"],
        "gridOpacity": 0.7,
        "labelFlush": False,
        "aria": False,
    }
    config = {
        "font": _FONT,
        "background": "transparent",
        "axis": axis,
        "header": text,
        "view": {"stroke": None},
        "text": {"color": LIGHT["ink"]},
    }
    return {"$schema": SCHEMA, "description": description, "padding": 4, "autosize": {"type": "pad"}} | spec | {"config": config}
