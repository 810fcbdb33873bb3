"""Building servers, and what of a plan is not available here: both are told, and the rest goes on."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fairground import generators, topology
from fairground.generators import Installed
from fairground.host import Keeper, build, build_time
from fairground.host.build import BuiltServer, Unavailable
from fairground.lab.events import Absent, Building, Built, Said, Sink
from fairground.lab.places import Places
from fairground.model import LabError, Stack, Topology
from fairground.postgres import packages
from fairground.postgres.databases import version_name


def build_servers(keeper: Keeper, stacks: Iterable[Stack], places: Places, sink: Sink) -> dict[Path, BuiltServer | Unavailable]:
    """Build what these stacks lack, one server after the other, the quickest first; folder of a server → what came of it."""
    began, made = time.monotonic(), dict[Path, BuiltServer | Unavailable]()
    every = build.group_stacks(stacks)
    left_s = {folder: build_time.left_s(some, places.cache) for folder, some in every.items()}
    missing = sum(map(bool, left_s.values()))
    for folder in sorted(every, key=lambda folder: left_s[folder]):
        server = every[folder][0].server
        later = [seconds for one, seconds in left_s.items() if one not in made and seconds]
        place, own_s = missing - len(later) + 1, left_s[folder]

        def tell(command: str, id: str = server.id, place: int = place, times: tuple[float, float] = (own_s, sum(later))) -> None:
            sink(Building(id, command, place, max(1, missing), times[0] or None, times[1] or None))

        made[folder] = found = build.build(keeper, every[folder], places.cache, tell)
        if isinstance(found, Unavailable):
            sink(Absent(server.id, reason(found)))
    sink(Built(time.monotonic() - began))
    return made


def unavailable(stacks: Sequence[Stack], builds: Mapping[Path, BuiltServer | Unavailable]) -> dict[str, str]:
    """Stack → why it is not available."""
    found = {stack.id: builds[stack.server.folder] for stack in stacks}
    return {id: reason(made) for id, made in found.items() if isinstance(made, Unavailable)}


def absent_tools(places: Places, tools: Mapping[str, Installed | None], sink: Sink) -> dict[str, str]:
    """`generator NAME` → why it is not available, of those that are looked for."""
    return _told(
        {
            f"generator {name}": f"`{name}` is not installed → {generators.install_words(name, places.tools)}"
            for name, tool in tools.items()
            if tool is None
        },
        sink,
    )


def absent_topologies(path: str | None, wanted: Iterable[Topology], sink: Sink) -> dict[str, str]:
    """`topology ID` → why it is not available, of those that are wanted."""
    found = {one.id: topology.lacking(one, path) for one in wanted}
    return _told({f"topology {id}": " → ".join(lacking) for id, lacking in found.items() if lacking}, sink)


def absent_versions(keeper: Keeper, places: Places, versions: Iterable[int | None], sink: Sink) -> dict[str, str]:
    """Bring what the lab needs to start these versions of PostgreSQL; `PostgreSQL MAJOR` → why it cannot be had here."""
    found = dict[str, str]()
    for version in versions:
        if version is None:
            continue
        try:
            if packages.at_hand(version, places.cache) is None:
                sink(Said(f"bringing PostgreSQL {version} …"))
                packages.programs(version, places.cache, keeper)
        except LabError as error:
            found[version_name(version)] = error.message + (f" → {error.hint}" if error.hint else "")
    return _told(found, sink)


def reason(made: Unavailable) -> str:
    """Say why a server is not available, and what would make it available."""
    return f"{made.reason}{f' → {made.hint}' if made.hint else ''}"


def _told(found: dict[str, str], sink: Sink) -> dict[str, str]:
    for what, why in found.items():
        sink(Absent(what, why))
    return found
