"""The grid and the bars of a run that goes on, from the trials that have ended. Pure."""

from __future__ import annotations

import importlib

from fairground.model import Run
from fairground.report import frame
from fairground.report.boards import boards
from fairground.report.run import grid

HEAVY = ("numpy", "scipy.special")
"""What intervals import where they need it, in a second or two."""


def so_far(run: Run) -> str:
    """The grid and a figure for each workload, as a part of a page; empty where no trial has ended."""
    shown = tuple(board for board in boards(run) if any(row.trials for row in board.rows))
    if not shown:
        return ""
    found = grid.grid(run, shown)
    slugs = {line.stack: line.slug for line in found.lines}
    return frame.render("so_far.html", so_far=True, run=run, boards=shown, grid=found, slugs=slugs, tried={})


def warm_up() -> None:
    """Import what drawing needs. Once it is there, a drawing costs a tenth of a second."""
    for name in HEAVY:
        importlib.import_module(name)
