"""Building servers, and what of a plan is not available here: both are told, and the rest goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Sequence

from fairground import topology
from fairground.generators import Installed
from fairground.host import Keeper, build
from fairground.host.build import Built as Made
from fairground.host.build import Unavailable
from fairground.lab import setup
from fairground.lab.events import Absent, Building, Built, Event, Said, Sink
from fairground.lab.places import Places
from fairground.model import LabError, Server, Topology
from fairground.postgres import packages


def built(
    keeper: Keeper, servers: Sequence[Server], places: Places, sink: Sink
) -> Generator[Event, None, dict[str, Made | Unavailable]]:
    """Build what is not built yet, one after the other; server id → what came of it."""
    began, made = time.monotonic(), dict[str, Made | Unavailable]()
    missing = [server.id for server in servers if not build.is_built(server, places.cache)]
    for server in servers:
        place = missing.index(server.id) + 1 if server.id in missing else len(missing)
        teller = _teller(server.id, max(1, place), max(1, len(missing)), sink)
        made[server.id] = build.build(keeper, server, places.cache, teller)
    for one in made.values():
        if isinstance(one, Unavailable):
            yield Absent(one.server.id, reason(one))
    yield Built(time.monotonic() - began)
    return made


def absent_generators(places: Places, tools: dict[str, Installed | None]) -> dict[str, Absent]:
    """`generator NAME` → why it is not available, of those that are looked for."""
    return {
        f"generator {name}": Absent(f"generator {name}", f"`{name}` is not installed → {setup.install_words(places, name)}")
        for name, tool in tools.items()
        if tool is None
    }


def absent_topologies(places: Places, wanted: Iterable[Topology]) -> dict[str, Absent]:
    """`topology ID` → why it is not available, of those that are wanted."""
    found = {one.id: topology.lacking(one, places.environ.get("PATH")) for one in wanted}
    return {f"topology {id}": Absent(f"topology {id}", " → ".join(lacking)) for id, lacking in found.items() if lacking}


def programs(places: Places, path: Topology) -> dict[str, str]:
    """Program → version, of what a path needs. LabError where one is not here, with what would install it."""
    if (lacking := topology.lacking(path, places.environ.get("PATH"))) is not None:
        raise LabError(*lacking, exit_code=3)
    return topology.versions([path], places.environ.get("PATH"))


def absent_versions(keeper: Keeper, places: Places, versions: Iterable[int | None]) -> Generator[Event, None, dict[str, Absent]]:
    """Bring what the lab needs to start these versions of PostgreSQL; `PostgreSQL MAJOR` → why it cannot be had here."""
    found = dict[str, Absent]()
    for version in versions:
        if version is None:
            continue
        try:
            if packages.at_hand(version, places.cache) is None:
                yield Said(f"bringing PostgreSQL {version} …")
                packages.programs(version, places.cache, keeper.environ)
        except LabError as error:
            what = f"PostgreSQL {version}"
            found[what] = Absent(what, error.message + (f" → {error.hint}" if error.hint else ""))
    yield from found.values()
    return found


def reason(made: Unavailable) -> str:
    """Why a server is not available, and what would make it so."""
    return f"{made.reason}{f' → {made.hint}' if made.hint else ''}"


def _teller(server: str, place: int, servers: int, sink: Sink) -> Callable[[str], None]:
    return lambda command: sink(Building(server, command, place, servers))
