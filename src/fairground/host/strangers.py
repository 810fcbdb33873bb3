"""CPU of the machine's other processes, each by itself: what disturbs a measurement has a name.

The machine's own counters are sampled at each tick of its clock, and charge interrupts to nobody. What is left of them without
our roles can be below zero, and hides a process that uses a few percent of a core. The clock of each process is exact.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fairground.host.spent import NS_PER_TICK
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
    """What strangers used between two moments, in ns: all of them, and the one that used most (None: none used any)."""

    ns: int
    busiest: str | None
    busiest_ns: int


@dataclass(frozen=True)
class Strangers:
    """CPU so far of each process that is neither the lab, nor started by it, nor the kernel's: its name, and ns."""

    cpu_ns: Mapping[Key, tuple[str, int]] = field(default_factory=dict)
    seen: bool = True
    """Whether other users' processes are shown: some systems hide them (`hidepid`), and then nothing is known of strangers."""

    @classmethod
    def now(cls, lab: int | None = None, proc: Path = Path("/proc"), also: Iterable[int] = ()) -> Strangers:
        """Read /proc; `lab` is a process of the lab's, by default this one. What descends from it or `also` is the lab's.

        Those in `also` are not even read: hundreds of backends would take longer than all strangers.
        """
        known = {os.getpid() if lab is None else lab, *also}
        found: dict[int, tuple[int, int, str, int]] = {}
        for pid in (int(name) for name in os.listdir(proc) if name.isdigit()):
            try:
                if pid not in known:
                    found[pid] = _parsed((proc / str(pid) / "stat").read_text(errors="replace"))[:4]
            except OSError:  # it has just ended
                continue
        ours = {*known, KERNEL}
        ours |= {pid for pid in found if _descends(pid, found, ours)}
        cpu_ns = {
            (pid, began): (name, ns - (_idle_ns(proc / str(pid)) if ns > LITTLE_NS else 0))
            for pid, (_, began, name, ns) in found.items()
            if pid not in ours
        }
        return cls(cpu_ns, FIRST in found)

    def since(self, before: Strangers) -> Used | None:
        """What they used since `before`; None where they are hidden. Who began meanwhile counts, who ended is not seen."""
        if not (self.seen and before.seen):
            return None
        used = [(max(0, ns - before.cpu_ns.get(key, ("", 0))[1]), name) for key, (name, ns) in self.cpu_ns.items()]
        most, name = max(used, default=(0, ""), key=lambda one: one[0])
        return Used(sum(ns for ns, _ in used), foreign.line(name) if most else None, most)


def _descends(pid: int, found: Mapping[int, tuple[int, int, str, int]], ours: set[int]) -> bool:
    """Whether one of its parents is ours. A number that was used again meanwhile could close a circle: it is left at once."""
    seen = set[int]()
    while pid in found and pid not in seen:
        if pid in ours:
            return True
        seen.add(pid)
        pid = found[pid][0]
    return pid in ours


def _idle_ns(process: Path) -> int:
    """CPU of a process's threads that run only where nobody else would: they take nothing from anybody."""
    threads = [_parsed(file.read_text(errors="replace")) for file in process.glob("task/*/stat")]
    return sum(ns for *_, ns, policy in threads if policy == IDLE)


def _parsed(stat: str) -> tuple[int, int, str, int, int]:
    """Parent, start, name, CPU in ns and policy of a line of /proc/PID/stat. The name may hold blanks and parentheses."""
    head, _, rest = stat.rpartition(")")
    fields = rest.split()
    ns = (int(fields[11]) + int(fields[12])) * NS_PER_TICK
    return int(fields[1]), int(fields[19]), head.partition("(")[2], ns, int(fields[38])
