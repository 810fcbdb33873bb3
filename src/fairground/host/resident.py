"""A process that somebody else started, as far as it can be metered: found by the port that it listens on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import psutil

from fairground.host import cgroup
from fairground.host.cgroup import Group
from fairground.host.process import Process, below


@dataclass(frozen=True)
class Resident:
    """Processes that listen on a port, with all that descend from them. No group of ours: CPU is summed over threads."""

    pids: tuple[int, ...]
    group: Group = Group(None, ())
    bounds: Mapping[str, str] = field(default_factory=dict)

    @property
    def quota_periods(self) -> tuple[int, int] | None:
        """Scheduler periods of its groups, and those in which they were out of a quota; None where no group has one."""
        return cgroup.periods_of(self.pids[0]) if self.pids else None

    def alive(self) -> list[Process]:
        """Those that still run, as the kernel shows them now."""
        return below(self.pids)


def listener(port: int) -> Resident | None:
    """The processes that listen on a port of this machine; None when none is seen there (it may be another user's)."""
    try:
        sockets = psutil.net_connections(kind="tcp")
    except psutil.AccessDenied:
        return None
    pids = {one.pid for one in sockets if one.status == psutil.CONN_LISTEN and one.laddr.port == port and one.pid}
    return Resident(tuple(sorted(pids))) if pids else None
