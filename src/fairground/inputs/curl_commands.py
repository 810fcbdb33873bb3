"""Commands of curl, one a line, as requests: what a browser copies as cURL, and what a README shows."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from fairground.inputs.calls import Call
from fairground.model import LabError

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
IGNORED = {
    "-s", "--silent", "-S", "--show-error", "-i", "--include", "-v", "--verbose", "-k", "--insecure", "-L", "--location", "-f",
    "--fail", "-g", "--globoff", "--http1.1", "-N", "--no-buffer", "-sS", "-sf",
}  # fmt: skip
"""Options that change nothing of a request that is sent here."""
IGNORED_WITH_VALUE = {"-o", "--output", "-m", "--max-time", "--connect-timeout", "--retry", "-w", "--write-out", "--cacert"}


@dataclass
class _Command:
    """One command as far as its words were read."""

    method: str | None = None
    url: str | None = None
    headers: list[tuple[str, str]] = field(default_factory=list)
    data: list[str] = field(default_factory=list)
    type: str = FORM


def read_commands(shown: str, text: str) -> Iterator[Call]:
    """Read each command of a file. LabError with its line for one that cannot be sent."""
    for number, line in _logical_lines(text):
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise _wrong(
                shown, number, f"cannot be split into words ({str(error).lower()})", "quote it as a shell needs it"
            ) from None
        if not words:
            continue
        if words[0] != "curl":
            raise _wrong(
                shown, number, f"begins with `{words[0]}`", "write commands of curl, or a file that ends in .toml or .har"
            )
        yield _call(words[1:], partial(_wrong, shown, number))


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines with their numbers, those that end in a backslash joined with what follows."""
    began, parts = 0, list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        began = began or number
        if line.endswith("\\"):
            parts.append(line[:-1])
            continue
        yield began, " ".join([*parts, line])
        began, parts = 0, []
    if parts:
        yield began, " ".join(parts)


def _wrong(shown: str, number: int, problem: str, hint: str) -> LabError:
    return LabError(f"`{shown}`, line {number}, {problem}", hint)


def _call(words: list[str], wrong: Callable[[str, str], LabError]) -> Call:
    """The request that the words behind `curl` send."""
    found, left = _Command(), iter(words)
    for word in left:
        option, value = _split(word)
        if option is None:
            if found.url is not None:
                raise wrong("names two URLs", "write a command for each")
            found.url = word
        elif option == "--compressed":
            found.headers.append(("accept-encoding", "gzip, deflate"))
        elif option not in IGNORED:
            argument = next(left, None) if value is None else value
            if argument is None or not _take(found, option, argument):
                raise wrong(f"has `{option}`, which is not understood", "leave it out, or write the request as TOML")
    if found.url is None:
        raise wrong("names no URL", "for instance curl http://127.0.0.1:3000/")
    body = "&".join(found.data) if found.data else None
    if body is not None and not any(name.lower() == "content-type" for name, _ in found.headers):
        found.headers.append(("content-type", found.type))
    return Call(found.method or ("GET" if body is None else "POST"), found.url, tuple(found.headers), body, None)


def _split(word: str) -> tuple[str | None, str | None]:
    """An option, and its value where that is written together with it; no option: None."""
    if not word.startswith("-") or word == "-":
        return None, None
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return name, value if equals else None
    if word in IGNORED or len(word) == 2:
        return word, None
    return word[:2], word[2:]


def _take(found: _Command, option: str, value: str) -> bool:
    """Read one option with its value; False where nobody knows it, or where it sends a file."""
    match option:
        case "-X" | "--request":
            found.method = value.upper()
        case "--url":
            found.url = value
        case "-H" | "--header" if ":" in value:
            name, _, rest = value.partition(":")
            found.headers.append((name.strip(), rest.strip()))
        case "-d" | "--data" | "--data-raw" | "--data-ascii" | "--data-binary" if option == "--data-raw" or value[:1] != "@":
            found.data.append(value)
        case "--json" if not value.startswith("@"):
            found.data.append(value)
            found.headers.append(("accept", JSON))
            found.type = JSON
        case "-b" | "--cookie" if "=" in value:
            found.headers.append(("cookie", value))
        case "-A" | "--user-agent":
            found.headers.append(("user-agent", value))
        case "-e" | "--referer":
            found.headers.append(("referer", value))
        case "-u" | "--user":
            found.headers.append(("authorization", f"Basic {base64.b64encode(value.encode()).decode()}"))
        case _:
            return option in IGNORED_WITH_VALUE
    return True
