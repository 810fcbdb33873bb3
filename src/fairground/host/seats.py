"""The cores that each role of a measurement gets: a pure rule over the processors that this process may use, and their reader.

On shared cores the scheduler decides anew in each moment which roles meet on a core, and two identical servers differ by what
it decided. Seats take that away: server, database and generator each have cores of their own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from fairground.model import Seats

GENERATOR_SHARE = 0.4
"""The generator's share of the cores that the server leaves."""

Core = tuple[int, ...]
"""The usable processors of one physical core, ascending."""


@dataclass(frozen=True)
class Processor:
    """One processor as the kernel counts them. `core`: the lowest number among its SMT siblings; `node`: its NUMA node."""

    number: int
    core: int
    node: int = 0


@dataclass(frozen=True)
class Processors:
    """The processors that this process may use: those of its affinity mask, and a CPU quota in processors (None: none)."""

    usable: tuple[Processor, ...]
    quota: float | None = None


def seats(there: Processors) -> Seats:
    """The cores of server, database and generator.

    The server gets half of the physical cores, rounded down: it is what is measured, and with half of the machine it is more
    often the first to be full than what serves it. Of the rest the generator gets 40 %, at least one core, and the database the
    others: an answer from the database costs PostgreSQL more CPU time than it costs the load engine. 3 cores → 1/1/1 (server,
    database, generator), 4 → 2/1/1, 8 → 4/2/2, 16 → 8/5/3. On two cores generator and database have one together: the server's
    noise is what matters most. One core is shared by all.

    A physical core is given with all of its SMT siblings, unless it is the only one. A role stays on one NUMA node where one has
    room for it. Of a quota's processors the whole ones count: two roles on 1.5 of them would wait for the quota, not for a core.
    """
    counted = _within(there)
    cores = _cores(counted)
    if len(counted) < 2:
        return Seats((), (), (), _alone(there))
    if len(cores) == 1:  # nothing but siblings is left to divide
        cores = [((number,), node) for core, node in cores for number in core]
    many = len(cores) // 2
    rest = len(cores) - many
    server = _taken(cores, many, ())
    if rest == 1:
        database = generator = _taken(cores, 1, server)
    else:
        asking = max(1, round(GENERATOR_SHARE * rest))
        database = _taken(cores, rest - asking, server)
        generator = _taken(cores, asking, (*server, *database))
    return Seats(server, database, generator, _remark(there, server, (*database, *generator)))


def _within(there: Processors) -> tuple[Processor, ...]:
    """The processors that count: under a quota as many as it allows, whole cores of one node first and siblings last."""
    quota = len(there.usable) if there.quota is None else int(there.quota)
    if quota >= len(there.usable):
        return there.usable
    rank: dict[int, int] = {}
    for _, siblings in groupby(sorted(there.usable, key=lambda one: (one.core, one.number)), key=lambda one: one.core):
        rank |= {one.number: place for place, one in enumerate(siblings)}
    ordered = sorted(there.usable, key=lambda one: (rank[one.number], one.node, one.number))
    return tuple(ordered[: max(1, quota)])


def _cores(usable: Collection[Processor]) -> list[tuple[Core, int]]:
    """Physical cores with their node, those of one node side by side."""
    ordered = sorted(usable, key=lambda one: (one.node, one.core, one.number))
    return [
        (tuple(one.number for one in some), node)
        for (node, _), some in groupby(ordered, key=lambda one: (one.node, one.core))
    ]  # fmt: skip


def _taken(cores: Sequence[tuple[Core, int]], many: int, taken: Collection[int]) -> tuple[int, ...]:
    """The processors of this many cores that are left: on the node with the least room to suffice, else on as few as can be."""
    free: dict[int, list[Core]] = {}
    for core, node in cores:
        if core[0] not in taken:
            free.setdefault(node, []).append(core)
    roomy = [node for node in free if len(free[node]) >= many]
    order = [min(roomy, key=lambda node: len(free[node]))] if roomy else sorted(free, key=lambda node: -len(free[node]))
    chosen = [core for node in order for core in free[node]][:many]
    return tuple(sorted(number for core in chosen for number in core))


def _alone(there: Processors) -> str:
    why = "there is one core only" if len(there.usable) < 2 else f"the CPU quota of {there.quota:g} is less than two cores"
    return f"{why}: server, database and generator share what there is"


def _remark(there: Processors, server: Core, others: Core) -> str:
    given, core = len({*server, *others}), {one.number: one.core for one in there.usable}
    if given < len(there.usable):
        return f"the CPU quota of {there.quota:g} lets {given} of {len(there.usable)} cores count"
    if {core[number] for number in server} & {core[number] for number in others}:
        return "the server's core and that of the others are SMT siblings, which slow each other down"
    return ""


# ---------------------------------------------------------------- the machine


def read(root: Path = Path("/"), affinity: Collection[int] | None = None) -> Processors:
    """The processors that this process may use, from `sys` and `proc` beneath `root`; `affinity` None: its own mask.

    A core whose siblings cannot be read stands for itself; without NUMA nodes all are on node 0.
    """
    mine = sorted(os.sched_getaffinity(0) if affinity is None else affinity)
    system = root / "sys" / "devices" / "system"
    nodes = {
        number: int(folder.name.removeprefix("node"))
        for folder in sorted((system / "node").glob("node[0-9]*"))
        for number in _listed(folder / "cpulist")
    }
    usable = []
    for number in mine:
        siblings = _listed(system / "cpu" / f"cpu{number}" / "topology" / "thread_siblings_list")
        usable.append(Processor(number, min(siblings, default=number), nodes.get(number, 0)))
    return Processors(tuple(usable), min(_quotas(root), default=None))


def _listed(path: Path) -> list[int]:
    """The numbers of a list such as `0-3,8`; none where there is no such file."""
    found: list[int] = []
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text_of(path)):
        found += range(int(first), int(last or first) + 1)
    return found


def _quotas(root: Path) -> Iterator[float]:
    """The CPU quotas of our cgroup and of those above it, in processors. A container sees only its own, at the top."""
    for line in text_of(root / "proc" / "self" / "cgroup").splitlines():
        _, controllers, own = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        mounts = [root / "sys/fs/cgroup" / name for name in (("cpu", "cpu,cpuacct") if controllers else ("",))]
        place = Path(own.lstrip("/"))
        for folder in (mount / above for mount in mounts for above in (place, *place.parents)):
            quota, period = text_of(folder / "cpu.cfs_quota_us"), text_of(folder / "cpu.cfs_period_us")
            words = [quota, period] if controllers else text_of(folder / "cpu.max").split()
            if len(words) == 2 and all(word.isdecimal() for word in words) and int(words[1]):
                yield int(words[0]) / int(words[1])


def text_of(path: Path) -> str:
    """The text of a kernel's file without blanks at its ends; empty where it cannot be read."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""
