"""Commands of curl, one a line, as requests: what a browser copies as cURL, and what a README shows."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import partial

from fairground.inputs.calls import Call
from fairground.inputs.shell_words import BACKTICK, Unclosed, split_commands
from fairground.model import LabError

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
IGNORED = {
    "-s", "--silent", "-S", "--show-error", "-i", "--include", "-v", "--verbose", "-k", "--insecure", "-L", "--location", "-f",
    "--fail", "-g", "--globoff", "--http1.1", "-N", "--no-buffer",
}  # fmt: skip
"""Options that change nothing of a request that is sent here: where a redirect is answered, that is told."""
IGNORED_WITH_VALUE = {"-o", "--output", "-m", "--max-time", "--connect-timeout", "--retry", "-w", "--write-out", "--cacert"}
ENDS = {"|", "||", "&&", "&", ";", ">", ">>"}
"""Words after which a shell does something else."""


@dataclass
class _Command:
    """One command as far as its words were read."""

    method: str | None = None
    url: str | None = None
    headers: list[tuple[str, str]] = field(default_factory=list)
    data: list[str] = field(default_factory=list)
    type: str = FORM
    login: str = ""
    """As it was written: what is sent of it is encoded."""


def read_commands(shown: str, text: str, typed: Collection[str] = ()) -> Iterator[Call]:
    """Read each command of a file, without the headers that are `typed` in their place.

    LabError with its line for one that cannot be sent, or that a shell would complete.
    """
    try:
        for number, words, filled in split_commands(text):
            if words[0] != "curl":
                raise _wrong(
                    shown, number, f"begins with `{words[0]}`", "write commands of curl, or a file that ends in .toml or .har"
                )
            found = _read(words[1:], partial(_wrong, shown, number))
            call = _call(found).without(typed)
            login = "" if "authorization" in typed else found.login
            heads = "\n".join((login, *(f"{key}: {value}" for key, value in call.headers)))
            sent = "\n".join((heads, found.method or "", call.url, call.body or "")).lower()
            if (name := next((one for one in filled if one.lower() in sent), None)) is not None:
                of_header = name.lower() in heads.lower()
                hint = "write what it stands for" + (", or give a header that has it by -H" if of_header else "")
                told = "a command between backticks" if name == BACKTICK else f"`{_named(name)}`"
                raise _wrong(shown, number, f"has {told}, which a shell would fill in", hint)
            yield call
    except Unclosed as error:
        raise _wrong(shown, error.line, "opens a quote that is never closed", "quote it as a shell needs it") from None


def _named(variable: str) -> str:
    """A variable without what else stands between its braces: that may be a secret."""
    return re.sub(r"(?<=\{)(\w*).*(?=\})", r"\1", variable, flags=re.DOTALL)


def _wrong(shown: str, number: int, problem: str, hint: str) -> LabError:
    return LabError(f"`{shown}`, line {number}, {problem}", hint)


def _read(words: list[str], wrong: Callable[[str, str], LabError]) -> _Command:
    """Read the words behind `curl`."""
    found, left = _Command(), iter(words)
    for word in left:
        if word in ENDS:
            raise wrong(f"goes on with `{word}`", "write the command of curl alone")
        if not word.startswith("-") or word == "-":
            if found.url is not None:
                raise wrong("names two URLs", "write a command for each")
            found.url = word
            continue
        for option, value in _options(word):
            if option == "--compressed":
                found.headers.append(("accept-encoding", "gzip, deflate"))
            elif option not in IGNORED:
                argument = next(left, None) if value is None else value
                if argument is None or not _take(found, option, argument):
                    raise wrong(f"has `{option}`, which is not understood", "leave it out, or write the request as TOML")
    if found.url is None:
        raise wrong("names no URL", "for instance curl http://127.0.0.1:3000/")
    return found


def _call(found: _Command) -> Call:
    """The request that a command sends."""
    assert found.url is not None, "a command without a URL is refused"
    body = "&".join(found.data) if found.data else None
    headers = list(found.headers)
    if body is not None and not any(name.lower() == "content-type" for name, _ in headers):
        headers.append(("content-type", found.type))
    method = (found.method or ("GET" if body is None else "POST")).upper()
    return Call(method, found.url, tuple(headers), body, None)


def _options(word: str) -> Iterator[tuple[str, str | None]]:
    """The options of a word, each with its value where that is written together with it: `--url=X`, `-sXPOST`."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        yield name, value if equals else None
        return
    for at, letter in enumerate(word[1:], 2):
        if (option := f"-{letter}") not in IGNORED:
            yield option, word[at:] or None
            return
        yield option, None


def _take(found: _Command, option: str, value: str) -> bool:
    """Read one option with its value; False where nobody knows it, or where it sends a file."""
    match option:
        case "-X" | "--request":
            found.method = value
        case "--url":
            found.url = value
        case "-H" | "--header" if ":" in value:
            name, _, rest = value.partition(":")
            if rest.strip():  # without a value curl leaves the header out
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
            found.login = value
            found.headers.append(("authorization", f"Basic {base64.b64encode(value.encode()).decode()}"))
        case _:
            return option in IGNORED_WITH_VALUE
    return True
