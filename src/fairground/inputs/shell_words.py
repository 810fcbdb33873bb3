"""The commands of a shell's text, split into words as a shell splits them: quotes, `$'…'`, lines that go on, comments.

`shlex` knows no `$'…'`, which browsers write as soon as a body has a quote or a line end, and it ends words at each `#`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
"""The beginning of a word that gives a variable its value."""
_PIECE = re.compile(
    r"""
    (?P<blank>[ \t\r]+) | (?P<end>\n) | (?P<joined>\\(?:\r?\n|\Z))
    | \$'(?P<ansi>(?:[^'\\]|\\.)*)' | '(?P<single>[^']*)' | "(?P<double>(?:[^"\\]|\\.)*)"
    | \\(?P<escaped>.) | (?P<plain>[^ \t\r\n'"\\$]+|\$(?!')) | (?P<open>.)
    """,
    re.DOTALL | re.VERBOSE,
)
_ESCAPE = re.compile(
    r"\\(?:x(?P<x>[0-9A-Fa-f]{1,2})|u(?P<u>[0-9A-Fa-f]{1,4})|U(?P<U>[0-9A-Fa-f]{1,8})|(?P<octal>[0-7]{1,3})|(?P<letter>.))",
    re.DOTALL,
)
_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
BACKTICK = "`"
_FILLED = re.compile(r"\\.|(`|\$(?:\{[^}]*\}|[A-Za-z_]\w*|\())", re.DOTALL)
"""What a shell would fill in, and what is escaped: `$TOKEN`, `${TOKEN}`, the beginning of `$(command)`, and a backtick."""
_IN_DOUBLE = re.compile(r"\\(?:\r?\n|([\"\\$`]))")


class Unclosed(Exception):
    """The exception of a quote that is opened in a `line`, and never closed."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def split_commands(text: str) -> Iterator[tuple[int, list[str], list[str]]]:
    """Yield each command with the number of its first line, and with what a shell would fill in.

    That stays as it is. Empty lines and comments are none. Raises Unclosed.
    """
    words, filled, word, began, line, at = list[str](), list[str](), None, 0, 1, 0
    while at < len(text):
        if word is None and text[at] == "#":
            at = end if (end := text.find("\n", at)) >= 0 else len(text)
            continue
        found = _PIECE.match(text, at)
        assert found is not None, "the last alternative is any character"
        at = found.end()
        if found["open"] is not None:
            raise Unclosed(line)
        if found["blank"] is not None or found["end"] is not None:
            words += [] if word is None else [word]
            word = None
            if found["end"] is not None and words:
                yield began, words, filled
                words, filled = [], []
        elif found["joined"] is None:
            began = began if words or word is not None else line
            word = (word or "") + _text_of(found)
            filled += _filled_in(found, text)
        line += found[0].count("\n")
    words += [] if word is None else [word]
    if words:
        yield began, words, filled


def _filled_in(piece: re.Match[str], text: str) -> Iterator[str]:
    """Yield what a shell would fill in there: between double quotes, or behind a bare `$` or backtick."""
    if piece["double"] is not None:
        yield from (found[1] for found in _FILLED.finditer(piece["double"]) if found[1])
    elif piece["plain"] is not None and BACKTICK in piece["plain"]:
        yield BACKTICK
    elif piece[0] == "$" and (found := _FILLED.match(text, piece.start())) is not None:
        yield found[1]


def _text_of(piece: re.Match[str]) -> str:
    """The text that a piece of a word stands for."""
    if piece["ansi"] is not None:
        text = _ESCAPE.sub(_unescaped, piece["ansi"])
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # a browser escapes each half of a pair
    if piece["double"] is not None:
        return _IN_DOUBLE.sub(lambda found: found[1] or "", piece["double"])
    return next(text for text in (piece["single"], piece["escaped"], piece["plain"]) if text is not None)


def _unescaped(found: re.Match[str]) -> str:
    number = found["x"] or found["u"] or found["U"]
    if number is not None:
        return chr(min(int(number, 16), 0x10FFFF))
    if found["octal"] is not None:
        return chr(int(found["octal"], 8) & 0xFF)
    return _LETTERS.get(found["letter"], found["letter"] if found["letter"] in "\\'\"?" else found[0])
