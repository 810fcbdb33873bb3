"""Every colour of the page, light and dark, under one name: charts draw in the light ones, the style sheet swaps them.

A chart carries its colours as presentation attributes, which any style rule beats: that is how a drawn chart turns dark. So
each colour that a chart uses must be in this table, and all light ones must differ. Distances and contrasts were computed for
normal, protan, deutan and tritan sight; the six stack colours keep 26 (light) and 23 (dark) CIE76 apart under all of them.
"""

from __future__ import annotations

LIGHT = {
    "paper": "#ffffff",
    "ink": "#1b1f24",
    "soft": "#59616b",
    "line": "#d9dde2",
    "wash": "#f5f6f8",
    "link": "#0b5394",
    "server": "#4477aa",
    "database": "#882255",
    "pooler": "#ee6677",
    "proxy": "#999933",
    "wire": "#77ccaa",
    "generator": "#332288",
    "on-role": "#fffffe",
    "stack-1": "#004488",
    "stack-2": "#cc6678",
    "stack-3": "#6699cc",
    "stack-4": "#7b3f00",
    "stack-5": "#949430",
    "stack-6": "#111827",
    "other": "#b4bac2",
    "good": "#c3d0dd",
    "valid": "#0072b2",
    "warned": "#9a5b00",
    "void": "#6b7280",
    "rejected": "#b5261e",
    "tier-1": "#9fcdf0",
    "tier-2": "#cfe4f4",
    "tier-3": "#ece7d6",
    "tier-4": "#f5d7a8",
    "tier-5": "#f3bd94",
    "bar": "#3a78b0",
    "control": "#7b838e",
}

DARK = {
    "paper": "#14181f",
    "ink": "#e6e9ee",
    "soft": "#a3adba",
    "line": "#323945",
    "wash": "#1b2029",
    "link": "#8cc4f5",
    "server": "#99ddff",
    "database": "#e69f00",
    "pooler": "#aa4499",
    "proxy": "#228833",
    "wire": "#44bb99",
    "generator": "#eedd88",
    "on-role": "#14181f",
    "stack-1": "#6cb6ee",
    "stack-2": "#ff8078",
    "stack-3": "#ffaabb",
    "stack-4": "#aa4499",
    "stack-5": "#bbcc33",
    "stack-6": "#228833",
    "other": "#5a6473",
    "good": "#3d4a5a",
    "valid": "#6cb6ee",
    "warned": "#f0a93b",
    "void": "#9aa4b2",
    "rejected": "#ff8078",
    "tier-1": "#17578a",
    "tier-2": "#24405a",
    "tier-3": "#3b3d42",
    "tier-4": "#5a4220",
    "tier-5": "#6f3a1e",
    "bar": "#4f93cf",
    "control": "#737e8d",
}

STACKS_IN_COLOUR = 6
TIERS = 5
"""Colours of groups; the last one is that of all further groups, whose letters tell them apart."""
GLYPHS = {"valid": "✓", "warned": "!", "void": "○", "rejected": "✗"}


def swaps() -> tuple[tuple[str, str], ...]:
    """(light colour, its name) for the style sheet's attribute selectors."""
    return tuple((colour, name) for name, colour in LIGHT.items())
