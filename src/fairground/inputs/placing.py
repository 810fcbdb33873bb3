"""Roles on other hosts, as a person asks for them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace

from fairground.inputs import numbers
from fairground.model import AND, ROLES, LabError, Load, Settings, Suite

PLACED = ("generator", "database", "server")
"""The roles that can be on another host than the lab's. What stands between them is with the server."""

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
            raise LabError(
                f"`{spelling} {text}`: the {role} is where the server is", f"place the server: {spelling} server={host}"
            )
        names = [one.strip() for one in host.split(AND)]
        if "" in names or len(set(names)) < len(names):
            raise LabError(f"`{spelling} {text}` should name each host once", f"for instance {spelling} generator=rack-2+rack-3")
        if role != "generator" and len(names) > 1:
            raise LabError(f"`{spelling} {text}`: the {role} is on one host", "name one of them")
        if role in found:
            raise LabError(f"`{spelling}` says twice where the {role} is", "say it once")
        found[role] = AND.join(names)
    on = dict[str, list[str]]()
    for role, hosts in found.items():
        for name in hosts.split(AND):
            on.setdefault(name, []).append(role)
    if both := next((name for name, some in on.items() if len(some) > 1), None):
        sentence = f"`{spelling}` has {' and '.join(on[both])} on host `{both}`"
        raise LabError(sentence, "a host takes one role: name another one for the other")
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
    cores, there = dict(asked.pin), dict(place)
    free = cores.pop("generator", ()) if "generator" in there else ()
    if "database" in there:
        cores.pop("database", None)
    elif free and "database" in cores:
        cores["database"] = tuple(sorted({*cores["database"], *free}))
    return replace(asked, pin=numbers.by_role(cores), place=place)
