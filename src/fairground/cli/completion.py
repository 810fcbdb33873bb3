"""A shell's question: what may the word under the cursor become? It is answered without the argument parser and all else that is
slow to load, for a person waits for it.

The protocol is that of the scripts that `--install-completion` writes: a variable says which shell asks, others hold the line.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from fairground.cli import candidates
from fairground.cli.candidates import Table
from fairground.inputs.names import Name, Names

WORDS = Path(__file__).with_name("words.json")
"""The verbs, their options and arguments, as the parser knows them; `make golden` writes it."""
BREAKS = ":="
"""The characters at which bash breaks words, beside blanks."""


class Answer(NamedTuple):
    """The text that is printed, and the exit code."""

    text: str
    exit_code: int = 0


class Line(NamedTuple):
    """A command line up to the cursor: whole words, the one that is typed, and how much of that the shell keeps by itself."""

    words: Sequence[str]
    typed: str
    kept: str = ""


def answer(asked: str, environ: Mapping[str, str]) -> Answer | None:
    """The answer to what a shell asks; None where it is another shell, or asks something else."""
    match asked:
        case "complete_bash":
            line = of_bash(environ.get("COMP_WORDS", ""), environ.get("COMP_CWORD", ""))
            return Answer("\n".join(one.value.removeprefix(line.kept) for one in complete(line)))
        case "complete_zsh":
            return Answer(for_zsh(complete(of_text(environ.get("_TYPER_COMPLETE_ARGS", "")))))
        case "complete_fish":
            names = complete(of_text(environ.get("_TYPER_COMPLETE_ARGS", "")))
            if environ.get("_TYPER_COMPLETE_FISH_ACTION") == "is-args":
                return Answer("", 0 if names else 1)
            return Answer("\n".join(f"{one.value}\t{one.help}" if one.help else one.value for one in names))
    return None


def complete(line: Line) -> list[Name]:
    """List what the typed word may become, in this lab."""
    known = table()
    before = candidates.read_words(line.words, known)
    servers, results = (Path(given) if (given := before.given.get(name)) else None for name in ("--servers", "--results"))
    return candidates.candidates(before, line.typed, known, Names(servers=servers, results=results))


@cache
def table() -> Table:
    """The verbs with their options and arguments."""
    read: Table = json.loads(WORDS.read_text(encoding="utf-8"))
    return read


def of_bash(text: str, index: str) -> Line:
    """The line as bash tells it: a word a line, broken at colons and equals signs, and which of them is typed."""
    pieces = text.split("\n") if "\n" in text else split(text)
    at = int(index) if index.isdigit() else len(pieces)
    pieces = [*pieces[:at], pieces[at] if at < len(pieces) else ""]
    words, together = list[str](), False
    for piece in pieces:
        breaks = piece != "" and not piece.strip(BREAKS)
        if words and piece and (breaks or together):
            words[-1] += piece
        else:
            words.append(piece)
        together = breaks
    typed = words[-1]
    tail = "" if not pieces[-1].strip(BREAKS) else pieces[-1]
    return Line([_unquoted(word) for word in words[1:-1]], _unquoted(typed), _unquoted(typed.removesuffix(tail)))


def of_text(text: str) -> Line:
    """The line as zsh and fish tell it: all of it up to the cursor."""
    words = split(text)[1:]
    if not words or text[-1:].isspace():
        return Line(words, "")
    return Line(words[:-1], words[-1])


def split(text: str) -> list[str]:
    """The words of a line, as a shell has them. A quote may still be open."""
    lexer = shlex.shlex(text, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words = list[str]()
    try:
        words.extend(lexer)
    except ValueError:
        words.append(lexer.token)
    return words


def _unquoted(word: str) -> str:
    return "".join(split(word))


def for_zsh(names: Sequence[Name]) -> str:
    """Write the code that zsh evaluates: a list of words with their sentences; files where there is no word."""
    if not names:
        return "_files"
    lines = (f'"{_zsh(one.value)}"' + (f':"{_zsh(one.help)}"' if one.help else "") for one in names)
    return "_arguments '*: :((" + "\n".join(lines) + "))'"


def _zsh(text: str) -> str:
    """A text within double quotes within single ones, with the colons that `_describe` would split at kept."""
    for plain, kept in (('"', r"\""), ("'", r"'\''"), ("$", r"\$"), ("`", r"\`"), (":", r"\\:")):
        text = text.replace(plain, kept)
    return text
