"""Meters of what the roles and the machine used between two moments."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from fairground.host import cgroup, counters
from fairground.host.child import Child
from fairground.host.listening import ListenDrops
from fairground.host.process import NS_PER_TICK, look, tasks
from fairground.host.resident import Resident
from fairground.host.spent import Ran, Spent, Thread, threads_of
from fairground.host.strangers import Strangers
from fairground.host.surroundings import Surroundings
from fairground.model import HostUse, RoleUse
from fairground.model.work import difference

STOPPED = "Tt"
"""States of a process that a signal, or a tracer, has stopped."""
TCP_COUNTERS = (
    "TcpOutSegs",
    "TcpRetransSegs",
    "TcpExtTCPDSACKRecvSegs",
    "TcpExtDelayedACKs",
    "TcpExtTCPTimeouts",
    "TcpActiveOpens",
    "TcpPassiveOpens",
    "TcpAttemptFails",
    "TcpEstabResets",
    "TcpOutRsts",
)


class Meter(Protocol):
    """A meter of what one role uses, on whichever machine it is. `memory_bytes`: at the last sample."""

    memory_bytes: int | None

    def sample(self) -> None:
        """Take in memory and threads. Call it at 4 Hz or more."""

    def cpu_ns(self) -> int:
        """CPU time so far, in ns. Only differences mean anything."""

    def start(self) -> None:
        """Forget the peaks: the window begins."""

    def clock(self) -> CpuClock:
        """All that is read of the role when a window opens and when it closes."""

    def use(self, before: CpuClock, after: CpuClock) -> RoleUse:
        """Return what the role used between two readings of its clock."""


@dataclass
class RoleMeter:
    """CPU, memory and threads of one role: one process, or a process and all of its descendants.

    With a cgroup CPU is exact. Without one it is that of processes and threads (`Spent`), sampled: a thread that ended unseen is
    known to 10 ms, and the source says so. `closely`: its threads are sampled in any case, so that those which end with the
    window are known, and how often they were taken off their processors is read, too. `threads`: they are told apart, so that the
    busiest is known.
    """

    child: Child | Resident
    closely: bool = False
    threads: bool = True
    memory_peak_bytes: int | None = None
    threads_peak: int | None = None
    threads_now: int | None = None
    """At the last sample."""
    memory_bytes: int | None = None
    """At the last sample."""
    intruders: set[str] = field(default_factory=set)
    """The members of its group, at some sample, that neither the lab nor its processes started there."""
    _looks: list[bool] = field(default_factory=list)
    """At each sample since the window began: whether it was stopped."""
    _spent: Spent = field(default_factory=Spent)
    _seen: dict[Thread, Ran] = field(default_factory=dict)
    _drops: ListenDrops = field(default_factory=ListenDrops)
    _instructions: counters.Instructions | None = None
    """None: they are not counted, or this machine cannot."""
    _earlier_ns: int | None = None
    """The CPU time of the role's earlier processes; None: it has had this one alone."""

    def sample(self) -> None:
        """Take in memory and threads, and CPU where it has to be sampled. Call it at 4 Hz or more.

        A group is read as one. Its processes are looked at one by one only where it cannot tell: a database has hundreds, and
        reading them takes time from what is measured.
        """
        if isinstance(self.child, Resident) and (now := self.child.as_now()) is not self.child:
            self.child, self._earlier_ns = now, self._earlier_ns or 0  # what was read of those before stays in the sum
        group = self.child.group
        if isinstance(self.child, Child):
            self.intruders |= set(self.child.intruders())
            self._look_at(self.child.pid)
        elif isinstance(self.child, Resident):
            self._look_at(*self.child.pids)
        memory, threads, exact = group.memory_bytes(), group.threads(), group.cpu_ns()
        known = memory is not None and threads is not None and exact is not None
        alive = [] if known and not self.closely else self.child.alive()
        if memory is None:
            memory = sum(one.memory_bytes for one in alive) or None
        if threads is None:
            threads = sum(one.threads for one in alive)
        self.memory_bytes, self.memory_peak_bytes = memory, _greater(self.memory_peak_bytes, memory)
        self.threads_now = threads or None
        self.threads_peak = _greater(self.threads_peak, self.threads_now)
        if exact is None:
            self._spent.read(alive, closely=False)
        if self.closely:
            for process in alive:
                self._seen.update(threads_of(process, self.closely))

    def cpu_ns(self) -> int:
        """CPU time so far, in ns. Only differences mean anything."""
        exact = self.child.group.cpu_ns()
        return self._with_earlier(self._spent.read(self.child.alive()) if exact is None else exact)

    def _with_earlier(self, own_ns: int) -> int:
        return own_ns + (self._earlier_ns or 0)

    def count_instructions(self) -> None:
        """Count its instructions from now on, where the machine can. Call it once its processes are up and rest."""
        self._instructions = counters.count(self._threads)

    def stop_counting(self) -> None:
        """Count them no longer."""
        if self._instructions is not None:
            self._instructions.close()

    def _threads(self) -> list[int]:
        return [thread for process in self.child.alive() for thread in tasks(process.pid)]

    def succeed(self, child: Child, spent_ns: int) -> None:
        """Let the role go on in another process; `spent_ns` is what `cpu_ns` said last of the one before."""
        self._spent, self._earlier_ns, self.child = Spent(), spent_ns, child

    def start(self) -> None:
        """Forget the peaks: the window begins."""
        self.memory_peak_bytes = self.threads_peak = None
        self._looks.clear()

    def _look_at(self, *pids: int) -> None:
        """Note whether a signal has stopped a process."""
        self._looks.append(any(one is not None and one.state in STOPPED for one in map(look, pids)))

    def clock(self) -> CpuClock:
        """All that is read of the role when a window opens and when it closes."""
        threads, group = self._seen.copy(), self.child.group
        exact = group.cpu_ns()
        alive = self.child.alive() if self.threads or exact is None else []
        for process in alive if self.threads else ():
            threads |= threads_of(process, self.closely)
        cpu_ns = self._with_earlier(self._spent.read(alive) if exact is None else exact)
        dropped = self._drops.read([one.pid for one in alive]) if self.threads else None
        if self._earlier_ns is not None:  # what its group counts began anew with it
            return CpuClock(cpu_ns, at_ns=time.monotonic_ns(), threads=threads, dropped=dropped)
        instructions = None if self._instructions is None else self._instructions.read()
        told = self.child.quota_periods if isinstance(self.child, Resident) else None
        periods, throttled = told or (group.periods(), group.throttled_periods())
        return CpuClock(
            cpu_ns, periods, throttled, time.monotonic_ns(), threads, group.pressure_cpu_some_us(),
            instructions, dropped,
        )  # fmt: skip

    def use(self, before: CpuClock, after: CpuClock) -> RoleUse:
        """Return what the role used between two readings of its clock."""
        source = {1: "cgroup1", 2: "cgroup2"}.get(self.child.group.version or 0, "schedstat")
        passed_ns, busiest = after.at_ns - before.at_ns, after.busiest_thread(before)
        ran_ns, waited_ns, switches = (busiest.run_ns, busiest.wait_ns, busiest.switches) if busiest else (None, None, None)
        pressed_us = difference(before.pressure_cpu_some_us, after.pressure_cpu_some_us)
        return RoleUse(
            cpu_us=(after.cpu_ns - before.cpu_ns) / 1000,
            memory_peak_bytes=self.memory_peak_bytes,
            threads_peak=self.threads_peak,
            source=source,
            periods=difference(before.periods, after.periods),
            throttled_periods=difference(before.throttled_periods, after.throttled_periods),
            bounds=self.child.bounds,
            busiest_thread_share=_over(ran_ns, passed_ns),
            busiest_thread_waited_share=_over(waited_ns, passed_ns),
            involuntary_switches_per_s=_over(switches, passed_ns / 1e9),
            pressure_cpu_some_share=_over(pressed_us, passed_ns / 1e3),
            instructions=difference(before.instructions, after.instructions),
            dropped_connections=difference(before.dropped, after.dropped),
            stopped_share=sum(self._looks) / len(self._looks) if self._looks else None,
        )


@dataclass(frozen=True)
class CpuClock:
    """Counters of one role at a moment: CPU in ns, scheduler periods, and those out of quota. Only differences mean anything."""

    cpu_ns: int
    periods: int | None = None
    throttled_periods: int | None = None
    at_ns: int = 0
    threads: Mapping[Thread, Ran] = field(default_factory=dict)
    pressure_cpu_some_us: int | None = None
    instructions: int | None = None
    dropped: int | None = None
    """Connections that its listen queues had no room for."""

    def busiest_thread(self, before: CpuClock) -> Ran | None:
        """Return what the busiest of the threads alive at both readings did between them."""
        spent = [ran.since(before.threads[thread]) for thread, ran in self.threads.items() if thread in before.threads]
        return max(spent, key=lambda ran: ran.run_ns, default=None)


@dataclass(frozen=True)
class HostReading:
    """The machine's own counters at one moment."""

    at_s: float
    cpu_ns: Mapping[str, int]
    pressure_some_us: int | None
    tcp: Mapping[str, int]
    around: Surroundings = field(default_factory=Surroundings)
    spun_ns: int = 0
    """CPU time so far of what keeps the processors from idling."""
    strangers: Strangers = field(default_factory=Strangers)

    @classmethod
    def now(cls, spun_ns: int | None = None, also: Iterable[int] = ()) -> HostReading:
        """Read /proc/stat, /proc/pressure, the kernel's TCP counters, and what else surrounds the roles.

        `spun_ns`: CPU time so far of what keeps the processors from idling (`Keeper.spun_ns`); None where nothing does. That it
        waits for a processor is no pressure. `also`: as in `Strangers.now`.
        """
        pressure_us = cgroup.pressure_us(Path("/proc/pressure/cpu"), "some") if spun_ns is None else None
        around, beside = Surroundings.now(), Strangers.now(also=also)
        return cls(time.monotonic(), _cpu_ns(), pressure_us, _tcp(), around, spun_ns or 0, beside)


class Moment:
    """The clocks of this process and of its machine at one moment. `spun_ns`: that of what keeps processors awake, if any.

    `also`: other processes whose descendants are the lab's.
    """

    def __init__(self, spun_ns: int | None, also: Iterable[int] = ()) -> None:
        self.own_ns = time.process_time_ns()
        self.host = HostReading.now(spun_ns, also)


def machine_between(before: Moment, after: Moment, used: Iterable[RoleUse], all_metered: bool) -> tuple[RoleUse, HostUse]:
    """Return what this process used between two moments, and what its machine did.

    `used`: what roles on that machine used meanwhile. `all_metered`: there are no others.
    """
    own = RoleUse((after.own_ns - before.own_ns) / 1000, None, None, "process clock")
    # What a given database used, which nobody meters, cannot be told from what strangers used: unknown, not foreign.
    known = [own.cpu_us, *(use.cpu_us for use in used)] + ([] if all_metered else [None])
    return own, host_use(before.host, after.host, known)


def host_use(before: HostReading, after: HostReading, roles_cpu_us: Sequence[float | None]) -> HostUse:
    """The machine between two readings; `roles_cpu_us` is what our own roles used of it, the lab included."""
    spent = {name: after.cpu_ns[name] - before.cpu_ns[name] for name in after.cpu_ns}
    total = sum(spent.values()) or 1
    # What spins is niced, and is idle in truth. Its own clock may hold stolen time as well, which is in no niced time; others'
    # niced work is not in its clock. So it is the smaller of the two.
    spun = max(0, min(spent["nice"], after.spun_ns - before.spun_ns))
    idle = spent["idle"] + spent["iowait"] + spun
    # Interrupts are left out: what the network does between our own roles is charged to none of them.
    processes_us = (spent["user"] + spent["nice"] - spun + spent["system"]) / 1000
    known = [use for use in roles_cpu_us if use is not None]
    all_known = len(known) == len(roles_cpu_us)
    # What is left of the machine's counters knows of short-lived processes, and each process's own clock is exact.
    beside = after.strangers.since(before.strangers)
    passed_us = max(after.at_s - before.at_s, 1e-9) * 1e6
    waited_us = difference(before.pressure_some_us, after.pressure_some_us)
    return HostUse(
        steal_share=spent["steal"] / total,
        steal_step_share=NS_PER_TICK / total,
        busy_share=(total - idle) / total,
        foreign_cpu_us=max(beside.ns / 1000 if beside else 0.0, processes_us - sum(known)) if all_known else None,
        stranger=beside.busiest if all_known and beside else None,
        stranger_cpu_us=beside.busiest_ns / 1000 if all_known and beside and beside.busiest else None,
        pressure_cpu_some_share=None if waited_us is None else waited_us / passed_us,
        tcp={name: after.tcp[name] - before.tcp.get(name, 0) for name in after.tcp},
        **after.around.since(before.around, passed_us),
    )


def stolen_us() -> float:
    """The time that the hypervisor has taken of all processors so far, in steps of 10 ms as a rule."""
    return _cpu_ns()["steal"] / 1000


def _cpu_ns() -> dict[str, int]:
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    return {name: int(value) * NS_PER_TICK for name, value in zip(names, fields, strict=True)}


def _tcp() -> dict[str, int]:
    """The kernel's counters under the names that `nstat` gives them."""
    found: dict[str, int] = {}
    for file in ("/proc/net/snmp", "/proc/net/netstat"):
        lines = Path(file).read_text().splitlines()
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            prefix = names.partition(":")[0]
            found.update({prefix + name: int(value) for name, value in zip(names.split()[1:], values.split()[1:], strict=True)})
    return {name: found[name] for name in TCP_COUNTERS if name in found}


def _over(amount: int | None, time: float) -> float | None:
    return None if amount is None or time <= 0 else amount / time


def _greater(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else max(one, other)
