"""Hold a process to its cores, processors and memory."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass

from fairground.host.cgroup import Group, Limits


@dataclass(frozen=True)
class ResourceBounds:
    """The means that hold a process to its cores and limits: what its cgroup does not hold falls to affinity and rlimit."""

    cores: tuple[int, ...] | None
    data_bytes: int | None
    words: Mapping[str, str]
    """`cores`, `cpus` and `memory` → by what and to how much, for the result."""

    @classmethod
    def of(cls, group: Group, limits: Limits) -> ResourceBounds:
        """Find what holds a process of this group to its limits.

        Without a quota the next whole number of cores has to do; without a memory controller each process has the limit.
        """
        cores, words = limits.cores or None, dict[str, str]()
        if limits.cpus is not None and "cpus" in group.held:
            words["cpus"] = f"cgroup{group.version} quota of {limits.cpus:g}"
        elif limits.cpus is not None:
            cores = (cores or tuple(sorted(os.sched_getaffinity(0))))[: math.ceil(limits.cpus)]
            words["cpus"] = f"affinity to {len(cores)}, for want of a quota"
        if cores:
            words["cores"] = ",".join(map(str, cores))
        if limits.memory_bytes is None:
            return cls(cores, None, words)
        held = "memory_bytes" in group.held
        by = f"cgroup{group.version}" if held else "rlimit of each process's data, for want of a memory controller"
        words["memory"] = f"{limits.memory_bytes / 1e6:g} MB by {by}"
        return cls(cores, None if held else limits.memory_bytes, words)
