"""A parameter of an OpenAPI operation, and what a load sends for it: a slot of many values, or the one that is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from fairground.model import foreign

FARTHEST = 10**15
"""Numbers of slots stay inside of this."""
GUESSED = 10
"""This many numbers are guessed where a document has no range."""
MOST_WORDS = 50
KNOWN_FORMS = {
    "uuid": "00000000-0000-0000-0000-000000000001",
    "date": "2026-01-01",
    "date-time": "2026-01-01T00:00:00Z",
    "email": "somebody@example.com",
}
"""A text of each form for which a document often has no example."""


@dataclass(frozen=True)
class Parameter:
    """One parameter: its `place` is path, query, header or cookie. `example` None: it has none."""

    name: str
    place: str
    is_needed: bool
    schema: Mapping[str, Any]
    example: object

    @classmethod
    def of(cls, table: Mapping[str, Any], schema: Mapping[str, Any]) -> Parameter:
        """Read one. `schema` is resolved."""
        place = str(table.get("in") or "query")
        return cls(
            str(table.get("name") or ""), place, table.get("required") is True or place == "path", schema, _known(table, schema)
        )

    @property
    def words(self) -> str:
        """Its name and kind, for a person."""
        kind = self.schema.get("type")
        default = self.schema.get("default")
        said = [foreign.line(str(kind), 30)] if isinstance(kind, str) else []
        said += [f"default {foreign.line(str(default), 40)}"] if default is not None else []
        return f"{foreign.line(self.name, 60)}{f' ({chr(44).join(said)})' if said else ''}".replace(",", ", ")


@dataclass(frozen=True)
class SentValue:
    """A value in a request: `slot` for many, `example` for one of them as a URL has it, `plain` as it is."""

    slot: str
    example: str
    plain: str
    marks: tuple[str, ...] = ()

    @classmethod
    def of(cls, value: object, *marks: str) -> SentValue:
        """The same value each time."""
        plain = foreign.line(_text(value))
        return cls(_quoted(plain), _quoted(plain), plain, marks)


def sent_value(one: Parameter) -> SentValue:
    """Decide what is sent for a parameter: what its document knows, else a guess with a mark."""
    schema, shown = one.schema, f"`{foreign.line(one.name, 60)}`"
    if schema.get("type") == "array":
        items = schema.get("items")
        inner = Parameter(one.name, one.place, one.is_needed, items if isinstance(items, Mapping) else {}, _first(one.example))
        return sent_value(inner)
    if (words := _words(schema)) and len(words) > 1:
        return SentValue(f"{{choice:{'|'.join(map(_quoted, words))}}}", _quoted(words[0]), words[0])
    if words:
        return SentValue.of(words[0])
    least, most = _bounds(schema)
    if schema.get("type") == "integer" and least is not None and most is not None and least <= most:
        return SentValue(f"{{int:{least}..{most}}}" if least < most else str(least), str(least), str(least))
    if one.example is not None:
        return SentValue.of(
            one.example, f"which values {shown} has: only the example `{foreign.line(_text(one.example), 60)}` is known"
        )
    return _guess(schema, least, shown)


def _guess(schema: Mapping[str, Any], least: int | None, shown: str) -> SentValue:
    """Guess what is sent where a document says nothing: a range or a text has a mark."""
    match schema.get("type"):
        case "integer":
            low = 1 if least is None else least
            high = low + GUESSED - 1
            return SentValue(
                f"{{int:{low}..{high}}}", str(low), str(low), (f"which {shown} there are: {low} to {high} is a guess",)
            )
        case "number":
            return SentValue.of(1, f"which values {shown} has: 1 is a guess")
        case "boolean":
            return SentValue("{choice:true|false}", "true", "true")
    guess = KNOWN_FORMS.get(str(schema.get("format")), "example")
    return SentValue.of(guess, f"which values {shown} has: `{guess}` is a guess")


def _known(table: Mapping[str, Any], schema: Mapping[str, Any]) -> object:
    """The first example or default that a document has."""
    several = table.get("examples")
    if isinstance(several, Mapping):
        several = [one.get("value") for one in several.values() if isinstance(one, Mapping)]
    more = schema.get("examples")
    candidates = (
        table.get("example"), *(several if isinstance(several, list) else ()), schema.get("default"), schema.get("example"),
        *(more if isinstance(more, list) else ()), table.get("x-example"),
    )  # fmt: skip
    return next((one for one in candidates if one not in (None, "", [], {})), None)


def _words(schema: Mapping[str, Any]) -> list[str]:
    """The values of an enumeration, as they are sent."""
    values = schema.get("enum") if isinstance(schema.get("enum"), Sequence) else None
    found = [foreign.line(_text(one)) for one in values or () if one is not None and not isinstance(one, Mapping | list)]
    return [one for one in dict.fromkeys(found) if one][:MOST_WORDS]


def _first(value: object) -> object:
    return (value[0] if value else None) if isinstance(value, list) else value


def _whole(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) > FARTHEST:
        return None
    return int(value)


def _bounds(schema: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """The least and the most whole number. OpenAPI 3.0 says with true that a bound is left out, and 3.1 which number is."""
    ends = list[int | None]()
    for end, beyond, step in (("minimum", "exclusiveMinimum", 1), ("maximum", "exclusiveMaximum", -1)):
        bound, left_out = _whole(schema.get(end)), schema.get(beyond)
        outside = bound if left_out is True else _whole(left_out)
        inside = [one for one in (bound, None if outside is None else outside + step) if one is not None]
        ends.append(max(inside, key=lambda one: one * step, default=None))
    return ends[0], ends[1]


def _text(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _quoted(text: str) -> str:
    return quote(text, safe="-._~")
