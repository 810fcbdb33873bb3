"""Roles on other hosts, as a person asks for them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace

from fairground.inputs import numbers
from fairground.model import AND, ROLES, LabError, Load, Settings, Suite

PLACED = ("generator",)
"""The roles that can be on another host than the lab's."""
ON_ITS_MACHINE = {
    "server": "run the lab on the machine that the server is to have, and place the generator",
    "database": "start one there, and name it: --database URL",
}
"""What to do for a role that stays on the lab's machine."""

Placed = tuple[tuple[str, str], ...]
"""Role → host, or hosts."""


def parse(spelling: str, texts: Sequence[str]) -> Placed:
    """`generator=HOST`, or `generator=HOST+HOST`. LabError with the spelling for what cannot be meant."""
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
        names = [one.strip() for one in host.split(AND)]
        if "" in names or len(set(names)) < len(names):
            raise LabError(f"`{spelling} {text}` should name each host once", f"for instance {spelling} generator=rack-2+rack-3")
        if role in found:
            raise LabError(f"`{spelling}` says twice where the {role} is", "say it once")
        found[role] = AND.join(names)
    return tuple(found.items())


def check(load: Load, place: Placed) -> None:
    """LabError for a load that its hosts cannot make together, since each needs a connection."""
    names = Settings(place=place).hosts_of("generator")
    if load.connections < len(names):
        raise LabError(
            f"{len(names)} hosts cannot share {load.connections} connection{'s' * (load.connections != 1)}: each needs one",
            "place the generator on fewer hosts, or ask for more connections",
        )


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
