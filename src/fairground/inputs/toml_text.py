"""Values as TOML writes them: texts, lists and tables, inline while a line can hold them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

BARE = re.compile(r"[A-Za-z0-9_-]+")
LINE = 110
"""An inline table of more characters becomes a table of its own."""


def text_of(text: str) -> str:
    """A text as TOML has it between double quotes."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def value_of(value: object) -> str:
    """A value on one line."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case Mapping():
            return f"{{ {', '.join(f'{key_of(str(key))} = {value_of(one)}' for key, one in value.items())} }}" if value else "{}"
        case list() | tuple():
            return f"[{', '.join(map(value_of, value))}]"
    return text_of(str(value))


def key_of(name: str) -> str:
    """A key, in quotes where it needs them."""
    return name if BARE.fullmatch(name) else text_of(name)


def lines_of(table: Mapping[str, object], *place: str) -> Iterator[str]:
    """The lines of a table below `place`. What is too long for its line follows as a table of its own."""
    own, below = list[str](), list[tuple[str, Mapping[str, object]]]()
    for name, value in table.items():
        line = f"{key_of(name)} = {value_of(value)}"
        if isinstance(value, Mapping) and value and len(line) > LINE:
            below.append((name, value))
        else:
            own.append(line)
    if own:
        yield from ("", f"[{'.'.join(map(key_of, place))}]", *own)
    for name, inner in below:
        yield from lines_of(inner, *place, name)
