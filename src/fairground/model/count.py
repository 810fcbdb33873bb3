"""Counted sessions: what a server carries out for an answer, in instructions and system calls. Frozen values.

These are counts and no times: they say nothing of goodput, latency or CPU, and nothing of those is told beside them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fairground.model.pair import rejection
from fairground.model.plan import CellSettings, Load, Topology
from fairground.model.result import Finding, Severity

UNCOUNTED = "uncounted"
"""The finding that a part of a server's work was not counted: the start has no number."""


MADE_AT_RUN_TIME = "code made at run time"
"""The one entry of all code that lies in no file, as that of a compiler which runs in the server."""
PROCESSOR = "processor"
"""The version of a record that says whose instructions were counted, such as `x86_64`."""


@dataclass(frozen=True)
class WorkCount:
    """Instructions that a server's processes carried out in user space, and their system calls by name.

    `functions`: the instructions of each function, where somebody asks where they are. `empty_reads`: the calls that looked for
    data and found none yet (EAGAIN); None: nobody counts them.
    """

    instructions: int = 0
    system_calls: Mapping[str, int] = field(default_factory=dict)
    functions: Mapping[str, int] = field(default_factory=dict)
    empty_reads: int | None = None

    @property
    def calls(self) -> int:
        """All system calls together."""
        return sum(self.system_calls.values())

    def __sub__(self, before: WorkCount) -> WorkCount:
        calls = _less(self.system_calls, before.system_calls)
        functions = _less(self.functions, before.functions)
        known = None if self.empty_reads is None else self.empty_reads - (before.empty_reads or 0)
        return WorkCount(self.instructions - before.instructions, calls, functions, known)


def _less(now: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
    """The counts that have grown, by how much."""
    return {name: more for name, count in now.items() if (more := count - before.get(name, 0))}


@dataclass(frozen=True)
class CountArm:
    """One side of a counted measurement, under its label. `revision` is of git, or None: the server as it stands.

    `commit`: the one that was counted, shortened, with a `+` where files were changed since. None: its folder is in no checkout.
    """

    label: str
    stack: str
    revision: str | None = None
    commit: str | None = None


@dataclass(frozen=True)
class CountAsked:
    """The arms whose work is counted on each of the workloads. `floor`: a share that is not worth telling.

    `compared`: the second arm is held against the first. `requests`: of a start's counted windows together; None: as many as the
    pace of the arm's first start allows. `where`: instructions are told by function, too. `counters`: those of the processor are
    read, in place of an emulation; it counts no system calls. `width`: starts end where an interval is as narrow, and where it is
    None at the floor.
    """

    arms: tuple[CountArm, ...]
    workloads: tuple[str, ...]
    compared: bool
    load: Load
    settings: CellSettings
    seed: int
    budget_s: float
    floor: float
    requests: int | None = None
    topology: Topology = Topology()
    where: bool = False
    counters: bool = False
    width: float | None = None


@dataclass(frozen=True)
class CountedWindow:
    """The work of an arm in one window of fixed work. `answers` are the good ones, the lab's own probes among them."""

    answers: int
    work: WorkCount
    warm_up: bool = False


@dataclass(frozen=True)
class CountedStart:
    """One start of an arm on a workload: the unit of evidence.

    `requests` were asked in its counted windows together. `settled`: the counts of its warm-up's windows agreed before them.
    `functions`: instructions for an answer by function, where that was asked for. `interpreter`: the program that carries out the
    server's code, where it is none of the server's own: the functions are those of that program.
    """

    arm: str
    workload: str
    number: int
    requests: int
    windows: tuple[CountedWindow, ...]
    settled: bool
    findings: tuple[Finding, ...]
    took_s: float
    functions: Mapping[str, float] = field(default_factory=dict)
    interpreter: str | None = None

    @property
    def rejected(self) -> str | None:
        """The sentence that says why the arm has no number at all; None where it has one."""
        return rejection(self.arm, self.findings)

    @property
    def void(self) -> str | None:
        """The sentence that says why this start has no number; None where it has one, or where the arm is rejected."""
        found = next((one for one in self.findings if one.severity is Severity.VOID), None)
        return None if found is None or self.rejected else found.sentence

    @property
    def counted(self) -> Sequence[CountedWindow]:
        """The windows after the warm-up; none where the start has no number."""
        return () if self.rejected or self.void else [one for one in self.windows if not one.warm_up]
