"""Roles on other hosts, as a person asks for them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace

from fairground.inputs import numbers
from fairground.model import ROLES, LabError, Settings, Suite

PLACED = ("generator",)
"""The roles that can be on another host than the lab's."""
ON_ITS_MACHINE = {
    "server": "run the lab on the machine that the server is to have, and place the generator",
    "database": "start one there, and name it: --database URL",
}
"""What to do for a role that stays on the lab's machine."""

Placed = tuple[tuple[str, str], ...]
"""Role → host."""


def parse(spelling: str, texts: Sequence[str]) -> Placed:
    """`generator=HOST`, each. LabError with the spelling for what cannot be meant."""
    found = dict[str, str]()
    for text in texts:
        role, equals, host = (part.strip() for part in text.partition("="))
        if not equals or not role or not host:
            raise LabError(f"`{spelling} {text}` should be a role and a host", f"for instance {spelling} generator=rack-2")
        if role not in ROLES:
            near = difflib.get_close_matches(role, ROLES, 1)
            raise LabError(f"there is no role `{role}`", f"did you mean `{near[0]}`?" if near else f"roles: {', '.join(PLACED)}")
        if role not in PLACED:
            hint = ON_ITS_MACHINE.get(role, "place the generator, and leave the others here")
            raise LabError(f"`{spelling} {text}`: the {role} stays on the lab's machine", hint)
        if "+" in host:
            raise LabError(f"`{spelling} {text}` names several hosts, and one makes the load", "name one of them")
        if role in found:
            raise LabError(f"`{spelling}` says twice where the {role} is", "say it once")
        found[role] = host
    return tuple(found.items())


def suite(asked: Suite, place: Placed) -> Suite:
    """The suite with roles on other hosts."""
    groups = tuple(replace(group, settings=settings(group.settings, place)) for group in asked.groups)
    return replace(asked, groups=groups)


def settings(asked: Settings, place: Placed) -> Settings:
    """The settings with roles on other hosts. The database has the cores that a generator which is elsewhere leaves free."""
    cores = dict(asked.pin)
    for role, _ in place:
        free = cores.pop(role, ())
        if "database" in cores:
            cores["database"] = tuple(sorted({*cores["database"], *free}))
    return replace(asked, pin=numbers.by_role(cores), place=place)
