"""The names of a request's slots, as docs/engine-protocol.md spells them: rules, ledgers and edges speak of slots by name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from fairground.model.workload import Edge, LoadRequest

BRACES = re.compile(r"\{\{|\{([^}]*)\}")
OWN_NAME = re.compile(r"([A-Za-z_][\w-]*)=(.*)", re.DOTALL)
SUPPLIED = re.compile(r"([A-Za-z_][\w-]*)\.([A-Za-z_][\w-]*)(?::once)?")
"""A cell of a table, or what is kept of another request's answer."""
NUMBERS = ("int:", "low:", "high:", "seq")
"""The beginnings of what draws a number."""
QUERY_NAME = re.compile(r"(?:^|[?&])([^?&/\" =]+)=$")
JSON_NAME = re.compile(r'"([^"]+)"\s*:\s*"?\s*$')


@dataclass(frozen=True)
class FoundSlot:
    """One slot of a template: where it stands in the text, its name, if it has one, and what it is filled with.

    `source` is the table or the request that fills it; None: the slot draws a value of its own.
    """

    start: int
    end: int
    name: str | None
    filling: str
    source: str | None = None


def literal_of(text: str) -> str:
    """The template that stands for a text as it is."""
    return text.replace("{", "{{")


def find_slots(text: str, header: str | None = None) -> Iterator[FoundSlot]:
    """Every slot of a template, in its order. `header`: the name of the header whose value the template is."""
    literal_from, before = 0, ""
    for found in BRACES.finditer(text):
        before += text[literal_from : found.start()]
        literal_from = found.end()
        if found[1] is None:
            before += "{"
            continue
        own = OWN_NAME.fullmatch(found[1])
        filling = own[2] if own else found[1]
        placed = QUERY_NAME.search(before) or JSON_NAME.search(before)
        name = own[1] if own else placed[1] if placed else None
        supplied = SUPPLIED.fullmatch(filling)
        if supplied is not None:
            name = own[1] if own else f"{supplied[1]}.{supplied[2]}"
        elif name is None and header is not None:
            name, header = header.lower(), None
        source = supplied[1] if supplied else None
        yield FoundSlot(found.start(), found.end(), name, filling, source)
        before = ""


def place_values(text: str, values: Mapping[str, str], header: str | None = None) -> str:
    """Put values, by the names of slots, in the place of those slots of a template. `header`: as in `find_slots`."""
    for slot in reversed(list(find_slots(text, header))):
        if slot.name is not None and slot.name in values:
            text = text[: slot.start] + values[slot.name] + text[slot.end :]
    return text


def place_edge(request: LoadRequest, edge: Edge) -> LoadRequest:
    """The request with an edge's values in place of the slots of their names, and with its headers."""
    body = None if request.body is None else place_values(request.body, edge.values)
    headers = tuple((name, edge.headers.get(name, place_values(value, edge.values, name))) for name, value in request.headers)
    return replace(request, path=place_values(request.path, edge.values), body=body, headers=headers)


def slots_of(request: LoadRequest) -> tuple[FoundSlot, ...]:
    """Every slot of a request: those of its path, of its body, and of its headers."""
    found = [*find_slots(request.path), *find_slots(request.body or "")]
    for header, value in request.headers:
        found += find_slots(value, header)
    return tuple(found)


def names_of(request: LoadRequest) -> tuple[str, ...]:
    """The names of a request's slots."""
    return tuple(one.name for one in slots_of(request) if one.name is not None)


def sources_of(request: LoadRequest) -> frozenset[str]:
    """The tables and the other requests that fill its slots."""
    return frozenset(one.source for one in slots_of(request) if one.source is not None)


def has_slot(request: LoadRequest, name: str) -> bool:
    """True if rules and ledgers can name it: a slot, or another column of a table that the request draws from."""
    return name in names_of(request) or ("." in name and name.partition(".")[0] in sources_of(request))


def is_number(request: LoadRequest, name: str) -> bool:
    """True if the slot draws a number, as sums and logs need: cells, what is kept and choices are words."""
    return any(one.name == name and one.source is None and one.filling.startswith(NUMBERS) for one in slots_of(request))
