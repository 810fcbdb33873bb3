"""The facts that the kernel tells of a process in the one line of /proc/PID/stat.

Hundreds of processes are looked at five times a second where no cgroup tells of them all. psutil reads that line anew for each
question, which took up to a fifth of a core.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

NS_PER_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
ENDED = frozenset("ZXx")
"""States of a process of which nothing is left but an exit code that nobody has asked for."""
LINE_BYTES = 4096
"""More than such a line can have."""


@dataclass(frozen=True, slots=True)
class Process:
    """One process at one moment. `cpu_ns`: its threads', ended ones too, in steps of 10 ms.

    `reaped_ns`: its collected children's. `began_ticks` tells it from another that has its number later.
    `memory_bytes`: what of it is resident.
    """

    pid: int
    name: str
    state: str
    parent: int
    session: int
    cpu_ns: int
    reaped_ns: int
    threads: int
    began_ticks: int
    memory_bytes: int
    policy: int

    @property
    def runs(self) -> bool:
        """True if it is more than an exit code."""
        return self.state not in ENDED

    @classmethod
    def parse(cls, line: bytes) -> Process:
        """Parse a line by proc_pid_stat(5). The name stands in parentheses, and may hold blanks and parentheses itself."""
        head, _, rest = line.rpartition(b")")
        number, _, name = head.partition(b"(")
        of = rest.split()
        return cls(
            pid=int(number),
            name=name.decode(errors="replace"),
            state=of[0].decode(),
            parent=int(of[1]),
            session=int(of[3]),
            cpu_ns=(int(of[11]) + int(of[12])) * NS_PER_TICK,
            reaped_ns=(int(of[13]) + int(of[14])) * NS_PER_TICK,
            threads=int(of[17]),
            began_ticks=int(of[19]),
            memory_bytes=int(of[21]) * PAGE_BYTES,
            policy=int(of[38]),
        )


def look(pid: int, proc: Path | str = "/proc") -> Process | None:
    """A process as it is now; None when it has ended, or is another user's where /proc hides those."""
    line = read(f"{proc}/{pid}/stat")
    return Process.parse(line) if line else None


def look_all(proc: Path | str = "/proc", without: frozenset[int] = frozenset()) -> list[Process]:
    """All processes that can be seen, those `without` apart, in the order of their numbers: mostly parents before children."""
    pids = sorted(int(name) for name in os.listdir(proc) if name.isdigit())
    return [one for one in (look(pid, proc) for pid in pids if pid not in without) if one]


def below(roots: Iterable[int], session: int | None = None) -> list[Process]:
    """These processes, those of a session, and all that descend from either; what has ended is left out.

    While a session has members its number is not used again. So nobody is left of one whose leader is no root, where another
    process has that number.
    """
    everything = {one.pid: one for one in look_all()}
    children = dict[int, list[int]]()
    for one in everything.values():
        children.setdefault(one.parent, []).append(one.pid)
    rest = list(roots)
    if session in rest or session not in everything:
        rest += [one.pid for one in everything.values() if one.session == session]
    found = set[int]()
    while rest:
        if (pid := rest.pop()) not in found:
            found.add(pid)
            rest += children.get(pid, ())
    return [one for pid, one in everything.items() if pid in found and one.runs]


def read(path: str) -> bytes:
    """A short file of /proc; empty when the process, or the thread, has ended meanwhile."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(file, LINE_BYTES)
    except OSError:
        return b""
    finally:
        os.close(file)


def open_descriptors(processes: Iterable[Process]) -> int | None:
    """The number of open descriptors of some processes; None where one of them does not show its own."""
    try:
        return sum(len(os.listdir(f"/proc/{one.pid}/fd")) for one in processes)
    except OSError:
        return None


def tasks(pid: int) -> list[int]:
    """The threads of a process, by their numbers; none when it has ended."""
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except (FileNotFoundError, ProcessLookupError):  # the second when it ends while we read
        return []


def is_running(process: psutil.Process) -> bool:
    """True if it is there, and more than an exit code that nobody has asked for."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE  # type: ignore[no-any-return]
    except psutil.NoSuchProcess:
        return False


def descendants_of(process: psutil.Process) -> list[psutil.Process]:
    """All descendants of a process; none of one that has ended."""
    try:
        return process.children(recursive=True)  # type: ignore[no-any-return]
    except psutil.NoSuchProcess:
        return []


def name_of(process: psutil.Process) -> str:
    """The number of a process and, while it is there, its name."""
    try:
        return f"{process.pid} {process.name()}"
    except psutil.NoSuchProcess:
        return f"{process.pid}"


def cpu_ns_of(process: psutil.Process) -> int:
    """CPU time of a process so far; 0 for one that is gone."""
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0
    return int((times.user + times.system) * 1e9)
