"""A known slowdown for a positive control: a program that uses a fixed share of what a server uses, in the server's own cgroup.

To the lab it looks as if each answer cost that much more, and it takes the processor away from the server as such work would.
Started as `python -m fairground.process.burner VERSION SHARE FOLDER…` (a cgroup's version and folders); it ends when stopped.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from fairground.model import LabError
from fairground.process.cgroup import Group
from fairground.process.child import Child, Keeper

PAUSE_S = 0.004
"""Time between two looks at what the server has used; shorter would cost more than small shares allow."""


def main() -> None:
    """Join the group of the arguments and burn until killed."""
    group = Group(int(sys.argv[1]), tuple(Path(folder) for folder in sys.argv[3:]))
    for procs in group.join:
        procs.write_text(str(os.getpid()))
    burn(lambda: group.cpu_ns() or 0, time.process_time_ns, float(sys.argv[2]), time.sleep)


def plant(keeper: Keeper, server: Child, share: float) -> Child:
    """Start a burner of `share` in a server's group; stop it before the server. LabError where no cgroup can be made."""
    if not server.group.folders:
        raise LabError("a planted slowdown needs cgroups, and none can be made here", "run it as root", exit_code=3)
    folders = [str(folder) for folder in server.group.folders]
    argv = [sys.executable, "-m", "fairground.process.burner", str(server.group.version), str(share), *folders]
    source = str(Path(__file__).parents[2])
    return keeper.spawn(argv, role="burner", env={"PYTHONPATH": source, "PATH": keeper.environ.get("PATH", "")})


def burn(group_ns: Callable[[], int], own_ns: Callable[[], int], share: float, pause: Callable[[float], None]) -> None:
    """Keep our own CPU time at `share` of what the others in the group have used since now; returns only by an exception."""
    group_start, own_start = group_ns(), own_ns()
    while True:
        pause(PAUSE_S)
        others = (group_ns() - group_start) - (own_ns() - own_start)
        while own_ns() - own_start < share * others:
            pass


if __name__ == "__main__":
    main()
