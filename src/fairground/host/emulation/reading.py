"""Read what the plugin has counted of a server's processes, and find those that have left the emulation."""

from __future__ import annotations

import os
import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy

from fairground.host.emulation.symbols import Locator
from fairground.host.process import Process
from fairground.model.count import WorkCount

CALLS, SLOTS = 1024, 4096
"""As in counter.c: two counters for each system call by number, then one of instructions for each thread."""
FILE = struct.Struct(f"{2 * CALLS + SLOTS}Q")
READS = frozenset({"read", "readv", "recvfrom", "recvmsg"})
"""The system calls by which a server looks for data."""
VDSO = frozenset({"clock_gettime", "gettimeofday", "time", "getcpu"})
"""Natively the kernel's page in each process answers them, without a call. QEMU has no such page, or calls the kernel there."""
EXECUTES = ("execve", "execveat")
"""The system calls by which a process goes on as another program, natively."""


class CountReader:
    """Reads the counts in a folder. A process that ended keeps its file, so that no sum ever falls.

    `locator` tells which functions they are of; None: nobody asks.
    """

    def __init__(self, folder: Path, calls: Mapping[int, str], program: str, locator: Locator | None = None) -> None:
        self.folder, self._calls, self._program, self._locator = folder, calls, os.path.realpath(program), locator

    def read(self) -> WorkCount:
        """All that was counted so far."""
        instructions, calls, empty_reads = 0, dict[str, int](), 0
        for path in self.folder.glob("*.counts"):
            data = path.read_bytes()
            if len(data) != FILE.size:
                continue  # it is being made
            values = FILE.unpack(data)
            instructions += sum(values[2 * CALLS :])
            for number, count in enumerate(values[:CALLS]):
                name = self._calls.get(number, f"call {number}")
                count -= values[CALLS + number] if name in EXECUTES else 0  # a shell looks along PATH: those started nothing
                if count and name not in VDSO:
                    calls[name] = calls.get(name, 0) + count
                    empty_reads += values[CALLS + number] if name in READS else 0
        return WorkCount(instructions, calls, self._functions(), empty_reads)

    def _functions(self) -> dict[str, int]:
        """The instructions of each function so far."""
        found = Counter[str]()
        if self._locator is not None:
            for path in sorted(self.folder.glob("*.blocks")):
                blocks = numpy.fromfile(path, dtype=numpy.uint64).reshape(-1, 2)
                found.update(self._locator.functions(int(path.stem), blocks[blocks[:, 1] > 0]))
        return dict(found)

    def forget(self) -> None:
        """Remove the counts of blocks, which are large, when nobody reads them any more."""
        for path in self.folder.glob("*.blocks"):
            path.unlink(missing_ok=True)

    def outside(self, alive: Iterable[Process]) -> tuple[str, ...]:
        """The commands of those processes that run natively: they went on as another program, and nobody counts them."""
        return tuple(command for one in alive if (command := self._native(one.pid)) is not None)

    def _native(self, pid: int) -> str | None:
        try:
            program = os.readlink(f"/proc/{pid}/exe")
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return None  # it has ended, or is about to
        if os.path.realpath(program) == self._program:
            return None
        return " ".join(command.decode(errors="replace").split("\0")).strip() or program
