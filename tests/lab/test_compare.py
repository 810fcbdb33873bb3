"""`compare` before it starts anything."""

from __future__ import annotations

from fairground.lab import compare
from fairground.lab.measuring import Inputs, Said
from fairground.lab.places import Places
from fairground.model import Load, Settings
from fairground.model.record import ComparisonAsked


def test_a_budget_that_is_too_short_is_said_first() -> None:
    """Before anything is built or started the person hears that nothing will be called."""
    places = Places.of({})
    stack = places.load_servers()[0].stacks[0].id
    asked = ComparisonAsked("a", "b", stack, stack, None, "ping", Load(), Settings(), 1, 1.0, 0.005, 5, 0.01, 0.1)
    events = compare.compare(Inputs(places, ""), asked)
    first = next(events)
    assert isinstance(first, Said) and "will stay inconclusive" in first.sentence
