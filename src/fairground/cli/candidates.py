"""Completion of a command line: the words that may stand next on it.

It is pure: a function of the words before it, of the verbs' options, and of what there is to name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from fairground.inputs.names import Name

Table = Mapping[str, Mapping[str, Any]]
"""Verb (empty: none) → its `sentence`, its `arguments` (name → whether several are taken), and its `options` (spelling → help and
whether a value follows). `words.json` is one."""


class There(Protocol):
    """The things that a command line can name. `inputs.names` reads them from the folders."""

    def servers(self) -> Iterable[Name]:
        """Every server, by id."""

    def stacks(self) -> Iterable[Name]:
        """Servers, each of which stands for all of its stacks, and stacks."""

    def workloads(self) -> Iterable[Name]:
        """Every workload, by id."""

    def suites(self) -> Iterable[Name]:
        """Every suite, by id."""

    def records(self, kind: str | None) -> Iterable[Name]:
        """Records of one kind, or (None) of any, by id, with `latest`."""


Values = Callable[[There], Iterable[Name]]


class TypedWords(NamedTuple):
    """The meaning of the words before the one that is typed."""

    verb: str | None = None
    arguments: int = 0
    awaiting: str | None = None
    """The option whose value comes next."""
    ended: bool = False
    """True if `--` was said: what follows is no option."""
    given: Mapping[str, str] = {}
    """Option → the last value that was typed for it."""


def _stacks(there: There) -> Iterable[Name]:
    return there.stacks()


def _workloads(there: There) -> Iterable[Name]:
    return there.workloads()


def _runs(there: There) -> Iterable[Name]:
    return there.records("run")


def _records(there: There) -> Iterable[Name]:
    return there.records(None)


def _suite_files(there: There) -> Iterable[Name]:
    return [one._replace(value=f"suites/{one.value}.toml") for one in there.suites()]


def _suites_or_all(there: There) -> Iterable[Name]:
    return [*there.suites(), Name("all", "those with claims, one after the other")]


def _stacks_or_runs(there: There) -> Iterable[Name]:
    return [*there.stacks(), *there.records("run")]


def _cells(there: There) -> Iterable[Name]:
    return [*there.stacks(), *there.workloads()]


def _lists(_: There) -> Iterable[Name]:
    return [Name(name) for name in ("stacks", "workloads", "topologies", "suites", "runs")]


OPTIONS: Mapping[str, Values] = {
    "--stack": _stacks,
    "-s": _stacks,
    "--anchor": _stacks,
    "--workload": _workloads,
    "-w": _workloads,
    "--from": lambda there: there.servers(),
    "--run": _runs,
}
"""Options whose values have names, of whatever verb. `--resume` depends on the verb."""

ARGUMENTS: Mapping[str, tuple[Values, ...]] = {
    "run": (_suite_files,),
    "compare": (_stacks_or_runs, _stacks_or_runs),
    "why": (_runs, _cells),
    "replicate": (_suites_or_all,),
    "list": (_lists,),
    "check": (_stacks,),
    "report": (_records,),
}
"""Verb → the values of its arguments, in order."""

RESUMES: Mapping[str, str] = {
    "run": "run",
    "replicate": "run",
    "compare": "comparison",
    "capacity": "capacity",
    "try": "try",
    "check": "check",
    "cross-check": "cross-check",
    "why": "why",
}
"""Verb → the kind of the records that its `--resume` goes on with. Counts, beside `--count`, are typed, or `latest`."""


def read_words(words: Sequence[str], table: Table) -> TypedWords:
    """Read the words after the program's name, up to the one that is typed."""
    at = next((at for at, word in enumerate(words) if not word.startswith("-")), None)
    if at is None or words[at] not in table:
        return TypedWords(None if at is None else words[at])
    found, given = TypedWords(words[at]), dict[str, str]()
    options = table[words[at]]["options"]
    for word in words[at + 1 :]:
        spelling, equals, value = word.partition("=")
        if found.awaiting is not None:
            given[found.awaiting] = word
            found = found._replace(awaiting=None)
        elif found.ended or not word.startswith("-"):
            found = found._replace(arguments=found.arguments + 1)
        elif word == "--":
            found = found._replace(ended=True)
        elif equals:
            given[spelling] = value
        elif spelling in options and options[spelling][1]:
            found = found._replace(awaiting=spelling)
    return found._replace(given=given)


def candidates(before: TypedWords, typed: str, table: Table, there: There) -> list[Name]:
    """List what the typed word may become. Nothing where no name is known: the shell then offers files."""
    if before.verb is None:
        return _beginning(typed, _options(table[""]) if typed.startswith("-") else _verbs(table))
    if before.verb not in table:
        return []
    options = table[before.verb]["options"]
    spelling, equals, value = typed.partition("=")
    if before.awaiting is not None:
        return _beginning(typed, _values(before.verb, before.awaiting)(there))
    if not before.ended and equals and spelling in options:
        found = _beginning(value, _values(before.verb, spelling)(there))
        return [one._replace(value=f"{spelling}={one.value}") for one in found]
    if not before.ended and typed.startswith("-"):
        return _beginning(typed, _options(table[before.verb]))
    return _beginning(typed, _argument(before.verb, before.arguments, table[before.verb]["arguments"])(there))


def _beginning(typed: str, every: Iterable[Name]) -> list[Name]:
    return [one for one in every if one.value.startswith(typed)]


def _verbs(table: Table) -> list[Name]:
    return [Name(name, verb["sentence"]) for name, verb in table.items() if name]


def _options(verb: Mapping[str, Any]) -> list[Name]:
    return [Name(spelling, text) for spelling, (text, _) in verb["options"].items()]


def _nothing(_: There) -> Iterable[Name]:
    return ()


def _values(verb: str, option: str) -> Values:
    """Return the values that an option of a verb may be given."""
    if option == "--resume":
        return lambda there: there.records(RESUMES[verb])
    return OPTIONS.get(option, _nothing)


def _argument(verb: str, earlier: int, arguments: Mapping[str, bool]) -> Values:
    """Return what may be named after `earlier` arguments. The last argument of a verb may take several."""
    named = ARGUMENTS.get(verb, ())
    several = any(arguments.values())
    if earlier >= len(named) and not several:
        return _nothing
    return named[min(earlier, len(named) - 1)] if named else _nothing
