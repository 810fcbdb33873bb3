"""Control groups, version 1 or 2, where we may make them: exact CPU accounting, limits, and all of a role's processes.

CPU is read in nanoseconds from the group, so that processes that came and went inside a window are counted; the 10 ms ticks of
/proc/PID/stat lose a tenth of it. Where no group can be made `join` is empty and every reading is None.

The controller that holds a CPU quota also divides the processors between groups instead of threads, so it is used only for roles
that are limited (version 1) or in labs that limit one (version 2, where it holds for all groups beside it).
"""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
PERIOD_US = 100_000


@dataclass(frozen=True)
class Limits:
    """Limits of a process and of all that descend from it; None: no limit. `cpus` may be a fraction of a core.

    `cores` are the numbers of those that it may run on.
    """

    cpus: float | None = None
    memory_bytes: int | None = None
    cores: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Group:
    """The cgroup of one role. `folders` holds one folder (version 2) or one for each controller (version 1)."""

    version: int | None
    folders: tuple[Path, ...]
    held: frozenset[str] = frozenset()
    """The limits that the group itself holds: `cpus`, `memory_bytes`."""

    @property
    def join(self) -> tuple[Path, ...]:
        """Files that a process writes `0` to in order to enter the group."""
        return tuple(folder / "cgroup.procs" for folder in self.folders)

    @property
    def usage_file(self) -> Path | None:
        """The file that tells the group's CPU time, as `cpu_ns` reads it; None where no group could be made."""
        return self.folders[0] / ("cpuacct.usage" if self.version == 1 else "cpu.stat") if self.folders else None

    def cpu_ns(self) -> int | None:
        """CPU time of all processes that were ever in the group, in ns."""
        if self.version == 1:
            return _number(self.folders[0] / "cpuacct.usage")
        usage_us = _fields(self.folders[0] / "cpu.stat").get("usage_usec") if self.folders else None
        return None if usage_us is None else usage_us * 1000

    def memory_bytes(self) -> int | None:
        """Anonymous and shared memory in use now. Page cache is left out: it is the machine's, not the role's."""
        if not self.folders:
            return None
        fields = _fields(self.folders[-1] / "memory.stat")
        anonymous = fields.get("rss" if self.version == 1 else "anon")
        return None if anonymous is None else anonymous + fields.get("shmem", 0)

    def throttled_periods(self) -> int | None:
        """Scheduler periods in which the group had used up its quota."""
        return self._anywhere("cpu.stat", "nr_throttled")

    def periods(self) -> int | None:
        """Scheduler periods in which the group had something to run, counted where it has a quota."""
        return self._anywhere("cpu.stat", "nr_periods")

    def pressure_cpu_some_us(self) -> int | None:
        """Time that some thread of the group waited for a processor. Version 2 tells it, where the kernel counts it."""
        return pressure_us(self.folders[0] / "cpu.pressure", "some") if self.version == 2 else None

    def memory_kills(self) -> int | None:
        """Processes that the kernel killed because the group was at its memory limit."""
        return self._anywhere("memory.oom_control" if self.version == 1 else "memory.events", "oom_kill")

    def _anywhere(self, file: str, name: str) -> int | None:
        """A field of a file that one of the folders has."""
        found = (_fields(folder / file).get(name) for folder in self.folders)
        return next((value for value in found if value is not None), None)

    def limit(self, limits: Limits) -> frozenset[str]:
        """Set what can be set here, and say which limits the group now holds. Swap is no way round a memory limit."""
        held = set()
        quota_us = None if limits.cpus is None else round(limits.cpus * PERIOD_US)
        for folder in self.folders:
            if quota_us is not None and (
                (_write(folder / "cpu.cfs_period_us", PERIOD_US) and _write(folder / "cpu.cfs_quota_us", quota_us))
                or _write(folder / "cpu.max", f"{quota_us} {PERIOD_US}")
            ):
                held.add("cpus")
            if limits.memory_bytes is not None and (
                _write(folder / "memory.limit_in_bytes", limits.memory_bytes)
                or _write(folder / "memory.max", limits.memory_bytes)
            ):
                held.add("memory_bytes")
                _write(folder / "memory.memsw.limit_in_bytes", limits.memory_bytes)
                _write(folder / "memory.swap.max", 0)
        return frozenset(held)

    def pids(self) -> list[int] | None:
        """The processes in the group now; None where there are no groups."""
        return _pids(self.folders[0]) if self.folders else None

    def threads(self) -> int | None:
        """Count the threads in the group now; None where nobody counts them. One reading, however many processes there are."""
        if not self.folders:
            return None
        try:
            return (self.folders[0] / ("tasks" if self.version == 1 else "cgroup.threads")).read_bytes().count(b"\n")
        except OSError:
            return None

    def remove(self) -> None:
        """Remove the group; one whose last process is just ending is tried again for half a second."""
        for folder in self.folders:
            _remove(folder)


@dataclass(frozen=True)
class Groups:
    """The groups of one lab: a parent folder under each hierarchy that is used."""

    version: int | None
    folders: tuple[Path, ...]
    quotas: Path | None = None
    """Version 1: the parent in the hierarchy that holds quotas, made for the first role that has one."""
    last: Path | None = None
    """Where a group stands whose members run only when nobody else wants to: at the top, beside all others."""
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1), compare=False)
    """No group's name is used twice: one who still holds an ended group never means another by it."""

    @classmethod
    def create(cls, name: str, root: Path = ROOT) -> Groups:
        """Make the parent groups, or none where that is not allowed (`version` is None then)."""
        if (root / "cgroup.controllers").exists():
            own = _own_path("/proc/self/cgroup")
            candidates: list[tuple[int, tuple[Path, ...]]] = [(2, (root / name,)), (2, (root / own.lstrip("/") / name,))]
        else:
            candidates = [(1, (root / "cpuacct" / name, root / "memory" / name)), (1, (root / "cpuacct" / name,))]
        for parent in {root, (root / "cpu").resolve(), *(folder.parent for _, folders in candidates for folder in folders)}:
            _remove_stale(parent)
        for version, folders in candidates:
            if _make(folders):
                _enable(folders[0], "memory")
                quotas = (root / "cpu").resolve() / name if version == 1 else None
                return cls(version, folders, quotas, (quotas or root / name).with_name(f"{name}-last"))
        return cls(None, ())

    @property
    def parents(self) -> tuple[Path, ...]:
        """All folders that are to be removed at the end, with those in them; some may not exist."""
        return (*self.folders, *(folder for folder in (self.quotas, self.last) if folder is not None))

    def pids(self) -> list[int]:
        """The processes in all of its groups now: one reading for each group."""
        found = [_pids(folder) for parent in self.folders[:1] for folder in parent.glob("*/")]
        return [pid for some in found for pid in some]

    def add(self, role: str, limits: Limits | None = None) -> Group:
        """A fresh group for one process of `role`. Its `held` says which of `limits` it could be given."""
        if not self.folders:
            return Group(None, ())
        number = next(self.numbers)
        parents = self.folders
        if limits is not None and limits.cpus is not None:
            parents = self._with_quota()
        folders = tuple(folder / f"{role}-{number}" for folder in parents)
        if not _make(folders):
            return Group(None, ())
        group = Group(self.version, folders)
        return group if limits is None else replace(group, held=group.limit(limits))

    def yielding(self) -> Group | None:
        """A group whose members run only when nobody else wants to; None where the kernel or our rights know none.

        A thread's own SCHED_IDLE counts only among the threads of its group: between groups, and between the sessions that the
        kernel groups by itself, it is the group that has to stand back.
        """
        if self.last is None or not _make((self.last,)):
            return None
        if not _write(self.last / "cpu.idle", 1):
            _remove(self.last)
            return None
        return Group(self.version, (self.last,))

    def _with_quota(self) -> tuple[Path, ...]:
        """The parents of a group that has a CPU quota; those of any group where no quota can be had."""
        if self.version == 2:
            _enable(self.folders[0], "cpu")
        elif self.quotas is not None and self.quotas != self.folders[0].resolve():
            try:
                self.quotas.mkdir(exist_ok=True)
            except OSError:
                return self.folders
            return (self.folders[0], self.quotas, *self.folders[1:])
        return self.folders

    def remove(self) -> None:
        """Remove all of them, when the keeper, whose task it is, was killed."""
        for parent in self.parents:
            for folder in (*(entry for entry in parent.glob("*") if entry.is_dir()), parent):
                _remove(folder)


def periods_of(pid: int, root: Path = ROOT) -> tuple[int, int] | None:
    """Scheduler periods and those out of quota, of the group around a process that was out of it most.

    0 and 0 without a quota; None where none is told.
    """
    folders = list[Path]()
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if number == "0" or "cpu" in controllers.split(","):
            top = root if number == "0" else root / "cpu"
            own = top / path.lstrip("/")
            folders += [folder for folder in (own, *own.parents) if folder.is_relative_to(top)]
    shown = [_fields(folder / "cpu.stat") for folder in folders]
    counts = [(fields["nr_throttled"], fields["nr_periods"]) for fields in shown if "nr_periods" in fields]
    return max(counts)[::-1] if counts else None


def pressure_us(path: Path, kind: str) -> int | None:
    """Time that `some`, or all that had work (`full`), waited, from a file of /proc/pressure or of a cgroup."""
    try:
        line = next(line for line in path.read_text().splitlines() if line.startswith(kind))
        return int(line.rpartition("total=")[2])
    except (OSError, ValueError, StopIteration):
        return None


STALE = re.compile(r"fairground-(?:doctor-)?(\d+)(?:-last)?")


def _remove_stale(parent: Path) -> None:
    """Remove the groups of labs that have ended: a kernel that was busy kept them then. One that has processes stays."""
    for folder in parent.glob("fairground-*"):
        named = STALE.fullmatch(folder.name)
        if named is None or folder.is_symlink() or Path("/proc", named[1]).exists():
            continue
        for one in (*folder.glob("*/"), folder):
            try:
                one.rmdir()
            except OSError:
                break


def _make(folders: tuple[Path, ...]) -> bool:
    made: list[Path] = []
    try:
        for folder in folders:
            folder.mkdir()
            made.append(folder)
            if not os.access(folder / "cgroup.procs", os.W_OK):
                raise PermissionError(folder)
    except OSError:
        for folder in made:
            folder.rmdir()
        return False
    return True


def _remove(folder: Path) -> None:
    for _ in range(25):
        try:
            return folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.02)


def _enable(folder: Path, controller: str) -> None:
    """Ask for a controller, which version 2 gives to children only when asked. Without the right to ask its figures stay None.

    Only the parent is asked: a version 2 group that hands controllers on may hold no processes itself.
    """
    _write(folder / "cgroup.subtree_control", f"+{controller}")


def _write(path: Path, value: int | str) -> bool:
    """Write one of the kernel's files; False where it is not there or we may not."""
    try:
        with open(path, "r+") as file:
            file.write(str(value))
        return True
    except OSError:
        return False


def _own_path(file: str) -> str:
    for line in Path(file).read_text().splitlines():
        if line.startswith("0::"):
            return line[3:]
    return "/"


def _pids(folder: Path) -> list[int]:
    """The processes of one group; none of one that has gone."""
    try:
        return [int(line) for line in (folder / "cgroup.procs").read_text().split()]
    except OSError:
        return []


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _fields(path: Path) -> dict[str, int]:
    try:
        return {name: int(value) for name, value in (line.split() for line in path.read_text().splitlines())}
    except (OSError, ValueError):
        return {}
