"""CPU time of processes that no cgroup counts, with that of their threads and children which came and went."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

NS_PER_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
Thread = tuple[int, str]
"""Process and thread number."""


@dataclass(frozen=True)
class Ran:
    """One thread so far: how long it ran, how long it was ready and waited, how often it was taken off (None: not read)."""

    run_ns: int
    wait_ns: int
    switches: int | None = None

    def since(self, before: Ran) -> Ran:
        """What came after `before`."""
        switches = None if self.switches is None or before.switches is None else self.switches - before.switches
        return Ran(self.run_ns - before.run_ns, self.wait_ns - before.wait_ns, switches)


@dataclass
class _Process:
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

    _known: dict[int, _Process] = field(default_factory=dict)
    _ended: list[_Process] = field(default_factory=list)
    _began: bool = False
    _total_ns: int = 0

    def read(self, pids: Iterable[int]) -> int:
        """Take in these processes and all that were seen before; the CPU time so far. Only differences mean anything."""
        # Parents come first: a child that ends meanwhile is then counted too low for once, and never twice.
        listed = set(pids)
        for pid in sorted({*listed, *self._known}):
            self._take(pid, listed)
        self._began = True
        alive = self._known.values()
        reaped_ns = sum(one.reaped_ns - one.reaped_before_ns for one in alive)
        total_ns = sum(one.own_ns for one in alive) + max(sum(one.own_ns for one in self._ended), reaped_ns)
        self._total_ns = max(self._total_ns, total_ns)
        return self._total_ns

    def _take(self, pid: int, listed: set[int]) -> None:
        """Read one process; what has its number now, and is not among those that are listed, is a stranger."""
        stat, known = _stat(pid), self._known.get(pid)
        if known is not None and (stat is None or stat[0] != known.started):
            self._ended.append(self._known.pop(pid))
            known = None
        if stat is None or (known is None and pid not in listed):
            return
        started, own_ns, reaped_ns = stat
        if known is None:
            known = self._known[pid] = _Process(started, 0 if self._began else reaped_ns)
        known.threads |= {thread: ran.run_ns for thread, ran in threads(pid).items()}
        known.own_ns = max(known.own_ns, own_ns, sum(known.threads.values()))
        known.reaped_ns = reaped_ns


def threads(pid: int, closely: bool = False) -> dict[Thread, Ran]:
    """Each thread of a process; nothing of one that ended while we read."""
    found: dict[Thread, Ran] = {}
    try:
        names = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for name in names:
        try:
            run_ns, wait_ns = map(int, Path(f"/proc/{pid}/task/{name}/schedstat").read_text().split()[:2])
            found[(pid, name)] = Ran(run_ns, wait_ns, _switches(pid, name) if closely else None)
        except (OSError, ValueError):
            continue  # this one ended; the others have not
    return found


def _switches(pid: int, thread: str) -> int | None:
    with open(f"/proc/{pid}/task/{thread}/status") as file:
        return next((int(line.split()[1]) for line in file if line.startswith("nonvoluntary_ctxt_switches:")), None)


def _stat(pid: int) -> tuple[int, int, int] | None:
    """When a process started (in ticks), its CPU time with all of its threads, and that of its collected children, in ns."""
    try:
        # The name stands in parentheses, and may hold any.
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    own, reaped = (sum(map(int, fields[at : at + 2])) * NS_PER_TICK for at in (11, 13))
    return int(fields[19]), own, reaped
