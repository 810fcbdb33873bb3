"""Text that the lab did not write itself, made fit to be shown: it can neither steer a terminal nor hide or reorder words.

What servers, builds, databases and other people's result files say is kept as it came, for it is evidence. It is cleaned where it
is shown: by the terminal's streams and by the templates of pages, which nothing can pass by.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

SENTENCE_CHARACTERS = 300
"""Most characters of foreign text in a sentence of the lab's own."""

_BREAKS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
"""What ends a line, besides the one character that does so everywhere."""

_ESCAPES = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor, modes
    # Strings: titles, hyperlinks. Another beginning ends one, so that no text is looked through from each of many beginnings.
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\\\|\x9c)"
    "|\x1b[ -/]*[0-~]?"
)

_UNSEEN = re.compile(
    "["
    "\x00-\x08\x0e-\x1f\x7f-\x9f"  # control characters; the ends of lines are gone by then
    "\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # format, bidi
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\uffa0\ufe00-\ufe0f"  # fillers and selectors that show nothing
    "\ud800-\udfff"  # halves of surrogate pairs, which no file can hold
    "\ue000-\uf8ff\U000f0000-\U0010ffff\ufdd0-\ufdef\ufffe\uffff"  # private use, and what is no character
    "]"
)


def clean(text: str) -> str:
    """Foreign text without terminal escapes and without characters that do not show. Ends of lines and tabs stay."""
    if text.isascii() and text.isprintable():
        return text  # as most texts are, and a page has thousands
    return _UNSEEN.sub("", _ESCAPES.sub("", _BREAKS.sub("\n", text)))


def json_of(adapter: Any, value: object, indent: int | None = None, warnings: str = "warn") -> bytes:
    """Write a value as JSON by pydantic's adapter of its type. Half of a surrogate pair, which no file can hold, becomes �.

    Answers of servers may hold one (`"\\ud800"`), and so may a command line.
    """
    try:
        return bytes(adapter.dump_json(value, indent=indent, warnings=warnings))
    except ValueError as error:
        if "surrogates not allowed" not in str(error):
            raise
    from pydantic_core import to_json

    return to_json(_with_whole_pairs(adapter.dump_python(value, mode="json")), indent=indent, inf_nan_mode="null")


def _with_whole_pairs(value: Any) -> Any:
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", value)
    if isinstance(value, Mapping):
        return {_with_whole_pairs(key): _with_whole_pairs(one) for key, one in value.items()}
    return [_with_whole_pairs(one) for one in value] if isinstance(value, list | tuple) else value


def line(text: str, most: int | None = None) -> str:
    """Foreign text on one line, cleaned and with single spaces; at most so many characters."""
    found = " ".join(clean(text).split())
    return found if most is None or len(found) <= most else found[: most - 1] + "…"
