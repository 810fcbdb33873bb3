"""Read what the slots of a request are filled with, as docs/engine-protocol.md spells it; tell what the engine would refuse."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fairground.model import LoadRequest
from fairground.model.slot import BRACES, NUMBERS, FoundSlot, find_slots, place_values
from fairground.model.source import Location

FARTHEST = 10**15
"""Numbers stay within this on both sides of 0, as in the engine."""
WIDEST_PAIR = 4_000_000_000
"""The most numbers of a range from which two are drawn in order."""
RANGE = re.compile(r"([+-]?\d+)\.\.([+-]?\d+)")
SPELLINGS = "{int:a..b}, {int:a..b!=name}, {low:a..b}, {high:a..b}, {choice:x|y}, {seq}, {TABLE.COLUMN}, {KIND.KEPT}"
"""The engine knows `{file:PATH}`, too: a contract has its rows in tables, from which the lab's own requests can draw."""


def slot_mistakes(request: LoadRequest, at: Location, around: Location) -> Iterator[tuple[Location, str]]:
    """Yield each mistake with its place: those of the request, then those that the values of an edge make.

    `at` is where its path, body and headers are written, `around` where its edges are.
    """
    texts = [((*at, "path"), request.path, ""), ((*at, "body"), request.body or "", "")]
    texts += [((*at, "headers", name), value, name) for name, value in request.headers]
    found = list(_mistakes(texts))
    yield from found
    for number, edge in enumerate(request.edges if not found else ()):
        here = (*around, "edge", number, "values")
        placed = [(here, place_values(text, edge.values, header or None), header) for _, text, header in texts]
        yield from _mistakes(placed)


def _mistakes(texts: list[tuple[Location, str, str]]) -> Iterator[tuple[Location, str]]:
    reader, of_low = _SlotReader(), texts[0][0]
    for place, text, header in texts:
        for slot in find_slots(text, header or None):
            if (wrong := reader.mistake(slot)) is not None:
                yield place, f"`{{{slot.filling}}}` {wrong}"
            of_low = place if slot.filling.startswith("low:") else of_low
        if "{" in BRACES.sub("", text):
            yield place, "a `{` has no closing brace (`{{` is a brace)"
    if reader.low is not None:
        yield of_low, "a `low` has no `high` after it"


class _SlotReader:
    """The slots of one request that were read so far."""

    def __init__(self) -> None:
        self.low: tuple[int, int] | None = None
        """The range of a low whose high is still to come."""
        self._holds_number: dict[str, bool] = {}

    def mistake(self, slot: FoundSlot) -> str | None:
        """Say what is wrong with the next slot; None where it can be filled."""
        name = slot.name
        if name is not None and name in self._holds_number and (slot.source is None or "." not in name):
            return f"is a second slot called `{name}`"
        wrong = None if slot.source is not None else self._filling_mistake(slot.filling)
        if name is not None:
            self._holds_number[name] = slot.source is None and slot.filling.startswith(NUMBERS)
        return wrong

    def _filling_mistake(self, filling: str) -> str | None:
        kind, colon, argument = filling.partition(":")
        match kind:
            case "int":
                span, differs, other = argument.partition("!=")
                if differs and not self._holds_number.get(other):
                    return f"differs from `{other}`, and no slot of numbers before it is called so"
                return _range_mistake(span, 2 if differs else 1)
            case "low" | "high":
                return _range_mistake(argument, 2, WIDEST_PAIR) or self._pair_mistake(kind, argument)
            case "choice" if not all(argument.split("|")):
                return "has an empty word"
            case "choice":
                return None
            case "seq" if not colon:
                return None
        return "is no slot"

    def _pair_mistake(self, kind: str, argument: str) -> str | None:
        low, high = argument.split("..")
        span, before = (int(low), int(high)), self.low
        self.low = span if kind == "low" else None
        if kind == "low":
            return None if before is None else "follows a `low` that has no `high`"
        return None if before == span else "stands without a `low` of the same range before it"


def _range_mistake(text: str, least: int, most: int | None = None) -> str | None:
    """Say what is wrong with a range that must hold this many numbers."""
    found = RANGE.fullmatch(text)
    if found is None:
        return "is not a range of whole numbers `a..b`"
    low, high = int(found[1]), int(found[2])
    if max(abs(low), abs(high)) > FARTHEST:
        return "goes beyond ±10^15"
    if low > high:
        return "is empty: the smaller number comes first"
    if most is not None and high - low + 1 > most:
        return f"is wider than {most:,} numbers"
    return None if high - low + 1 >= least else f"needs a range of at least {least}"
