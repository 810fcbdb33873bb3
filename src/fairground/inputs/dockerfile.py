"""A dockerfile → its instructions with their lines, and the stages that the last one needs."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

CONTINUES = "\\"
HERE = re.compile(r"(?<!\S)\d*<<-?[\"']?([A-Za-z_]\w*)[\"']?")
"""A here-document, as a builder of images finds it: a word of its own, so that `$((1<<20))` is none."""
VARIABLE = re.compile(r"\$(?:\{(\w+)(?::?-([^}]*))?\}|(\w+))")
OPERATORS = ("&&", "||", ";", "|", "&")


@dataclass(frozen=True)
class Instruction:
    """One instruction: its word in capitals, the rest as one line, and the line (from 1) that it begins in."""

    word: str
    text: str
    line: int

    @property
    def flags(self) -> dict[str, str]:
        """The flags before its text: `--from=build` is `from` → `build`."""
        words = self.text.split()
        return {name: value for name, _, value in (word[2:].partition("=") for word in words[: self._flags()])}

    @property
    def rest(self) -> str:
        """Its text without the flags before it."""
        return " ".join(self.text.split(maxsplit=self._flags())[self._flags() :])

    def words(self) -> list[str] | None:
        """The words of its exec form, a list in JSON; None where it has another form."""
        try:
            found = json.loads(self.rest) if self.rest.startswith("[") else None
        except ValueError:
            return None
        return found if isinstance(found, list) and all(isinstance(one, str) for one in found) and found else None

    def _flags(self) -> int:
        words = self.text.split()
        return next((at for at, word in enumerate(words) if not word.startswith("--")), len(words))


@dataclass(frozen=True)
class BuildStage:
    """One `FROM` and what follows it. `base`: an image, or the name of an earlier stage."""

    name: str
    base: str
    instructions: tuple[Instruction, ...]


def instructions(text: str) -> tuple[Instruction, ...]:
    """Every instruction in order. Comments are left out, continued lines are one, and a here-document is part of its text."""
    found, lines, at = list[Instruction](), text.splitlines(), 0
    while at < len(lines):
        begin, whole = at, ""
        while at < len(lines):
            line, at = lines[at].strip(), at + 1
            if line.startswith("#") or not line:
                begin = begin if whole else at
                continue
            whole += " " + line.removesuffix(CONTINUES).strip()
            if not line.endswith(CONTINUES):
                break
        word, _, rest = whole.strip().partition(" ")
        if word.upper() in ("RUN", "COPY", "ADD") and (here := HERE.search(rest)):
            end = next((place for place in range(at, len(lines)) if lines[place].strip() == here[1]), len(lines) - 1)
            rest, at = "\n".join([rest, *lines[at : end + 1]]), end + 1
        if word:
            found.append(Instruction(word.upper(), rest.strip(), begin + 1))
    return tuple(found)


def stages(found: tuple[Instruction, ...]) -> tuple[BuildStage, ...]:
    """The stages that the last one needs, in their order, it included. A stage without a name has its number."""
    every, arguments = list[BuildStage](), dict[str, str]()
    for one in found:
        if one.word == "FROM":
            words = expand(one.rest, arguments).split()
            name = words[2] if len(words) == 3 and words[1].lower() == "as" else str(len(every))
            every.append(BuildStage(name.lower(), words[0] if words else "", ()))
        elif every:
            last = every.pop()
            every.append(BuildStage(last.name, last.base, (*last.instructions, _declared(one, arguments))))
        elif one.word == "ARG":
            arguments |= assignments(one.text, arguments)
    return tuple(one for at, one in enumerate(every) if at in _needed(every))


def _declared(one: Instruction, arguments: Mapping[str, str]) -> Instruction:
    """An `ARG` that gives no value has the one from before the first stage."""
    words = one.text.split()
    if one.word != "ARG" or not any(word in arguments for word in words):
        return one
    return Instruction(
        one.word, " ".join(f"{word}={shlex.quote(arguments[word])}" if word in arguments else word for word in words), one.line
    )


def _needed(every: list[BuildStage]) -> set[int]:
    numbers = {name: at for at, one in enumerate(every) for name in (str(at), one.name)}
    found, left = set[int](), [len(every) - 1] if every else []
    while left:
        at = left.pop()
        found.add(at)
        used = [every[at].base, *(one.flags.get("from", "") for one in every[at].instructions)]
        left += [
            numbers[name.lower()] for name in used if numbers.get(name.lower(), at) < at and numbers[name.lower()] not in found
        ]
    return found


def assignments(text: str, known: Mapping[str, str]) -> dict[str, str]:
    """The variables of `ENV` and `ARG`, with `known` ones filled in. `ENV NAME a text` is one variable; `ARG NAME` has none."""
    name, _, rest = text.partition(" ")
    if "=" not in name:
        return {name: expand(rest.strip().strip("\"'"), known)} if rest.strip() else {}
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    pairs = (word.partition("=") for word in words)
    return {key: expand(value, known) for key, equals, value in pairs if equals}


def expand(text: str, known: Mapping[str, str]) -> str:
    """The text with what is known of its variables, and the defaults that it has for others."""

    def value(found: re.Match[str]) -> str:
        return known.get(found[1] or found[3], found[2] if found[2] is not None else found[0])

    return VARIABLE.sub(value, text)


def commands(text: str) -> list[tuple[str, str]]:
    """Split a shell's line at its operators outside of quotes: each command, and the operator that follows it."""
    found, quote, begin, at = list[tuple[str, str]](), "", 0, 0
    while at < len(text):
        letter = text[at]
        operator = "" if quote else next((one for one in OPERATORS if text.startswith(one, at)), "")
        if operator == "&" and text[at - 1 : at] == ">" or letter == "\\" and quote != "'":
            at += 2
            continue
        if letter in "\"'" and quote in ("", letter):
            quote = "" if quote else letter
        if operator:
            found.append((text[begin:at].strip(), operator))
            begin = at + len(operator)
        at += max(1, len(operator))
    found.append((text[begin:].strip(), ""))
    return [one for one in found if one[0]]


def steps(text: str) -> list[tuple[str, bool]]:
    """Split a shell's line into what runs one after the other, and tell of each whether it is one command."""
    found, joined = list[tuple[str, bool]](), ""
    for part, operator in commands(text):
        if operator in ("|", "||", "&"):
            joined += f"{part} {operator} "
        else:
            found.append((joined + part, not joined))
            joined = ""
    return found + ([(joined.strip(), False)] if joined else [])


def paths(text: str) -> Iterator[re.Match[str]]:
    """Every absolute path in a text, wherever a word or a value begins; addresses and options such as `/p:NAME=…` are none."""
    return re.finditer(r"(?<![\w.:/@$}~*)\\-])/(?!/|\w+:\w+=)[^\s\"';:,|&<>()]*|(?<=:)/(?!/)[^\s\"';:,|&<>()]*", text)
