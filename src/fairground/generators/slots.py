"""Request templates with seeded slots, for generators that cannot be handed one: rendered here, or written as a script for them.

The slots are those of docs/engine-protocol.md and mean the same; the values come from another generator of random numbers, so
two generators send requests of one kind, and not the same stream.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import quote

from fairground.model import LabError, LoadRequest
from fairground.model.data import Rows
from fairground.model.slot import FoundSlot, find_slots


@dataclass(frozen=True)
class ValueSlot:
    """One slot: `kind` is int, low, high, choice, seq or cell.

    `other` is the slot that an int must differ from, a high's low, or the first cell of the same row.
    A cell has its `words` as they are sent, and `raw` as they stand in its table.
    """

    kind: str
    low: int = 0
    high: int = 0
    other: int | None = None
    words: tuple[str, ...] = ()
    name: str | None = None
    table: str | None = None
    raw: tuple[str, ...] = ()

    def meaning_of(self, value: str) -> str:
        """Read a value as it was before it was escaped."""
        return self.raw[self.words.index(value)] if self.table is not None and value in self.words else value


Piece = str | int
"""A text, or the place of a slot in `Templates.slots`."""


@dataclass(frozen=True)
class Templates:
    """The path, the body and the headers of one request; their slots are numbered together, in this order."""

    slots: tuple[ValueSlot, ...]
    path: tuple[Piece, ...]
    body: tuple[Piece, ...] | None
    headers: tuple[tuple[str, tuple[Piece, ...]], ...] = ()

    @classmethod
    def of(cls, request: LoadRequest, rows: Mapping[str, Rows] | None = None) -> Templates:
        """Compile a request's templates. `rows`: those of the tables that it draws from.

        LabError for a slot that the engine would refuse as well, or that it alone can fill.
        """
        found = _Compiler(rows or {})
        path = found.compile(request.path, in_url)
        body = None if request.body is None else found.compile(request.body, escape_of(request.headers, request.body))
        headers = tuple((name, found.compile(value, str, name)) for name, value in request.headers)
        found.complete()
        return cls(tuple(found.slots), path, body, headers)

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
        """(path, body) of a number of requests; the same seed gives the same ones. `{seq}` counts from 1."""
        chance = random.Random(seed)
        for number in range(1, count + 1):
            values = self.draw(chance, number)
            yield text_of(self.path, values), None if self.body is None else text_of(self.body, values)

    def draw(self, chance: random.Random, number: int, zero: bool = True) -> list[str]:
        """The value of each slot in request `number`, as it is sent. Without `zero` no number is 0 whose range has others."""
        values, higher = list[str](), ""
        rows: dict[int, int] = {}
        for place, slot in enumerate(self.slots):
            match slot.kind:
                case "int" if slot.other is None:
                    drawn = chance.randint(slot.low, slot.high)
                    value = str(drawn if drawn or zero else slot.high or slot.low)
                case "int":
                    value = str(_other_than(chance, slot, int(values[slot.other or 0])))
                case "low":
                    lowest = slot.low if zero or slot.low or slot.high - slot.low < 2 else slot.low + 1
                    first = chance.randint(lowest, slot.high)
                    second = _other_than(chance, replace(slot, low=lowest), first)
                    value, higher = str(min(first, second)), str(max(first, second))
                case "high":
                    value = higher
                case "choice":
                    value = chance.choice(slot.words)
                case "cell":
                    of_table = place if slot.other is None else slot.other
                    rows.setdefault(of_table, chance.randrange(len(slot.words)))
                    value = slot.words[rows[of_table]]
                case _:
                    value = str(number)
            values.append(value)
        return values


def text_of(pieces: Sequence[Piece], values: Sequence[str]) -> str:
    """A template with these values in its slots."""
    return "".join(piece if isinstance(piece, str) else values[piece] for piece in pieces)


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


@dataclass
class _Compiler:
    """The slots of one request, as its templates are compiled one after the other."""

    rows: Mapping[str, Rows]
    slots: list[ValueSlot] = field(default_factory=list)

    def compile(self, text: str, escape: Callable[[str], str], header: str | None = None) -> tuple[Piece, ...]:
        """The pieces of a template. `escape` writes a cell so that it stays one value."""
        pieces, at = list[Piece](), 0
        for slot in find_slots(text, header):
            pieces += [text[at : slot.start].replace("{{", "{"), len(self.slots)]
            self.slots.append(self._cell(slot, escape) if slot.source is not None else replace(self._slot(slot), name=slot.name))
            at = slot.end
        return (*pieces, text[at:].replace("{{", "{"))

    def complete(self) -> None:
        """Add the other cells of each row that is drawn: no text has them, and ledgers can name them."""
        for source in sorted({one.table for one in self.slots if one.table is not None}):
            for column in self.rows[source].columns:
                if all(one.name != f"{source}.{column}" for one in self.slots):
                    filling = f"{source}.{column}"
                    self.slots.append(self._cell(FoundSlot(0, 0, filling, filling, source), str))

    def _cell(self, slot: FoundSlot, escape: Callable[[str], str]) -> ValueSlot:
        source, _, column = slot.filling.partition(".")
        rows = self.rows.get(source)
        if rows is None or column not in rows.columns:
            raise _unfillable(slot.filling)
        place = rows.columns.index(column)
        first = next((at for at, one in enumerate(self.slots) if one.table == source), None)
        raw = tuple(str(row[place]) for row in rows.rows)
        words = tuple(escape(word) for word in raw)
        return ValueSlot("cell", other=first, words=words, name=slot.name, table=source, raw=raw)

    def _slot(self, found: FoundSlot) -> ValueSlot:
        kind, _, argument = found.filling.partition(":")
        span, _, other = argument.partition("!=")
        numbers = re.fullmatch(r"(-?\d+)\.\.(-?\d+)", span)
        low, high = (int(numbers[1]), int(numbers[2])) if numbers else (0, -1)
        names = {slot.name: place for place, slot in enumerate(self.slots) if slot.name}
        waiting = {place for place, slot in enumerate(self.slots) if slot.kind == "low"} - {slot.other for slot in self.slots}
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
        raise _unfillable(found.filling)


def in_json(text: str) -> str:
    """A text as it stands inside of a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def in_url(text: str) -> str:
    """A text as it stands in a path, or in a form's body."""
    return quote(text, safe="-._~")


def escape_of(headers: Iterable[tuple[str, str]], body: str) -> Callable[[str], str]:
    """The function that writes a cell into a body, as the engine does. Without a type, it is JSON if it begins like it."""
    types = [value for name, value in headers if name.lower() == "content-type"]
    if not types:
        return in_json if body.startswith(("{{", "[")) else str
    media = types[0].partition(";")[0].strip().lower()
    if media == "application/x-www-form-urlencoded":
        return in_url
    return in_json if re.split("[/+]", media)[-1] == "json" else str


def _unfillable(filling: str) -> LabError:
    return LabError(f"`{{{filling}}}` is not a slot that a generator other than the engine can fill", "load it with the engine")


def _other_than(chance: random.Random, slot: ValueSlot, value: int) -> int:
    """Uniform over the slot's range without `value`."""
    inside = slot.low <= value <= slot.high
    drawn = chance.randint(slot.low, slot.high - inside)
    return drawn + (inside and drawn >= value)
