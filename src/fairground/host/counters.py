"""The processor's own count of instructions, of processes that are ours. Many virtual machines show none.

A machine that is slow for a moment carries out no more instructions, so this count is steadier than CPU time. It is of user
space alone: that needs no more than `kernel.perf_event_paranoid` ≤ 2, and is the same on every machine that allows it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Protocol

from fairground.host.machine import MachineCheck
from fairground.model import LabError
from fairground.model.count import WorkCount

SYSCALLS = {"x86_64": 298, "aarch64": 241}
"""`perf_event_open` by processor."""
INSTRUCTIONS = 1
INHERIT, EXCLUDE_KERNEL, EXCLUDE_HYPERVISOR = 1 << 1, 1 << 5, 1 << 6
TIME_ENABLED, TIME_RUNNING = 1, 2
CLOSE_ON_EXEC = 8
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
LOOKS = 3
"""The most times that threads are looked up until no new one has come meanwhile."""


class Kernel(Protocol):
    """The part of a kernel that counts: a descriptor for each thread, and what it has counted so far."""

    def open(self, thread: int) -> int:
        """Count a thread of ours, with all threads and processes that it starts from now on. OSError where that is refused."""

    def read(self, descriptor: int) -> tuple[int, int, int]:
        """Instructions so far, for how long it wanted to count, and for how long it could, in ns."""

    def close(self, descriptor: int) -> None:
        """Count no longer."""


class Linux:
    """The kernel of this machine."""

    def open(self, thread: int) -> int:
        """Begin to count a thread, as in `Kernel`."""
        number = SYSCALLS.get(platform.machine())
        if number is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        libc = ctypes.CDLL(None, use_errno=True)
        descriptor = int(libc.syscall(ctypes.c_long(number), _attributes(), thread, -1, -1, ctypes.c_ulong(CLOSE_ON_EXEC)))
        if descriptor < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return descriptor

    def read(self, descriptor: int) -> tuple[int, int, int]:
        """Read the count of a thread, as in `Kernel`."""
        count, enabled_ns, running_ns = struct.unpack("QQQ", os.read(descriptor, 24))
        return count, enabled_ns, running_ns

    def close(self, descriptor: int) -> None:
        """Count a thread no longer, as in `Kernel`."""
        os.close(descriptor)


def _attributes() -> bytes:
    """`struct perf_event_attr` in its first version: 64 bytes, of which all that is not named is zero."""
    flags = INHERIT | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR
    return struct.pack("IIQQQQQIIQ", 0, 64, INSTRUCTIONS, 0, 0, TIME_ENABLED | TIME_RUNNING, flags, 0, 0, 0)


class Instructions:
    """Instructions of some threads since they were opened, and of all that these start."""

    def __init__(self, descriptors: Sequence[int], kernel: Kernel) -> None:
        self._descriptors, self._kernel = tuple(descriptors), kernel

    def read(self) -> int | None:
        """The instructions so far. None: the processor had too few counters for some threads all along, or they are closed."""
        total = 0
        for descriptor in self._descriptors:
            try:
                count, enabled_ns, running_ns = self._kernel.read(descriptor)
            except OSError:
                return None
            if enabled_ns and not running_ns:
                return None
            total += count if running_ns >= enabled_ns else round(count * enabled_ns / running_ns)
        return total if self._descriptors else None

    def close(self) -> None:
        """Count no longer."""
        for descriptor in self._descriptors:
            self._kernel.close(descriptor)
        self._descriptors = ()


def count(threads: Callable[[], Collection[int]], kernel: Kernel | None = None) -> Instructions | None:
    """Begin to count these threads, best while they rest. None where the machine does not allow it.

    A thread that comes while others are opened may be counted or not, as whoever started it was: then all is begun anew.
    """
    kernel = kernel or Linux()
    for _ in range(LOOKS):
        found, opened = set(threads()), list[int]()
        try:
            for thread in sorted(found):
                opened.append(kernel.open(thread))
        except OSError as error:
            Instructions(opened, kernel).close()
            if error.errno == errno.ESRCH:  # it has ended meanwhile
                continue
            return None
        if found and set(threads()) == found:
            return Instructions(opened, kernel)
        Instructions(opened, kernel).close()
    return None


class CounterReader:
    """Reads instructions of a server in the place of an emulation's reader. Nobody counts its system calls and functions.

    What the server starts later is counted with it, whatever program that is.
    """

    def __init__(self, threads: Callable[[], Collection[int]], kernel: Kernel | None = None) -> None:
        self._threads, self._kernel = threads, kernel
        self._counting: Instructions | None = None

    def read(self) -> WorkCount:
        """All that was counted since the first reading. LabError where the processor could not count all of it."""
        if self._counting is None:
            self._counting = count(self._threads, self._kernel)
        found = None if self._counting is None else self._counting.read()
        if found is None:
            raise LabError("the processor's counters could not be read all along", "leave `--counters` out", exit_code=3)
        return WorkCount(found)

    def outside(self, _: object) -> tuple[str, ...]:
        """None: every process that it starts is counted."""
        return ()

    def forget(self) -> None:
        """Count no longer."""
        if self._counting is not None:
            self._counting.close()


def require(kernel: Kernel | None = None) -> None:
    """LabError where this machine's processor counts nothing for us."""
    if (line := check(kernel)).state != "ok":
        sentence = line.sentence.partition(":")[0]
        raise LabError(f"`--counters` cannot be had here: {sentence}", line.fix or "leave `--counters` out", exit_code=3)


def check(kernel: Kernel | None = None) -> MachineCheck:
    """The doctor's line: whether instructions can be counted here, and why not."""
    try:
        kernel = kernel or Linux()
        kernel.close(kernel.open(0))
        return MachineCheck("counters", "ok", "performance counters: instructions per answer are counted beside CPU time")
    except OSError as error:
        lost = "instructions per answer are not counted; CPU time is"
        if error.errno in (errno.EACCES, errno.EPERM):
            level = PARANOID.read_text().strip() if PARANOID.exists() else "unknown"
            sentence = f"kernel.perf_event_paranoid is {level}, or a sandbox forbids performance counters: {lost}"
            return MachineCheck("counters", "note", sentence, "sysctl -w kernel.perf_event_paranoid=2")
        return MachineCheck(
            "counters", "note", f"the processor shows no performance counters, as in most virtual machines: {lost}"
        )
