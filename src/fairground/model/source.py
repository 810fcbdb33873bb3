"""One TOML input file: its text, held against the dataclass of its shape, and the sentences about what does not fit.

pydantic does the holding and is imported only when a file is parsed, so that importing this module stays cheap.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, lru_cache
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from fairground.model.error import LabError

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails

Location = tuple[str | int, ...]
"""Where in a TOML file: keys, and positions in lists from 0."""

Shape = TypeVar("Shape")

STRICT: Mapping[str, object] = {"extra": "forbid", "strict": True, "allow_inf_nan": False}
"""pydantic's configuration for a file's shape and all tables in it."""

WANTED: Mapping[str, str] = {
    "string_type": "a text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a table",
    "mapping_type": "a table",
    "dataclass_type": "a table",
}


def shape_key(words: str, default: Any = None) -> Any:
    """Make a key of a file's shape, with the words that the reference says of it. `MISSING` for a key that must be there."""
    if isinstance(default, dict):
        return field(default_factory=dict, metadata={"words": words})
    return field(default=default, metadata={"words": words})


@dataclass(frozen=True)
class Source:
    """One input file; `shown` is its name in messages."""

    shown: str
    text: str

    @classmethod
    def of_bytes(cls, shown: str, content: bytes) -> Source:
        """Decode a file's content, which may begin with a byte order mark; LabError where it is not UTF-8."""
        try:
            return cls(shown, content.decode("utf-8-sig").replace("\r\n", "\n"))
        except UnicodeDecodeError as error:
            raise LabError(f"`{shown}` is not UTF-8 text", "save it as UTF-8") from error

    def parse(self, shape: type[Shape]) -> Shape:
        """Hold the file against the dataclass `shape`, and raise the most telling mistake."""
        from pydantic import ValidationError

        try:
            data = table_of(self.text)
        except tomllib.TOMLDecodeError as error:
            raise LabError(f"`{self.shown}` is not TOML: {_lowered(str(error))}", "fix the syntax at that place") from error
        try:
            return cast(Shape, _adapter(cast(Any, shape)).validate_json(json.dumps(data, default=str)))
        except ValidationError as error:
            order = {"unexpected_keyword_argument": 0, "missing": 1}
            found = _merged(data, error.errors())
            raise self._rewritten(shape, min(found, key=lambda mistake: order.get(mistake.kind, 2))) from error

    def error(self, location: Location, problem: str, hint: str | None = None) -> LabError:
        """The error at a location of the file. `problem` ends where the file's name follows."""
        line = _line(self.text, location)
        return LabError(f"{problem} `{self.shown}`" + (f", line {line}" if line else ""), hint)

    def require_text(self, location: Location, text: str) -> None:
        """Refuse an empty text."""
        if not text.strip():
            raise self.error(location, f"`{location_text(location)}` is empty in", "say it in a few words")

    def _rewritten(self, shape: type[Any], mistake: Mistake) -> LabError:
        location, details = mistake.location, mistake.details
        key, kind = str(location[-1]), mistake.kind
        keys = _keys(shape, location[:-1])
        if kind == "unexpected_keyword_argument":
            return self.error(location, f"unknown key `{key}` in", nearest(key, keys, "keys"))
        if kind in ("missing", "missing_argument"):
            hint = "add it" + (f"; {names_hint(keys, 'keys')}" if keys else "")
            return self.error(location, f"`{location_text(location)}` is missing in", hint)
        if kind in ("enum", "literal_error"):
            choices = details["ctx"]["expected"].replace("'", "`")
            return self.error(location, f"`{location_text(location)}` is `{details['input']}` in", f"write {choices}")
        wanted = " or ".join(mistake.wanted)
        if not wanted:
            return self.error(
                location, f"`{location_text(location)}` does not fit ({_lowered(details['msg'])}) in", "correct its value"
            )
        hint = (
            'one list for each command: `[["make", "server"]]`'
            if location[0] in ("needs", "build") and kind == "tuple_type"
            else f"write {wanted}"
        )
        return self.error(location, f"`{location_text(location)}` is {_kind(details['input'])}, not {wanted}, in", hint)


@dataclass(frozen=True)
class Mistake:
    """The one thing that does not fit at a location: `wanted` are the kinds of value that would, in words."""

    location: Location
    details: ErrorDetails
    wanted: tuple[str, ...]

    @property
    def kind(self) -> str:
        """pydantic's name for it."""
        return self.details["type"]


def _merged(data: Any, errors: Sequence[ErrorDetails]) -> list[Mistake]:
    """The mistakes by location. Of a value that may be of several kinds pydantic tells one for each kind: they become one.

    Where the value is a table, and one of those kinds, the mistake inside the table is the one that counts.
    """
    found: dict[Location, list[ErrorDetails]] = {}
    for one in errors:
        found.setdefault(_written(data, one), []).append(one)
    inner = [place for place in found if not any(other != place and other[: len(place)] == place for other in found)]
    kinds = {place: [WANTED[one["type"]] for one in found[place] if one["type"] in WANTED] for place in inner}
    return [Mistake(place, found[place][0], tuple(kinds[place])) for place in inner]


def _written(data: Any, details: ErrorDetails) -> Location:
    """The location of an error, in the file's own keys. pydantic puts the kind that it tried into a location."""
    place: list[str | int] = []
    missing = details["type"] in ("missing", "missing_argument")
    for number, part in enumerate(details["loc"], 1):
        among = data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
        if part in among:
            data = data[part]
        elif not missing or number < len(details["loc"]):
            continue
        place.append(part)
    return tuple(place)


@lru_cache(maxsize=1_000)
def table_of(text: str) -> Mapping[str, Any]:
    """The table that a TOML text holds, for nobody to change: one verb reads most files more than once."""
    return tomllib.loads(text)


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(shape)


def _kind(value: object) -> str:
    kinds: tuple[tuple[type, str], ...] = ((bool, "true or false"), (int, "a number"), (float, "a number"), (str, "a text"))
    return next((words for kind, words in (*kinds, (list, "a list")) if isinstance(value, kind)), "a table")


def location_text(location: Location) -> str:
    """A location as a person writes it: `audit.invariants[0].sql`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).removeprefix(".")


def names_hint(names: Collection[str], noun: str) -> str:
    """A hint that lists what there is."""
    return f"known {noun}: {', '.join(sorted(names)) or 'none'}"


def nearest(text: str, names: Collection[str], noun: str) -> str:
    """A hint that names what was probably meant, and what there is."""
    near = difflib.get_close_matches(text, names, n=1)
    return (f"did you mean `{near[0]}`? " if near else "") + names_hint(names, noun)


def _lowered(sentence: str) -> str:
    return (sentence[:1].lower() + sentence[1:]).rstrip(".")


def _keys(shape: type[Any], location: Location) -> tuple[str, ...]:
    """The keys of the table that lies at `location` in a file of this shape."""
    kind: Any = shape
    for part in location:
        kind = get_type_hints(kind)[str(part)] if is_dataclass(kind) else get_args(kind)[0 if isinstance(part, int) else -1]
        if get_origin(kind) in (Union, UnionType):
            kind = next((one for one in get_args(kind) if is_dataclass(one)), kind)
    return tuple(one.name for one in fields(kind)) if is_dataclass(kind) else ()


def _line(text: str, location: Location) -> int | None:
    """The line (from 1) of the longest beginning of `location` that the TOML text spells out.

    Where it spells out none, the line of the first key beneath; None where there is none of that either.
    """
    best, found, beneath = 0, None, None
    for number, here in _places(text):
        if len(here) > best and here == location[: len(here)]:
            best, found = len(here), number
        if beneath is None and here[: len(location)] == location:
            beneath = number
    return found or beneath


def _places(text: str) -> Iterator[tuple[int, Location]]:
    """Every table header and key of a TOML text, with its line. Multi-line strings are stepped over."""
    table: Location = ()
    arrays: dict[Location, int] = {}
    quote: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if quote is None:
            header = re.match(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]", line)
            key = re.match(r"""\s*([\w."'-]+)\s*=""", line)
            if header:
                table = _numbered(_split(header[2]), arrays, new=header[1] == "[[")
                yield number, table
            elif key:
                yield number, (*table, *_split(key[1]))
        for mark in re.findall('"""|' + "'''", line):
            quote = mark if quote is None else None if mark == quote else quote


def _split(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def _numbered(keys: tuple[str, ...], arrays: dict[Location, int], new: bool) -> Location:
    place: Location = ()
    for i, key in enumerate(keys):
        place = (*place, key)
        if new and i == len(keys) - 1:
            arrays[place] = arrays.get(place, -1) + 1
        if place in arrays:
            place = (*place, arrays[place])
    return place
