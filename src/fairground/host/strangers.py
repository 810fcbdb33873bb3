"""CPU of the machine's other processes, each by itself: what disturbs a measurement has a name.

The machine's own counters are sampled at each tick of its clock, and charge interrupts to nobody. What is left of them without
our roles can be below zero, and hides a process that uses a few percent of a core. The clock of each process is exact.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fairground.host.process import Process, look_all, read
from fairground.model import foreign

IDLE = 5
"""The scheduler's policy SCHED_IDLE: such a thread runs where nobody else would, as that does which keeps processors awake."""
LITTLE_NS = 10**8
"""The threads of a process that has used less in all its life are not looked at one by one."""
FIRST = 1
"""The process that is there in any case."""
KERNEL = 2
"""The parent of all threads of the kernel: what they do is done for whoever asked, our roles among them."""
Key = tuple[int, int]
"""A process: its number, which is used again, and when it started."""


@dataclass(frozen=True)
class Used:
    """CPU that strangers used between two moments, in ns: all of them, and the one that used most (None: none used any)."""

    ns: int
    busiest: str | None
    busiest_ns: int


@dataclass(frozen=True)
class Strangers:
    """CPU so far of each process that is neither the lab, nor started by it, nor the kernel's: its name, and ns."""

    cpu_ns: Mapping[Key, tuple[str, int]] = field(default_factory=dict)
    seen: bool = True
    """True if other users' processes are shown: some systems hide them (`hidepid`), and then nothing is known of strangers."""

    @classmethod
    def now(cls, lab: int | None = None, proc: Path = Path("/proc"), also: Iterable[int] = ()) -> Strangers:
        """Read /proc; `lab` is a process of the lab's, by default this one. What descends from it or `also` is the lab's.

        Those in `also` are not even read: hundreds of backends would take longer than all strangers.
        """
        known = frozenset([os.getpid() if lab is None else lab, *also])
        found = {one.pid: one for one in look_all(proc, without=known)}
        ours = {*known, KERNEL}
        ours |= {pid for pid in found if _descends(pid, found, ours)}
        cpu_ns = {
            (pid, one.began_ticks): (one.name, one.cpu_ns - (_idle_ns(proc, pid) if one.cpu_ns > LITTLE_NS else 0))
            for pid, one in found.items()
            if pid not in ours
        }
        return cls(cpu_ns, FIRST in found)

    def since(self, before: Strangers) -> Used | None:
        """Return what they used since `before`; None where they are hidden. Who began meanwhile counts, who ended is not seen."""
        if not (self.seen and before.seen):
            return None
        used = [(max(0, ns - before.cpu_ns.get(key, ("", 0))[1]), name) for key, (name, ns) in self.cpu_ns.items()]
        most, name = max(used, default=(0, ""), key=lambda one: one[0])
        return Used(sum(ns for ns, _ in used), foreign.line(name) if most else None, most)


def _descends(pid: int, found: Mapping[int, Process], ours: set[int]) -> bool:
    """True if one of its parents is ours. A number that was used again meanwhile could close a circle: it is left at once."""
    seen = set[int]()
    while pid in found and pid not in seen:
        if pid in ours:
            return True
        seen.add(pid)
        pid = found[pid].parent
    return pid in ours


def _idle_ns(proc: Path, pid: int) -> int:
    """CPU of a process's threads that run only where nobody else would: they take nothing from anybody."""
    lines = [read(str(file)) for file in (proc / str(pid)).glob("task/*/stat")]
    threads = [Process.parse(line) for line in lines if line]  # without those that have just ended
    return sum(one.cpu_ns for one in threads if one.policy == IDLE)
