"""Seats as a person asks for them, and what follows from them: pins, workers of the server, threads of the generator.

The machine is no business of `inputs`: what its seats are is handed in.
Seats are worked out where inputs become a plan, and are kept as pins of each cell. So a result says which cores it had.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from fairground.inputs import numbers
from fairground.model import ROLES, CellSettings, LabError, Load, Seats, SuiteGroup, Topology

APART, SHARED = "apart", "shared"
HINT = f"{APART}, {SHARED}, or for instance server=0-3,database=4-5,generator=6-7"

ByRole = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Wish:
    """A person's wishes about seats: `text` as typed, None where nothing is said; and whether workers and threads are said."""

    text: str | None = None
    workers: bool = False
    threads: bool = False


def parse(spelling: str, text: str) -> str:
    """The text, if it can be meant. LabError with the spelling where not."""
    if text not in (APART, SHARED):
        _by_role(spelling, text)
    return text


def group(asked: SuiteGroup, wish: Wish, machine: Seats | None) -> SuiteGroup:
    """The group in its seats. `machine`: what they are where roles sit apart; None: that is not known, and they share."""
    settings = seat_settings(asked.settings, asked.topologies, wish, machine)
    return replace(asked, settings=settings, loads=tuple(seat_load(load, settings, wish, machine) for load in asked.loads))


def seat_settings(settings: CellSettings, topologies: Sequence[Topology], wish: Wish, machine: Seats | None) -> CellSettings:
    """Return the settings with a core for each role that is not pinned already.

    They also have as many workers as the server has cores, unless a person says how many.

    Where nothing is said roles sit apart, unless the server has a quota, which may be more than its seat. While others are free,
    no role gets a core that another one is pinned to by hand. Proxy, pooler and wire sit with generator and database.
    """
    roles = _seats(wish, settings, machine)
    if not roles:
        return settings
    given = dict(settings.pin)
    roles = {**(roles if _is_spelled(wish) else _beside(roles, given)), **given}
    beside = tuple(sorted({*roles.get("database", ()), *roles.get("generator", ())}))
    for role in ("proxy", "pooler", "wire"):
        if beside and any(getattr(one, role) for one in topologies):
            roles.setdefault(role, beside)
    workers = settings.workers
    if not wish.workers and "server" in roles:
        workers = min(len(roles["server"]), math.ceil(settings.cpus or len(roles["server"])))
    return replace(settings, pin=numbers.by_role(roles), workers=workers)


def seat_load(load: Load, settings: CellSettings, wish: Wish, machine: Seats | None) -> Load:
    """Return the load in seats, with one thread of the lab's generator for each core of its own."""
    if wish.threads or load.generator != Load.generator or not _seats(wish, settings, machine):
        return load
    roles = dict(settings.pin)
    own = set(roles.pop("generator", ()))
    alone = own.difference(*(roles.get(role, ()) for role in ("server", "database")))
    return replace(load, threads=max(1, min(len(alone), load.connections)))


def _seats(wish: Wish, settings: CellSettings, machine: Seats | None) -> ByRole:
    """Role → cores as wished for; none where the roles share the machine."""
    if wish.text is not None and _is_spelled(wish):
        return _by_role("--seats", wish.text)
    if machine is None or wish.text == SHARED or (wish.text is None and settings.cpus is not None):
        return {}
    seats = {"server": machine.server, "database": machine.database, "generator": machine.generator}
    return {role: cores for role, cores in seats.items() if cores}


def _is_spelled(wish: Wish) -> bool:
    """True if a person says which core is whose."""
    return wish.text not in (None, APART, SHARED)


def _beside(seats: Mapping[str, tuple[int, ...]], given: Mapping[str, Collection[int]]) -> ByRole:
    """The seats of roles that are not pinned by hand, without the cores of those that are; where nothing stays, what is left."""
    taken = {core for cores in given.values() for core in cores}
    left = tuple(sorted({core for cores in seats.values() for core in cores} - taken))
    found = {role: tuple(core for core in cores if core not in taken) or left for role, cores in seats.items()}
    return {role: cores for role, cores in found.items() if cores and role not in given}


def _by_role(spelling: str, text: str) -> ByRole:
    """`server=0-3,database=4,5` as role → cores. A comma stands between roles and between the cores of one."""
    try:
        found = dict(numbers.pins(spelling, re.split(r",(?=[^,]*=)", text)))
    except LabError:
        found = {}
    if not found or not all(role in ROLES and cores for role, cores in found.items()):
        raise LabError(f"`{spelling} {text}` should say which cores each role has", HINT)
    return found
