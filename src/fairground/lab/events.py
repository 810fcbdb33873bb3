"""What the use cases tell while they work: frozen values, one for each thing that happens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fairground.model import Finding, Plan, Progress, Run, Severity, Trial
from fairground.model.experiment import Start, WhyAsked
from fairground.model.record import Record
from fairground.report.replication import Replication
from fairground.report.run.why import TriedBy
from fairground.stats.agreement import Agreement


@dataclass(frozen=True)
class Said:
    """A sentence for the person who waits."""

    sentence: str


@dataclass(frozen=True)
class Building:
    """A server is built, number `place` of `servers`: the command that runs now."""

    server: str
    command: str
    place: int = 1
    servers: int = 1


@dataclass(frozen=True)
class Built:
    """All servers are built, or known not to be available. `seconds`: how long it took."""

    seconds: float


@dataclass(frozen=True)
class Absent:
    """Something that was asked for is not available here; the rest goes on. `what` is such as `generator wrk`."""

    what: str
    why: str


@dataclass(frozen=True)
class Planned:
    """The plan is frozen and has its folder. `left_s`: the seconds that all of what is left will take, from its loads alone."""

    plan: Plan
    folder: Path
    left_s: float


@dataclass(frozen=True)
class Began:
    """The trials begin. `done` are those that an interrupted run had already; so many `hosts` measure side by side."""

    plan: Plan
    done: tuple[Trial, ...]
    hosts: int = 1


@dataclass(frozen=True)
class TrialDone:
    """A trial has ended and is on the disk."""

    trial: Trial


@dataclass(frozen=True)
class Reported:
    """The run's page, table and trial pages are written. `path` is the page's; `tried`: experiments on the run's reasons."""

    path: Path
    run: Run
    tried: TriedBy = field(default_factory=dict)


@dataclass(frozen=True)
class Trying:
    """An experiment on a reason of the run begins, number `place` of `experiments` as far as their time lasts."""

    asked: WhyAsked
    place: int
    experiments: int


@dataclass(frozen=True)
class TriedReason:
    """An experiment on a reason of the run has ended, and is a record of its own."""

    record: Record[WhyAsked, Start]


@dataclass(frozen=True)
class Replicating:
    """A published benchmark is measured now, number `place` of `suites`.

    `later_s` is what those after it are expected to take, by their loads alone.
    """

    suite: str
    place: int
    suites: int
    later_s: float


@dataclass(frozen=True)
class SiteRecord:
    """The pages of a record are in the site: number `place` of `records`."""

    place: int
    records: int
    id: str


@dataclass(frozen=True)
class SiteWritten:
    """The site is whole. `path` is that of its first page."""

    path: Path
    records: int


@dataclass(frozen=True)
class Kept:
    """All of it is in the record of this id, and nothing is missing."""

    id: str


@dataclass(frozen=True)
class Checking:
    """A stack is tried now: number `place` of `stacks`. `left_s`: how long it and those after it will take; None: unknown."""

    stack: str
    place: int
    stacks: int
    left_s: float | None


@dataclass(frozen=True)
class Checked:
    """What the contract's cases found of one stack. `absent` says why the stack could not be tried; None: it was."""

    stack: str
    findings: tuple[Finding, ...]
    log: Path | None
    absent: str | None

    @property
    def state(self) -> str:
        """`passed`, `failed`, `void` (the machine's or the lab's fault) or `not here`."""
        if self.absent is not None:
            return "not here"
        found = {finding.severity for finding in self.findings}
        return "failed" if Severity.REJECT in found else "void" if Severity.VOID in found else "passed"

    @property
    def row(self) -> dict[str, Any]:
        """For machines: the state, the findings, and why a stack is not here."""
        reason = {} if self.absent is None else {"reason": self.absent}
        return {"state": self.state, **reason, "findings": [asdict(finding) for finding in self.findings]}


@dataclass(frozen=True)
class CrossChecked:
    """Whether the generators of a run agree."""

    agreements: tuple[Agreement, ...]


@dataclass(frozen=True)
class Replicated:
    """The verdicts on published claims are written. `path` is that of their page."""

    found: Replication
    path: Path


Event = (
    Said
    | Building
    | Built
    | Absent
    | Planned
    | Began
    | TrialDone
    | Reported
    | Trying
    | TriedReason
    | Checking
    | Checked
    | Kept
    | CrossChecked
    | Replicating
    | Replicated
    | SiteRecord
    | SiteWritten
)
Within = Building | Progress
"""What is told from inside one long call, while the use case cannot yield."""
Sink = Callable[[Within], None]


def unheard(_event: Within) -> None:
    """The sink of a caller who does not want to hear what happens inside long calls."""
