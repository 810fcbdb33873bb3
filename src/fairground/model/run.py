"""A run: its trials, and where it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fairground.model.fault import Recovery
from fairground.model.limit import Limit, Qualification, over_a_run
from fairground.model.plan import Cell, CellSettings, Control, Durability, Plan, PlanSlot
from fairground.model.result import AuditLine, Finding, Machine, Result, StackInfo, Verdict
from fairground.model.sizing import Sizing
from fairground.model.use import DatabaseUse, HostUse, RoleUse
from fairground.model.window import WindowTally, sum_windows


@dataclass(frozen=True)
class Trial:
    """One measurement of one cell: everything that is known of it, and the verdict on it."""

    number: int
    block: int
    attempt: int
    cell: Cell
    seed: int
    started_unix_s: float
    duration_s: float
    phases_s: Mapping[str, float]
    """Seconds spent in reset, start, verify, warmup, window, drain, audit, stop."""
    result: Result | None
    roles: Mapping[str, RoleUse]
    host: HostUse | None
    database: DatabaseUse | None
    audit: tuple[AuditLine, ...]
    findings: tuple[Finding, ...]
    verdict: Verdict
    diagnosis: str | None
    stderr_tail: str
    folder: str
    """Where the raw data is, relative to the run folder."""
    control: Control | None = None
    """What of the run itself it measures; None: it is a result."""
    round: int = 0
    """The round in which it was measured, with all that share its number; 0: by itself."""
    turns: tuple[WindowTally, ...] = ()
    """What was counted in turns with the others of its round: what ratios to them rest on. All else is of the whole window."""
    recovery: Recovery | None = None
    """What the fault of its load did to the answers; None: it has none, or the window ended before it."""
    sizing: Sizing | None = None
    """How its window was sized by its workload's events; None: it was not."""
    machine: str | None = None
    """The hash of the name of the host that made it, in a run of several hosts; None: the run's machine did."""

    @property
    def goodput_per_s(self) -> float | None:
        """Good answers a second, or None where the trial has no number (void or rejected)."""
        if self.result is None or self.verdict in (Verdict.VOID, Verdict.REJECTED):
            return None
        return self.result.goodput_per_s

    def cpu_us_per_answer(self, role: str) -> float | None:
        """CPU of one role in µs per good answer."""
        use = self.roles.get(role)
        if self.result is None or use is None or use.cpu_us is None or self.result.completed_ok == 0:
            return None
        return use.cpu_us / self.result.completed_ok

    @property
    def instructions_per_answer(self) -> float | None:
        """The server's instructions in user space for each good answer."""
        use = self.roles.get("server")
        if self.result is None or use is None or use.instructions is None or self.result.completed_ok == 0:
            return None
        return use.instructions / self.result.completed_ok

    @property
    def in_turns(self) -> WindowTally | None:
        """All of its turns as one window; None where it took none."""
        return sum_windows(self.turns) if self.turns else None


@dataclass(frozen=True)
class Ending:
    """The reason why a run ended before all that it planned was measured.

    `unneeded`: numbers of slots in its `blocks` that were left out, since what they would have narrowed was narrow already.
    """

    blocks: int
    reason: str
    unneeded: tuple[int, ...] = ()


@dataclass(frozen=True)
class Run:
    """A finished or interrupted run, as `records` loads it."""

    schema: int
    id: str
    folder: Path
    started_unix_s: float
    plan: Plan
    machine: Machine
    versions: Mapping[str, str]
    """Lab, engine, PostgreSQL, generators … → version text."""
    database_settings: Mapping[str, str]
    """PostgreSQL settings that differ from its defaults."""
    stacks: Mapping[str, StackInfo]
    workloads: Mapping[str, Mapping[str, str]]
    """Workload id → title, why, request, limit's SQL."""
    trials: tuple[Trial, ...]
    """The results; trials that are controls stand in `controls`."""
    limits: tuple[Limit, ...]
    """As they were measured, some of them several times."""
    finished: bool
    controls: tuple[Trial, ...] = ()
    qualification: Qualification | None = None
    ending: Ending | None = None
    """Set when it ended early, and as it should."""

    @property
    def everything(self) -> tuple[Trial, ...]:
        """Results and controls by their numbers, the attempts of each together."""
        return tuple(sorted((*self.trials, *self.controls), key=lambda trial: (trial.number, trial.attempt)))

    def limit(self, workload: str, postgres_version: int | None = None) -> Limit | None:
        """The most that the machine could do on a workload, over the run; None where nobody measured it."""
        return over_a_run(one for one in self.limits if one.key == (workload, postgres_version))

    @property
    def is_relaxed(self) -> bool:
        """True if the database waited for no disk. The lab's own waits where it is asked to, and a given one as it likes."""
        return any(value == "off" for name, value in self.database_settings.items() if name.partition(" ")[0] == "fsync")

    def durability_of(self, settings: CellSettings) -> str:
        """Name the durability of a cell's database: `durable`, `relaxed`, or that of a given server, which nobody asked for."""
        known = settings.durability is Durability.DURABLE or self.is_relaxed
        return str(settings.durability) if known else "the given server's own durability"

    @property
    def postgres_major(self) -> str | None:
        """`18` of a PostgreSQL 18.1; None where no PostgreSQL is among the versions."""
        return self.versions["PostgreSQL"].split(".")[0] if "PostgreSQL" in self.versions else None


@dataclass(frozen=True)
class JudgedRuns:
    """The runs by which a suite's claims were judged together, in their order. `looks`: how often they may be judged."""

    runs: tuple[str, ...]
    looks: int


@dataclass(frozen=True)
class Doing:
    """The work that goes on: a phase, seconds into it of how many, and (under load) the last second's good and other answers."""

    phase: str
    elapsed_s: float = 0.0
    total_s: float | None = None
    ok: int | None = None
    not_ok: int | None = None
    p99_us: int | None = None


@dataclass(frozen=True)
class Progress(Doing):
    """The progress of a trial."""

    slot: PlanSlot = field(kw_only=True)
    attempt: int = field(kw_only=True)
