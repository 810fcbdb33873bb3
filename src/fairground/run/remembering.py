"""Lend a run what earlier ones on the machine scattered by, and keep what it scattered by itself.

A run whose roles are on other hosts scatters otherwise: it borrows nothing, and leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fairground import records
from fairground.model import LabError, Machine, Plan

Say = Callable[[str], None]


def recall(frozen: Plan, machine: Machine, cache: Path, wanted: bool, say: Say) -> Plan:
    """Put what earlier runs foretell into a plan. It stays as it is where that is not `wanted`, or cannot be read."""
    if not wanted or _is_elsewhere(frozen):
        return frozen
    try:
        return replace(frozen, memory=records.foretell(records.load_memory(cache), machine.group, frozen))
    except LabError as error:
        say(f"{error}; this run is judged by itself")
        return frozen


def keep(folder: Path, cache: Path, say: Say) -> None:
    """Keep what a whole run scattered by, for the next. Where the cache cannot be written to, say so."""
    found = records.load_run(folder)
    if not found.finished or _is_elsewhere(found.plan):
        return
    try:
        records.add_run(cache, found)
    except LabError as error:
        say(f"what this run scattered by is not remembered: {error}")


def _is_elsewhere(planned: Plan) -> bool:
    """True if a role of the plan is on another host."""
    return any(cell.settings.place for cell in planned.cells)
