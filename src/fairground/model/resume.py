"""The command that goes on with a record, and what `--resume` needs again: a record keeps neither database nor hosts."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fairground.model import secret
from fairground.model.record import RecordKind

VERBS: Mapping[RecordKind, str] = {
    RecordKind.COMPARISON: "compare",
    RecordKind.CAPACITY: "capacity",
    RecordKind.TRY: "try",
    RecordKind.CHECK: "check",
    RecordKind.CROSS_CHECK: "cross-check",
    RecordKind.WHY: "why",
    RecordKind.COUNT: "count",
}
"""The verb that measures a kind, which its folder is called by, too."""
BY_OPTION: Mapping[RecordKind, str] = {RecordKind.COUNT: "run --count"}
"""What goes on with a kind that an option of a verb measures."""
OF_HOSTS = ("--place", "--hosts", "--tls")


def command_again_of(kind: RecordKind, folder: Path, command: str) -> str:
    """The command that goes on with a record, with the options of its `command` that none keeps; that of a try does."""
    again = f"./fairground {BY_OPTION.get(kind, VERBS[kind])} --resume {shlex.quote(str(folder))}"
    return again if kind is RecordKind.TRY else again + options_again_of(command)


def database_of(command: str) -> str:
    """The option by which a command names its database, such as ` --database @FILE`; empty where it names none."""
    return _written([*_given(command, ["--database"])][-1:])


def options_again_of(command: str, budget_s: float | None = None) -> str:
    """The options that `--resume` needs again, as a person has to type them; empty where it needs none.

    A URL is theirs to fill in where a secret was taken out of it. `budget_s`: a new budget with which it goes on.
    """
    option = database_of(command)
    again = (" --database URL" if secret.HIDDEN in option else option) + _written([*_given(command, OF_HOSTS)])
    return again if budget_s is None else f"{again} --budget {budget_s:g}s"


def _given(command: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The options of these names that a command has, in its order, with their values. What follows `--` is a service's own."""
    try:
        words = shlex.split(command)
    except ValueError:
        return
    words = words[: words.index("--")] if "--" in words else words
    for place, word in enumerate(words):
        name, joined, value = word.partition("=")
        if name in names and (joined or place + 1 < len(words)):
            yield name, value if joined else words[place + 1]


def _written(options: Sequence[tuple[str, str]]) -> str:
    return "".join(f" {name} {shlex.quote(value)}" for name, value in options)
