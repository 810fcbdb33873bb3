"""A known slowdown: the engine uses a fixed share of what a server uses.

In the server's own cgroup it looks to the lab as if each answer cost that much more. It takes the processor away from the server
as such work would. In another role's group it looks as if that role spent more, while this server is at work.
"""

from __future__ import annotations

from pathlib import Path

from fairground.host import machine
from fairground.host.cgroup import Limits
from fairground.host.child import Child, Keeper
from fairground.model import LabError

MOST_PROCESSES = 32
"""Each looks for itself at what the server used, which costs more than it can burn where there are too many."""


def plant(keeper: Keeper, engine: Path, server: Child, share: float, cores: tuple[int, ...] | None = None) -> Child:
    """Start a burner of `share` in a server's group, on the `cores` that the server is pinned to; stop it before the server.

    LabError where no cgroup can be made.
    """
    return _burning(keeper, engine, server, share, server, cores)


def beside(
    keeper: Keeper, engine: Path, server: Child, share: float, other: Child, among: int, cores: tuple[int, ...] | None = None
) -> Child:
    """Start a burner of `share` of what a server uses in the group of an `other` role, on its `cores`; stop it before both.

    Linux shares a processor out among sessions, and each backend of PostgreSQL is one: a burner of one process gets little beside
    many. So it has as many processes as there are sessions `among` which it burns, and one for each core at least (None: all that
    there are). LabError where no cgroup can be made.
    """
    processes = min(MOST_PROCESSES, max(among, len(cores) if cores is not None else machine.cores()))
    return _burning(keeper, engine, server, share, other, cores, "--processes", str(processes))


def _burning(
    keeper: Keeper, engine: Path, server: Child, share: float, joined: Child, cores: tuple[int, ...] | None, *more: str
) -> Child:
    file = server.group.usage_file
    if file is None:
        raise LabError("a planted slowdown needs cgroups, and none can be made here", "run it as root", exit_code=3)
    joins = [word for file in joined.group.join for word in ("--join", str(file))]
    argv = [str(engine), "burn", "--share", str(share), "--usage", str(file), *joins, *more]
    burning = keeper.spawn(argv, role="burner", env={}, limits=Limits(cores=cores))
    burning.joins = joined.group
    return burning
