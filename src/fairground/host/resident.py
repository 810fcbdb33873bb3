"""A process that somebody else started, as far as it can be metered: found by the port that it listens on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import psutil

from fairground.host import cgroup
from fairground.host.cgroup import Group
from fairground.host.network import ip_of
from fairground.host.process import Process, below, look


@dataclass(frozen=True)
class Resident:
    """Processes that listen on a port, with all that descend from them. No group of ours: CPU is summed over threads.

    `address`: the one at which they are reached; None: any.
    """

    port: int
    pids: tuple[int, ...]
    group: Group = Group(None, ())
    bounds: Mapping[str, str] = field(default_factory=dict)
    address: str | None = None

    @property
    def quota_periods(self) -> tuple[int, int] | None:
        """Scheduler periods of its groups, and those in which they were out of a quota; None where that is not told."""
        return cgroup.periods_of(self.pids[0]) if self.pids else None

    def alive(self) -> list[Process]:
        """Those that still run, as the kernel shows them now."""
        return below(self.pids)

    def as_now(self) -> Resident:
        """Itself while all of its processes run; else those that listen on its port now, if any do."""
        is_whole = all((found := look(pid)) is not None and found.runs for pid in self.pids)
        return self if is_whole else listener(self.port, self.address) or self


FORWARDERS = ("docker-proxy", "rootlessport", "systemd-socket-proxyd", "kubectl", "ssh", "socat")
"""Programs that listen for a service which runs elsewhere: their CPU is not the service's."""


def listener(port: int, address: str | None = None) -> Resident | None:
    """The processes that listen on a port of this machine; None when none is seen there (it may be another user's).

    `address`: where they are reached. Who listens there answers; who listens on all addresses does so where nobody else does.

    What only passes connections on is left out. So is what this process descends from, such as the init process, which holds
    sockets for others: all that runs here descends from it, too.
    """
    try:
        sockets = psutil.net_connections(kind="tcp")
        above = {one.pid for one in psutil.Process().parents()}
    except psutil.Error:
        return None
    listening = [(ip_of(one.laddr.ip), one.pid) for one in sockets if one.status == psutil.CONN_LISTEN and one.laddr.port == port]
    if address is not None:
        there = [one for one in listening if one[0] == ip_of(address)]
        listening = there or [one for one in listening if one[0].is_unspecified]
    pids = {pid for _, pid in listening if pid}
    metered = [pid for pid in pids - above if _name_of(pid) not in FORWARDERS]
    return Resident(port, tuple(sorted(metered)), address=address) if metered else None


def _name_of(pid: int) -> str | None:
    """The name of a process; None once it has ended."""
    try:
        return str(psutil.Process(pid).name())
    except psutil.Error:
        return None
