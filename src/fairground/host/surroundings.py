"""The surroundings of the roles: memory, disk, clock rate and the lab's own quota. What a machine does not show is None."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairground.host import cgroup
from fairground.model.work import difference

MOST_PROCESSORS = 8
"""The clock rates of this many are read: on large machines each costs the kernel a message to that processor."""
CPUS = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Surroundings:
    """Counters at one moment; only differences mean anything, but for the clock rate."""

    pressure_io_full_us: int | None = None
    frequency_khz: float | None = None
    heat_throttles: int | None = None
    swapped_pages: int | None = None
    memory_kills: int | None = None
    major_faults: int | None = None
    periods: int | None = None
    throttled_periods: int | None = None

    @classmethod
    def now(cls) -> Surroundings:
        """Read /proc/pressure/io, /proc/vmstat, cpufreq, the thermal counters and the cgroups that the lab is in."""
        memory = _vmstat()
        swapped = [memory.get("pswpin"), memory.get("pswpout")]
        periods, throttled = cgroup.periods_of(os.getpid()) or (None, None)
        return cls(
            pressure_io_full_us=cgroup.pressure_us(Path("/proc/pressure/io"), "full"),
            frequency_khz=_mean(_values("cpufreq/scaling_cur_freq")),
            heat_throttles=_sum(_values("thermal_throttle/core_throttle_count")),
            swapped_pages=None if None in swapped else sum(count or 0 for count in swapped),
            memory_kills=memory.get("oom_kill"),
            major_faults=memory.get("pgmajfault"),
            periods=periods,
            throttled_periods=throttled,
        )

    def since(self, before: Surroundings, passed_us: float) -> dict[str, Any]:
        """The changes since `before`, `passed_us` ago, under the names of HostUse."""
        waited_us = difference(before.pressure_io_full_us, self.pressure_io_full_us)
        rates = (before.frequency_khz, self.frequency_khz)
        return {
            "pressure_io_full_share": None if waited_us is None else waited_us / passed_us,
            "frequency_change_share": rates[1] / rates[0] - 1 if rates[0] and rates[1] else None,
            **{
                name: difference(getattr(before, name), getattr(self, name))
                for name in ("heat_throttles", "swapped_pages", "memory_kills", "major_faults", "periods", "throttled_periods")
            },
        }


def _vmstat() -> dict[str, int]:
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
        return {name: int(value) for name, value in (line.split() for line in lines)}
    except (OSError, ValueError):
        return {}


def _values(name: str) -> list[int]:
    """One file of each of the processors that we may use, as far as they have it."""
    found = []
    for number in sorted(os.sched_getaffinity(0))[:MOST_PROCESSORS]:
        try:
            found.append(int((CPUS / f"cpu{number}" / name).read_text()))
        except (OSError, ValueError):
            pass  # most virtual machines show neither clock rate nor heat
    return found


def _mean(values: list[int]) -> float | None:
    return sum(values) / len(values) if values else None


def _sum(values: list[int]) -> int | None:
    return sum(values) if values else None
