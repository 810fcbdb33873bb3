"""Roles on other hosts, as a person asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fairground.inputs import numbers
from fairground.model import ROLES, CellSettings, LabError, Suite
from fairground.model.source import nearest

PLACED = ("generator", "database", "server")
"""The roles that can be on another host than the lab's. What stands between them is with the server."""

Placed = tuple[tuple[str, str], ...]
"""Role → host."""


def parse(spelling: str, texts: Sequence[str]) -> Placed:
    """Read `generator=HOST` and its like, each role and each host once. LabError with the spelling for what cannot be meant."""
    found = dict[str, str]()
    for text in texts:
        role, equals, host = (part.strip() for part in text.partition("="))
        if not equals or not role or not host:
            raise LabError(f"`{spelling} {text}` should be a role and a host", f"for instance {spelling} generator=rack-2")
        if role not in ROLES:
            raise LabError(f"there is no role `{role}`", nearest(role, PLACED, "roles"))
        if role not in PLACED:
            raise LabError(
                f"`{spelling} {text}`: the {role} is where the server is", f"place the server: {spelling} server={host}"
            )
        if "+" in host:
            raise LabError(f"`{spelling} {text}`: the {role} is on one host", "name one of them")
        if role in found:
            raise LabError(f"`{spelling}` says twice where the {role} is", "say it once")
        if both := next((other for other, name in found.items() if name == host), None):
            sentence = f"`{spelling}` has {both} and {role} on host `{host}`"
            raise LabError(sentence, "a host takes one role: name another one for the other")
        found[role] = host
    return tuple(found.items())


def suite(asked: Suite, place: Placed) -> Suite:
    """The suite with roles on other hosts."""
    groups = tuple(replace(group, settings=settings(group.settings, place)) for group in asked.groups)
    return replace(asked, groups=groups)


def settings(asked: CellSettings, place: Placed) -> CellSettings:
    """The settings with roles on other hosts. The database has the cores that a generator which is elsewhere leaves free."""
    cores, there = dict(asked.pin), dict(place)
    free = cores.pop("generator", ()) if "generator" in there else ()
    if "database" in there:
        cores.pop("database", None)
    elif free and "database" in cores:
        cores["database"] = tuple(sorted({*cores["database"], *free}))
    return replace(asked, pin=numbers.by_role(cores), place=place)
