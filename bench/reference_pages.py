"""The tables of docs/reference, written from the tables that the lab works with: `make reference`.

    bench/reference_pages.py

A page holds its tables between `<!-- table: NAME -->` and `<!-- end -->`; the words around them are written by hand. A new
check, reason, bound, option or key of suites is thus told once, in the code.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import click

from fairground.cli.verbs import VERBS
from fairground.inputs import options
from fairground.inputs.conditions import SettingsTable
from fairground.inputs.options import Of
from fairground.inputs.published import Publication
from fairground.inputs.suite_file import GroupTable, SuiteFile
from fairground.judge import thresholds, validity
from fairground.judge.validity import ValidityCheck
from fairground.model.experiment import Direction
from fairground.model.reason import REASONS, Prediction, Reason

PAGES = Path(__file__).resolve().parents[1] / "docs" / "reference"
BLOCK = re.compile(r"(?<=<!-- table: )([a-z-]+)( -->\n).*?(?=<!-- end -->)", re.DOTALL)
BOUND = re.compile(r"^(\w+) += +([\d.]+) +# (.+)$", re.MULTILINE)
GOODPUT = {Direction.MORE: "rises", Direction.LESS: "falls"}


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Write rows as Markdown; the columns `right` are set to the right."""
    rules = ("--:" if place in right else "---" for place, _ in enumerate(heads))
    lines = [f"| {' | '.join(heads)} |", f"|{'|'.join(rules)}|"]
    return "\n".join([*lines, *(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)])


# ---------------------------------------------------------------- checks and bounds


def checks() -> str:
    """Write the checks of validity with their bounds."""
    return table(("no.", "finding", "looks at", "warned", "void"), map(_check, validity.CHECKS))


def _check(check: ValidityCheck) -> Sequence[str]:
    return (check.number, f"`{check.id}`", check.what, _bounds(check, "warn"), _bounds(check, "void"))


def _bounds(check: ValidityCheck, name: str) -> str:
    bounds = check.bounds(thresholds.standard().checks)
    plain = "open loop " if bounds.closed else "own cores " if bounds.shared else ""
    parts = [(plain, bounds), ("closed loop ", bounds.closed), ("shared cores ", bounds.shared)]
    values = [(label, getattr(pair, name)) for label, pair in parts if pair is not None]
    return "; ".join(
        f"{label}{'any' if value == 0 else '> ' + check.show(value)}" for label, value in values if value is not None
    )


def rules() -> str:
    """Write the bounds that decide beside those of checks."""
    return _section("rules")


def bounds() -> str:
    """Write the bounds that name a reason."""
    return _section("reasons")


def _section(name: str) -> str:
    """Write a section of `thresholds.toml`: each value as it stands there, and the comment beside it."""
    text = thresholds.FILE.read_text(encoding="utf-8")
    found = BOUND.findall(text.partition(f"[{name}]\n")[2].partition("\n[")[0])
    assert [key for key, _, _ in found] == list(tomllib.loads(text)[name]), "a bound without a comment"
    return table(("bound", "value", "meaning"), ((f"`{key}`", value, words) for key, value, words in found), right=(1,))


# ---------------------------------------------------------------- reasons


class Bound(float):
    """A bound inside of a sentence: `{locked:%}`, `{retry_us:s}` and `{retry_us:ms}` of microseconds, `{connects:g}`."""

    def __format__(self, unit: str) -> str:
        shown = {"%": (100, " %"), "ms": (1e-3, ""), "s": (1e-6, ""), "g": (1, "")}
        times, after = shown[unit]
        return f"{float(self) * times:.6g}{after}"


def reasons() -> str:
    """Write the reasons, their meaning, and what names them."""
    known = {name: Bound(value) for name, value in thresholds.standard().values()["reasons"].items()}
    rows = ((f"`{one.id}`", one.meaning, one.sign.format(**known)) for one in REASONS.values())
    return table(("reason", "meaning", "named when"), rows)


def experiments() -> str:
    """Write what each reason predicts."""
    heads = ("reason", "what is changed", "goodput, if the reason is right")
    return table(heads, (row for one in REASONS.values() for row in _experiments(one)))


def _experiments(reason: Reason) -> Iterator[Sequence[str]]:
    for one in reason.predictions:
        yield (_said_of(reason, one), one.change, GOODPUT[one.goodput])
    if reason.untested:
        yield (f"`{reason.id}`", f"none. {reason.untested.capitalize()}", "")


def _said_of(reason: Reason, prediction: Prediction) -> str:
    return f"`{reason.id}` {prediction.when}".rstrip()


# ---------------------------------------------------------------- suites


def suite_keys() -> str:
    """Write the keys that say what a suite is."""
    elsewhere = {one.name for one in fields(Publication)}
    found = [one for one in fields(SuiteFile) if _sets(one) <= {Of.SUITE} and one.name not in elsewhere]
    of_groups = {one.name for one in fields(GroupTable)}
    return _keys(sorted(found, key=lambda one: one.name in of_groups))


def measured_keys() -> str:
    """Write the keys that say what is measured."""
    return _keys(one for one in fields(SuiteFile) if Of.GROUP in _sets(one))


def load_keys() -> str:
    """Write the keys of the load."""
    return _keys(one for one in fields(SuiteFile) if Of.LOAD in _sets(one))


def path_keys() -> str:
    """Write the keys of the path: hops, the database's version, and seats."""
    return _keys(one for one in fields(SuiteFile) if _sets(one) & {Of.TOPOLOGY, Of.SETTINGS})


def settings_keys() -> str:
    """Write the keys of `[settings]`."""
    return _keys(fields(SettingsTable))


def published_keys() -> str:
    """Write the keys of what somebody published."""
    return _keys(fields(Publication))


def _sets(key: Field[Any]) -> set[Of]:
    return {one.sets for one in options.OPTIONS if one.key == key.name}


def _keys(some: Iterable[Field[Any]]) -> str:
    return table(("key", "meaning"), ((f"`{one.name}`", one.metadata["words"]) for one in some))


# ---------------------------------------------------------------- options


def run_options() -> str:
    """Write the options of `run`, and the keys of suites that say the same."""
    keys = {one.spelling: one.key for one in options.OPTIONS}
    heads = ("option", "meaning", "default", "key of suites")
    return table(heads, ((*_option(one), f"`{key}`" if (key := keys.get(one.opts[0])) else "") for one in _parameters("run")))


def other_options() -> str:
    """Write each other verb: its sentence, the options that are its own, and the names of those that it shares with `run`."""
    shared = [_option(one) for one in _parameters("run")]
    return "\n\n".join(part for name in VERBS if name != "run" for part in _verb(name, shared))


def _verb(name: str, shared: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"## `{name}`"
    yield VERBS[name].sentence
    found = VERBS[name].load(name)
    commands = {f"{sub} ": one for sub, one in getattr(found, "commands", {}).items() if not one.hidden} or {"": found}
    told = [(sub, _option(one)) for sub, command in commands.items() for one in command.params]
    if own := [(f"`{sub}{one[0][1:]}", *one[1:]) for sub, one in told if one not in shared]:
        yield table(("option", "meaning", "default"), own)
    if same := [f"`{sub}{one[0][1:]}" for sub, one in told if one in shared]:
        yield f"As those of `run`: {', '.join(same)}."


def _parameters(verb: str) -> Sequence[click.Parameter]:
    return VERBS[verb].load(verb).params  # type: ignore[no-any-return]


def _option(parameter: click.Parameter) -> Sequence[str]:
    """The spelling of an option, its words, and its default where its words say none."""
    spelled = ", ".join([*parameter.opts, *parameter.secondary_opts]) if parameter.param_type_name == "option" else ""
    value = parameter.metavar or ("" if getattr(parameter, "is_flag", False) else parameter.name.upper())
    default = "" if parameter.default in (None, False, "", ()) else f"`{parameter.default}`"
    words: str = getattr(parameter, "help", None) or ""
    return (f"`{f'{spelled} {value}'.strip()}`", words.replace("<", "&lt;"), default)


TABLES: Mapping[str, Callable[[], str]] = {
    "checks": checks,
    "rules": rules,
    "reasons": reasons,
    "experiments": experiments,
    "bounds": bounds,
    "suite-keys": suite_keys,
    "measured-keys": measured_keys,
    "load-keys": load_keys,
    "path-keys": path_keys,
    "settings-keys": settings_keys,
    "published-keys": published_keys,
    "run-options": run_options,
    "other-options": other_options,
}
"""Name in a page → what writes that table."""


def rewrite(page: str) -> str:
    """Write each table of a page anew. KeyError for one that nobody writes."""
    return BLOCK.sub(lambda block: f"{block[1]}{block[2]}\n{TABLES[block[1]]()}\n\n", page)


def main() -> None:
    """Write the tables of all pages."""
    for path in sorted(PAGES.glob("*.md")):
        before = path.read_text(encoding="utf-8")
        if (after := rewrite(before)) != before:
            path.write_text(after, encoding="utf-8")
            print(f"{path.name} is written anew", file=sys.stderr)


if __name__ == "__main__":
    main()
