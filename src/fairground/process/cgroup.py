"""Control groups, version 1 or 2, where we may make them: exact CPU accounting, and the full list of a role's processes.

CPU is read in nanoseconds from the group, so that processes that came and went inside a window are counted; the 10 ms ticks of
/proc/PID/stat lose a tenth of it. Where no group can be made `join` is empty and every reading is None.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Group:
    """The cgroup of one role. `folders` holds one folder (version 2) or one for each controller (version 1)."""

    version: int | None
    folders: tuple[Path, ...]

    @property
    def join(self) -> tuple[Path, ...]:
        """Files that a process writes `0` to in order to enter the group."""
        return tuple(folder / "cgroup.procs" for folder in self.folders)

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
        for folder in self.folders:
            if (throttled := _fields(folder / "cpu.stat").get("nr_throttled")) is not None:
                return throttled
        return None

    def pids(self) -> list[int] | None:
        """The processes in the group now; None where there are no groups."""
        if not self.folders:
            return None
        try:
            return [int(line) for line in (self.folders[0] / "cgroup.procs").read_text().split()]
        except OSError:
            return []

    def remove(self) -> None:
        """Remove the group; one whose last process is just ending is tried again for half a second."""
        for folder in self.folders:
            _remove(folder)


@dataclass(frozen=True)
class Groups:
    """The groups of one lab: a parent folder under each hierarchy that is used."""

    version: int | None
    folders: tuple[Path, ...]
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
        for version, folders in candidates:
            if _make(folders):
                _enable_memory(folders[0])
                return cls(version, folders)
        return cls(None, ())

    def add(self, role: str) -> Group:
        """A fresh group for one process of `role`."""
        if not self.folders:
            return Group(None, ())
        number = next(self.numbers)
        folders = tuple(folder / f"{role}-{number}" for folder in self.folders)
        return Group(self.version, folders) if _make(folders) else Group(None, ())

    def remove(self) -> None:
        """Remove all of them, when the keeper, whose task it is, was killed."""
        for parent in self.folders:
            for folder in (*(entry for entry in parent.glob("*") if entry.is_dir()), parent):
                _remove(folder)


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


def _enable_memory(folder: Path) -> None:
    """Version 2 gives memory figures to children only when asked; without the right to ask they stay None.

    Only the parent is asked: a version 2 group that hands controllers on may hold no processes itself.
    """
    try:
        (folder / "cgroup.subtree_control").write_text("+memory")
    except OSError:
        pass


def _own_path(file: str) -> str:
    for line in Path(file).read_text().splitlines():
        if line.startswith("0::"):
            return line[3:]
    return "/"


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
