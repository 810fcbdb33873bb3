"""Columns on a terminal: those of `list`, and of small tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

WIDTHS: Mapping[str, Sequence[tuple[str, int]]] = {
    "stacks": (("id", 28), ("language", 10), ("approach", 10), ("title", 22), ("state", 10), ("why", 0)),
    "workloads": (("id", 21), ("title", 28), ("contract", 12), ("request", 0)),
    "suites": (("path", 24), ("blocks", 2), ("title", 0)),
    "topologies": (("id", 20), ("role", 8), ("state", 10), ("about", 0)),
    "runs": (("id", 40), ("kind", 10), ("trials", 5), ("bytes", 12), ("command", 0)),
}
"""The columns of each list on a terminal, and how wide each is at least."""


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a small table, each column as wide as its widest cell: the first to the left, all others to the right."""
    every = [heads, *rows]
    widths = [max(len(row[at]) for row in every) for at in range(len(heads))]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in every]
