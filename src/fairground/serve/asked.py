"""Turn what a page asks for into the words of a command: every word is one that the lab knows, or a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairground.lab import lists
from fairground.lab.places import Places
from fairground.model import LabError

BOUNDS: Mapping[str, tuple[float, tuple[type[float], ...]]] = {
    "blocks": (100, (int,)),
    "window": (600.0, (int, float)),
    "connections": (10_000, (int,)),
}
"""Number → the most that a page may ask for, and what it may be."""


@dataclass(frozen=True)
class Known:
    """The stacks, workloads and suites that can be measured here, by name."""

    stacks: tuple[str, ...]
    workloads: tuple[str, ...]
    suites: tuple[str, ...]

    @classmethod
    def of(cls, places: Places) -> Known:
        """Read what the folders of a lab hold."""
        stacks, workloads = (tuple(str(row["id"]) for row in lists.rows(what, places)) for what in ("stacks", "workloads"))
        return cls(stacks, workloads, tuple(Path(str(row["path"])).stem for row in lists.rows("suites", places)))


def words(document: Mapping[str, Any], known: Known, places: Places) -> tuple[str, ...]:
    """The command for `{"verb": "run" | "suite" | "compare", …}`. LabError for what is not known or out of bounds."""
    verb = document.get("verb")
    if verb == "suite":
        (name,) = _names(document, "suites", known.suites, least=1, most=1)
        return ("run", str(places.suites / f"{name}.toml"), *_shared(places))
    if verb == "run":
        stacks = _names(document, "stacks", known.stacks, least=1, most=200)
        workloads = _names(document, "workloads", known.workloads, least=1, most=50)
        return ("run", *_many("--stack", stacks), *_many("--workload", workloads), *_numbers(document, *BOUNDS), *_shared(places))
    if verb == "compare":
        first, second = _names(document, "stacks", known.stacks, least=2, most=2)
        (workload,) = _names(document, "workloads", known.workloads, least=1, most=1)
        return (
            "compare",
            first,
            second,
            "--workload",
            workload,
            *_numbers(document, "connections", "window"),
            "--json",
            *_folders(places),
        )
    raise LabError(f"`{verb}` cannot be started from this page", "run, suite or compare")


def _shared(places: Places) -> tuple[str, ...]:
    return ("--json", "--progress", *_folders(places))


def _folders(places: Places) -> tuple[str, ...]:
    """The same folders in the command's own words: servers beside the lab's are found by it, too."""
    servers = ("--servers", str(places.servers)) if places.lab_servers is None else ()
    return ("--results", str(places.results), *servers)


def _many(option: str, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for name in names for word in (option, name))


def _names(document: Mapping[str, Any], key: str, known: Sequence[str], least: int, most: int) -> tuple[str, ...]:
    """One name or several, each of which is known."""
    value = document.get(key)
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list) or not least <= len(given) <= most:
        count = str(least) if least == most else f"{least} or more"
        raise LabError(f"`{key}` needs {count}", "pick on the page")
    for name in given:
        if name not in known:
            raise LabError(f"`{name}` is not among the {key} here", f"./fairground list {key}")
    return tuple(given)


def _numbers(document: Mapping[str, Any], *keys: str) -> tuple[str, ...]:
    """Those of these numbers that are given, as options."""
    found = []
    for key in keys:
        value, (most, kinds) = document.get(key), BOUNDS[key]
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or type(value) not in kinds or not 0 < value <= most:
            raise LabError(f"`{key}` is {value!r}", f"write a number above 0, {most:g} at most")
        found += [f"--{key}", f"{value:g}"]
    return tuple(found)
