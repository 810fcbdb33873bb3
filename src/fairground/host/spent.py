"""CPU time of processes that no cgroup counts, with that of their threads and children which came and went."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from fairground.host.process import Process, look, read
from fairground.model.work import difference

Thread = tuple[int, str]
"""Process and thread number."""


@dataclass(frozen=True)
class Ran:
    """One thread so far: how long it ran, how long it was ready and waited, how often it was taken off (None: not read)."""

    run_ns: int
    wait_ns: int
    switches: int | None = None

    def since(self, before: Ran) -> Ran:
        """Return what came after `before`."""
        return Ran(self.run_ns - before.run_ns, self.wait_ns - before.wait_ns, difference(before.switches, self.switches))


@dataclass
class _Known:
    """One process as it was last read. `reaped_before_ns`: what its ended children had used when it was first seen."""

    started: int
    reaped_before_ns: int
    own_ns: int = 0
    reaped_ns: int = 0
    threads: dict[Thread, int] = field(default_factory=dict)


@dataclass
class Spent:
    """CPU time of some processes, summed at each reading.

    A process has two clocks, and neither is ever ahead of the truth: its threads, exact to the ns but without those that ended
    unseen, and its own total in /proc/PID/stat, whole but in steps of 10 ms. So the greater is taken. In the same way children
    that ended are what was last read of them, or what their parents have collected of them.
    """

    _known: dict[int, _Known] = field(default_factory=dict)
    _ended: list[_Known] = field(default_factory=list)
    _began: bool = False
    _total_ns: int = 0

    def read(self, processes: Iterable[Process], closely: bool = True) -> int:
        """Take in these processes and all that were seen before; the CPU time so far, in ns. Only differences mean anything.

        `closely`: their threads are read, too. Else the time is known to 10 ms for each process, which is much cheaper to read.
        """
        listed = {one.pid: one for one in processes}
        # Parents come first: a child that ends meanwhile is then counted too low for once, and never twice.
        for pid in sorted({*listed, *self._known}):
            self._take(pid, listed.get(pid), closely)
        self._began = True
        alive = self._known.values()
        reaped_ns = sum(one.reaped_ns - one.reaped_before_ns for one in alive)
        total_ns = sum(one.own_ns for one in alive) + max(sum(one.own_ns for one in self._ended), reaped_ns)
        self._total_ns = max(self._total_ns, total_ns)
        return self._total_ns

    def _take(self, pid: int, listed: Process | None, closely: bool) -> None:
        """Take in one process; what has its number now, and is not among those that are listed, is a stranger."""
        now, known = listed or look(pid), self._known.get(pid)
        if known is not None and (now is None or now.began_ticks != known.started):
            self._ended.append(self._known.pop(pid))
            known = None
        if now is None or (known is None and listed is None):
            return
        if known is None:
            known = self._known[pid] = _Known(now.began_ticks, 0 if self._began else now.reaped_ns)
        if closely:
            known.threads |= {thread: ran.run_ns for thread, ran in threads_of(now).items()}
        known.own_ns = max(known.own_ns, now.cpu_ns, sum(known.threads.values()))
        known.reaped_ns = now.reaped_ns


def threads_of(of: Process, closely: bool = False) -> dict[Thread, Ran]:
    """Each thread of a process; nothing of one that ended while we read. `closely`: how often they were taken off, too."""
    found: dict[Thread, Ran] = {}
    # One that has a single thread is not asked for it: a database has hundreds of such processes.
    for name in [str(of.pid)] if of.threads == 1 else _threads(of.pid):
        try:
            run_ns, wait_ns = map(int, read(f"/proc/{of.pid}/task/{name}/schedstat").split()[:2])
            found[(of.pid, name)] = Ran(run_ns, wait_ns, _switches(of.pid, name) if closely else None)
        except (OSError, ValueError):
            continue  # this one ended; the others have not
    return found


def _threads(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def _switches(pid: int, thread: str) -> int | None:
    with open(f"/proc/{pid}/task/{thread}/status") as file:
        return next((int(line.split()[1]) for line in file if line.startswith("nonvoluntary_ctxt_switches:")), None)
