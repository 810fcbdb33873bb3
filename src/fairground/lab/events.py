"""Events that the use cases tell while they work: frozen values, one for each thing that happens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairground.model import Plan, Progress, Run, Trial
from fairground.model.experiment import Start, WhyAsked
from fairground.model.record import Record
from fairground.report.replication import Replication
from fairground.report.run.why import TriedBy


@dataclass(frozen=True)
class Said:
    """A sentence for the person who waits."""

    sentence: str


@dataclass(frozen=True)
class Building:
    """A server is built, number `place` of `servers`: the command that runs now.

    `about_s`: about so long the server takes; `left_s`: it and those after it. None: unknown.
    """

    server: str
    command: str
    place: int = 1
    servers: int = 1
    about_s: float | None = None
    left_s: float | None = None


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
    """The trials begin. `done` are those that an interrupted run had already; this many `hosts` measure side by side."""

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
class RecordOpened:
    """A record has its folder; what it holds already is kept."""

    record: Record[Any, Any]


@dataclass(frozen=True)
class Going:
    """The next part of a record is measured from here on. `left_s`: about so long until the end of all; None: unknown."""

    what: str
    left_s: float | None


@dataclass(frozen=True)
class UnitDone:
    """The last entry of a record is finished and on the disk. `left_s`: at most so long until the end; None: unknown."""

    record: Record[Any, Any]
    left_s: float | None


@dataclass(frozen=True)
class Finished:
    """Nothing is missing in a record any more; its end says why."""

    record: Record[Any, Any]


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
    """The pages of a record are in the site: number `place` of `records`. `damage`: why they are not."""

    place: int
    records: int
    id: str
    damage: str = ""


@dataclass(frozen=True)
class SiteWritten:
    """The site is whole. `path` is that of its first page."""

    path: Path
    records: int


@dataclass(frozen=True)
class Checking:
    """A stack is tried now: number `place` of `stacks`. `left_s`: how long it and those after it will take; None: unknown."""

    stack: str
    place: int
    stacks: int
    left_s: float | None


@dataclass(frozen=True)
class Replicated:
    """The verdicts on published claims are written. `path` is that of their page."""

    found: Replication
    path: Path


Within = Said | Absent | Building | Built | Progress
"""What is told from inside one long call, while the use case cannot yield."""
Event = (
    Within
    | Planned
    | Began
    | TrialDone
    | Reported
    | Trying
    | TriedReason
    | RecordOpened
    | Going
    | Checking
    | UnitDone
    | Finished
    | Replicating
    | Replicated
    | SiteRecord
    | SiteWritten
)
Sink = Callable[[Within], None]


def unheard(_event: Within) -> None:
    """The sink of a caller who does not want to hear what happens inside long calls."""
