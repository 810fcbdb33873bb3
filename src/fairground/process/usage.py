"""What the roles and the machine used between two moments."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from fairground.model import HostUse, RoleUse
from fairground.process.child import Child
from fairground.process.resident import Resident

NS_PER_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
TCP_COUNTERS = (
    "TcpRetransSegs",
    "TcpExtListenOverflows",
    "TcpExtListenDrops",
    "TcpExtDelayedACKs",
    "TcpExtTCPTimeouts",
    "TcpActiveOpens",
    "TcpPassiveOpens",
    "TcpAttemptFails",
    "TcpEstabResets",
    "TcpOutRsts",
)


@dataclass
class RoleMeter:
    """CPU, memory and threads of one role: one process, or a process and all of its descendants.

    With a cgroup CPU is exact. Without one it is summed from /proc/PID/task/TID/schedstat, sampled: the last moments of a
    thread that ended between two samples are lost, and the source says so.
    """

    child: Child | Resident
    memory_peak_bytes: int | None = None
    threads_peak: int | None = None
    _thread_ns: dict[tuple[int, str], int] = field(default_factory=dict)

    def sample(self) -> None:
        """Take in memory and threads, and CPU where it has to be sampled. Call it at 4 Hz or more."""
        processes = self.child.processes()
        memory = self.child.group.memory_bytes()
        if memory is None:
            memory = sum(_of(process, lambda p: p.memory_info().rss) for process in processes) or None
        threads = sum(_of(process, lambda p: p.num_threads()) for process in processes) or None
        self.memory_peak_bytes = _greater(self.memory_peak_bytes, memory)
        self.threads_peak = _greater(self.threads_peak, threads)
        if self.child.group.cpu_ns() is None:
            for process in processes:
                self._thread_ns.update(_thread_run_ns(process.pid))

    def cpu_ns(self) -> int:
        """CPU time so far, in ns. Only differences mean anything."""
        exact = self.child.group.cpu_ns()
        if exact is not None:
            return exact
        for process in self.child.processes():
            self._thread_ns.update(_thread_run_ns(process.pid))
        return sum(self._thread_ns.values())

    def start(self) -> None:
        """Forget the peaks: the window begins."""
        self.memory_peak_bytes = self.threads_peak = None

    def clock(self) -> Clock:
        """All that is read of the role when a window opens and when it closes."""
        threads: dict[tuple[int, str], int] = {}
        for process in self.child.processes():
            threads |= _thread_run_ns(process.pid)
        group = self.child.group
        return Clock(self.cpu_ns(), group.periods(), group.throttled_periods(), time.monotonic_ns(), threads)

    def use(self, before: Clock, after: Clock) -> RoleUse:
        """What the role used between two readings of its clock."""
        source = {1: "cgroup1", 2: "cgroup2"}.get(self.child.group.version or 0, "schedstat")
        return RoleUse(
            cpu_us=(after.cpu_ns - before.cpu_ns) / 1000,
            memory_peak_bytes=self.memory_peak_bytes,
            threads_peak=self.threads_peak,
            source=source,
            periods=_difference(before.periods, after.periods),
            throttled_periods=_difference(before.throttled_periods, after.throttled_periods),
            bounds=self.child.bounds,
            busiest_thread_share=after.busiest_thread_share(before),
        )


@dataclass(frozen=True)
class Clock:
    """Counters of one role at a moment: CPU in ns, scheduler periods, and those out of quota. Only differences mean anything."""

    cpu_ns: int
    periods: int | None = None
    throttled_periods: int | None = None
    at_ns: int = 0
    threads_ns: Mapping[tuple[int, str], int] = field(default_factory=dict)
    """CPU time of each thread, by process and thread number."""

    def busiest_thread_share(self, before: Clock) -> float | None:
        """Share of the time between two readings that the busiest of the threads alive at both was running."""
        spent = [used - before.threads_ns[thread] for thread, used in self.threads_ns.items() if thread in before.threads_ns]
        passed_ns = self.at_ns - before.at_ns
        return max(spent) / passed_ns if spent and passed_ns > 0 else None


@dataclass(frozen=True)
class HostReading:
    """The machine's own counters at one moment."""

    at_s: float
    cpu_ns: Mapping[str, int]
    pressure_some_us: int | None
    tcp: Mapping[str, int]

    @classmethod
    def now(cls) -> HostReading:
        """Read /proc/stat, /proc/pressure/cpu and the kernel's TCP counters."""
        return cls(time.monotonic(), _cpu_ns(), _pressure_us(Path("/proc/pressure/cpu")), _tcp())


def host_use(before: HostReading, after: HostReading, roles_cpu_us: Sequence[float | None]) -> HostUse:
    """The machine between two readings; `roles_cpu_us` is what our own roles used of it, the lab included."""
    spent = {name: after.cpu_ns[name] - before.cpu_ns[name] for name in after.cpu_ns}
    total = sum(spent.values()) or 1
    idle = spent["idle"] + spent["iowait"]
    # Interrupts are left out: what the network does between our own roles is charged to none of them.
    processes_us = (spent["user"] + spent["nice"] + spent["system"]) / 1000
    known = [use for use in roles_cpu_us if use is not None]
    pressure = None
    if before.pressure_some_us is not None and after.pressure_some_us is not None:
        pressure = (after.pressure_some_us - before.pressure_some_us) / 1e6 / max(after.at_s - before.at_s, 1e-9)
    return HostUse(
        steal_share=spent["steal"] / total,
        busy_share=(total - idle) / total,
        foreign_cpu_us=max(0.0, processes_us - sum(known)) if len(known) == len(roles_cpu_us) else None,
        pressure_cpu_some_share=pressure,
        tcp={name: after.tcp[name] - before.tcp.get(name, 0) for name in after.tcp},
    )


def _cpu_ns() -> dict[str, int]:
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    return {name: int(value) * NS_PER_TICK for name, value in zip(names, fields, strict=True)}


def _pressure_us(path: Path) -> int | None:
    try:
        some = path.read_text().split("\n", 1)[0]
        return int(some.rpartition("total=")[2])
    except (OSError, ValueError):
        return None


def _tcp() -> dict[str, int]:
    """The kernel's counters under the names that `nstat` gives them."""
    found: dict[str, int] = {}
    for file in ("/proc/net/snmp", "/proc/net/netstat"):
        lines = Path(file).read_text().splitlines()
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            prefix = names.partition(":")[0]
            found.update({prefix + name: int(value) for name, value in zip(names.split()[1:], values.split()[1:], strict=True)})
    return {name: found[name] for name in TCP_COUNTERS if name in found}


def _thread_run_ns(pid: int) -> dict[tuple[int, str], int]:
    found = {}
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/schedstat") as file:
                found[(pid, thread)] = int(file.read().split()[0])
    except (OSError, IndexError):
        pass  # it ended while we read
    return found


def _of(process: psutil.Process, read: object) -> int:
    try:
        return int(read(process))  # type: ignore[operator]
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0


def _difference(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def _greater(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else max(one, other)
