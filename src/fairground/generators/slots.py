"""Request templates with seeded slots, for generators that cannot be handed one: rendered here, or written as a script for them.

The slots are those of docs/engine-protocol.md and mean the same; the values come from another generator of random numbers, so
two generators send requests of one kind, and not the same stream.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fairground.model import LabError, Workload

SLOT = re.compile(r"\{\{|\{([^}]*)\}")
QUERY_NAME = re.compile(r"(?:^|[?&])([^?&/\" =]+)=$")
JSON_NAME = re.compile(r'"([^"]+)"\s*:\s*"?\s*$')


@dataclass(frozen=True)
class ValueSlot:
    """One slot: `kind` is int, low, high, choice or seq; `other` is the slot that an int must differ from, or a high's low."""

    kind: str
    low: int = 0
    high: int = 0
    other: int | None = None
    words: tuple[str, ...] = ()


Piece = str | int
"""A text, or the place of a slot in `Templates.slots`."""


@dataclass(frozen=True)
class Templates:
    """The path and the body of one request; their slots are numbered together, those of the path first."""

    slots: tuple[ValueSlot, ...]
    path: tuple[Piece, ...]
    body: tuple[Piece, ...] | None

    @classmethod
    def of(cls, workload: Workload) -> Templates:
        """Compile a workload's templates. LabError for a slot that the engine would refuse as well."""
        slots: list[ValueSlot] = []
        names: dict[str, int] = {}
        path = tuple(_pieces(workload.path, slots, names))
        body = None if workload.body is None else tuple(_pieces(workload.body, slots, names))
        return cls(tuple(slots), path, body)

    @property
    def fixed(self) -> bool:
        """True if every request is the same."""
        return not self.slots

    @property
    def in_body(self) -> bool:
        return any(isinstance(piece, int) for piece in self.body or ())

    @property
    def numbered(self) -> bool:
        """True if a slot gives every request a number of its own."""
        return any(slot.kind == "seq" for slot in self.slots)

    def requests(self, seed: int, count: int) -> Iterator[tuple[str, str | None]]:
        """(path, body) of so many requests; the same seed gives the same ones. `{seq}` counts from 1."""
        chance = random.Random(seed)
        for number in range(1, count + 1):
            values = self._draw(chance, number)
            yield _text(self.path, values), None if self.body is None else _text(self.body, values)

    def _draw(self, chance: random.Random, number: int) -> list[str]:
        values, higher = list[str](), ""
        for slot in self.slots:
            match slot.kind:
                case "int" if slot.other is None:
                    value = str(chance.randint(slot.low, slot.high))
                case "int":
                    value = str(_other_than(chance, slot, int(values[slot.other or 0])))
                case "low":
                    first = chance.randint(slot.low, slot.high)
                    second = _other_than(chance, slot, first)
                    value, higher = str(min(first, second)), str(max(first, second))
                case "high":
                    value = higher
                case "choice":
                    value = chance.choice(slot.words)
                case _:
                    value = str(number)
            values.append(value)
        return values


def lua(templates: Templates) -> tuple[list[str], str, str]:
    """Statements that draw every slot into `v`, and the path and the body as expressions, in Lua."""
    return _script(templates, lua_text, " .. ", "{%s}", "v[%d], v[%d] =", 1)


def javascript(templates: Templates) -> tuple[list[str], str, str]:
    """The same in JavaScript."""
    return _script(templates, json.dumps, " + ", "[%s]", "[v[%d], v[%d]] =", 0)


def _script(
    templates: Templates, quote: Callable[[str], str], join: str, array: str, two: str, first: int
) -> tuple[list[str], str, str]:
    highs = {slot.other: place for place, slot in enumerate(templates.slots) if slot.kind == "high"}
    lines = []
    for place, slot in enumerate(templates.slots):
        target, span = f"v[{place + first}] =", f"{slot.low}, {slot.high}"
        match slot.kind:
            case "int" if slot.other is None:
                lines.append(f"{target} int({span})")
            case "int":
                lines.append(f"{target} other_than({span}, v[{(slot.other or 0) + first}])")
            case "low":
                lines.append(f"{two % (place + first, highs[place] + first)} pair({span})")
            case "choice":
                lines.append(f"{target} choice({array % ', '.join(quote(word) for word in slot.words)})")
            case "seq":
                lines.append(f"{target} seq()")

    def expression(pieces: tuple[Piece, ...]) -> str:
        parts = [quote(piece) if isinstance(piece, str) else f"text(v[{piece + first}])" for piece in pieces if piece != ""]
        return join.join(parts)

    return lines, expression(templates.path), "" if templates.body is None else expression(templates.body)


def lua_text(text: str) -> str:
    """A text as Lua writes it."""
    plain = (chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03}" for byte in text.encode())
    return '"' + "".join(plain) + '"'


def _pieces(text: str, slots: list[ValueSlot], names: dict[str, int]) -> Iterator[Piece]:
    literal, at = "", 0
    for found in SLOT.finditer(text):
        literal += text[at : found.start()]
        at = found.end()
        if found[1] is None:
            literal += "{"
            continue
        name = QUERY_NAME.search(literal) or JSON_NAME.search(literal)
        slots.append(_slot(found[1], slots, names))
        if name:
            names[name[1]] = len(slots) - 1
        yield literal
        yield len(slots) - 1
        literal = ""
    yield literal + text[at:]


def _slot(inner: str, slots: list[ValueSlot], names: dict[str, int]) -> ValueSlot:
    kind, _, argument = inner.partition(":")
    span, _, other = argument.partition("!=")
    numbers = re.fullmatch(r"(-?\d+)\.\.(-?\d+)", span)
    low, high = (int(numbers[1]), int(numbers[2])) if numbers else (0, -1)
    waiting = {place for place, slot in enumerate(slots) if slot.kind == "low"} - {slot.other for slot in slots}
    match kind:
        case "int" if low <= high and (not other or (other in names and low < high)):
            return ValueSlot("int", low, high, names[other] if other else None)
        case "low" if low < high:
            return ValueSlot("low", low, high)
        case "high" if low < high and waiting:
            return ValueSlot("high", low, high, max(place for place in waiting if place is not None))
        case "choice" if argument and all(argument.split("|")):
            return ValueSlot("choice", words=tuple(argument.split("|")))
        case "seq" if not argument:
            return ValueSlot("seq")
    raise LabError(f"`{{{inner}}}` is not a slot that a generator other than the engine can fill", "load it with the engine")


def _other_than(chance: random.Random, slot: ValueSlot, value: int) -> int:
    """Uniform over the slot's range without `value`."""
    inside = slot.low <= value <= slot.high
    drawn = chance.randint(slot.low, slot.high - inside)
    return drawn + (inside and drawn >= value)


def _text(pieces: tuple[Piece, ...], values: list[str]) -> str:
    return "".join(piece if isinstance(piece, str) else values[piece] for piece in pieces)
