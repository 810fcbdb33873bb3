"""Seats on a command line: those of a verb, and the line that tells which cores each role has."""

from __future__ import annotations

from collections.abc import Sequence

from fairground.cli import say
from fairground.inputs import asked
from fairground.inputs.options import Given
from fairground.lab import setup
from fairground.model import CellSettings, Load
from fairground.report.text import seats


def seat_verb(given: Given, load: Load, database_url: str | None) -> tuple[CellSettings, Load]:
    """Settings and load of a verb, in their seats. LabError for a core that is not here."""
    settings, load = asked.seat_asked(given, load, setup.machine_seats(database_url))
    setup.check_pins(settings, database_url)
    setup.check_amounts(load, settings)
    return settings, load


def tell_seats(some: Sequence[CellSettings]) -> None:
    """A line for each different way in which roles are pinned or placed; or why a machine has no seats to give."""
    found = dict.fromkeys((one.pin, one.place) for one in some)
    for pin, place in found:
        if pin or place:
            say.note(f"seats: {seats.sentence(pin, place)}")
    there = setup.machine_seats(None)
    if there.shared and any(not pin for pin, _ in found):
        say.note(there.remark)
