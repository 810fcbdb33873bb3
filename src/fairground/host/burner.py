"""A known slowdown for a positive control: the engine uses a fixed share of what a server uses, in the server's own cgroup.

To the lab it looks as if each answer cost that much more, and it takes the processor away from the server as such work would.
"""

from __future__ import annotations

from pathlib import Path

from fairground.host.cgroup import Limits
from fairground.host.child import Child, Keeper
from fairground.model import LabError


def plant(keeper: Keeper, engine: Path, server: Child, share: float, cores: tuple[int, ...] | None = None) -> Child:
    """Start a burner of `share` in a server's group, on the `cores` that the server is pinned to; stop it before the server.

    LabError where no cgroup can be made.
    """
    group = server.group
    if group.usage_file is None:
        raise LabError("a planted slowdown needs cgroups, and none can be made here", "run it as root", exit_code=3)
    joins = [word for file in group.join for word in ("--join", str(file))]
    argv = [str(engine), "burn", "--share", str(share), "--usage", str(group.usage_file), *joins]
    return keeper.spawn(argv, role="burner", env={}, limits=Limits(cores=cores))
