"""A record: what was asked, everything that was measured for it, and how it ended. Frozen values.

There is one kind of record for each thing that can be measured. All have a head, written before the first measurement; entries,
one for each finished unit; and an end. What was asked, and what an entry is, depends on the kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Generic, TypeVar

from fairground.model import secret
from fairground.model.plan import CellSettings, Load, Topology
from fairground.model.result import Finding, Machine, Severity, StackInfo
from fairground.model.run import Ending

Asked = TypeVar("Asked", covariant=True)
Entry = TypeVar("Entry", covariant=True)


class RecordKind(StrEnum):
    """The kind of measurement that a record is of."""

    RUN = "run"
    COMPARISON = "comparison"
    CAPACITY = "capacity"
    TRY = "try"
    CHECK = "check"
    CROSS_CHECK = "cross-check"
    WHY = "why"
    COUNT = "count"


@dataclass(frozen=True)
class Head(Generic[Asked]):
    """The facts that were known before the first measurement. `id` is the name of the record's folder."""

    schema: int
    kind: RecordKind
    id: str
    command: str
    started_unix_s: float
    machine: Machine
    versions: Mapping[str, str]
    """Lab, engine, PostgreSQL … → version."""
    thresholds: Mapping[str, Any]
    """The thresholds by which it is judged."""
    stacks: Mapping[str, StackInfo]
    """What is said of each stack that is measured, by its label in the record."""
    asked: Asked


@dataclass(frozen=True)
class RecordEnd:
    """The end of a whole record, and why nothing more was measured."""

    ended_unix_s: float
    reason: str


@dataclass(frozen=True)
class Record(Generic[Asked, Entry]):
    """A finished or interrupted measurement. `end` is None while units are missing; a run has one where it ended early.

    `beside` holds the side files of its kind by name: a value each, or a tuple of lines.
    """

    folder: Path
    head: Head[Asked]
    entries: tuple[Entry, ...] = ()
    end: RecordEnd | Ending | None = None
    beside: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.head.id


# ---------------------------------------------------------------- what can be asked


@dataclass(frozen=True)
class TryAsked:
    """A request to any service. Of a record it has no secrets: a header's value is None, and elsewhere `(hidden)` stands.

    `command` starts the service; None: it runs already. `seconds` is the length of each measurement.
    """

    url: str
    method: str
    headers: tuple[tuple[str, str | None], ...]
    body: str | None
    objective: str
    seconds: int
    timeout_ms: int
    load: bool
    """Whether it is loaded, or only looked at."""
    other_host: bool
    """Whether the caller said that the host is theirs."""
    command: tuple[str, ...] | None
    threads: int = 1
    """Of the load engine."""
    ca: str | None = None
    """A file of certificates that are believed in place of this machine's authorities."""
    insecure: bool = False
    """Whether every certificate is believed."""
    expects: int | None = None
    """The status that is good; None: what the service answers tells."""
    any_body: bool = False
    """Whether bodies may differ: only the status is held against an answer."""
    follows: bool = False
    """Whether one redirect on the same host is followed."""
    database: str | None = None
    """The URL of the service's own PostgreSQL, which is read meanwhile."""
    confirmations: int = 0
    """How often the rate that is told is measured anew."""
    requests: str | None = None
    """The file of what is asked in place of the URL alone, with its digest; `method` then names all methods in it."""
    at_least_per_s: float | None = None
    """The rate that must keep the objective; None: whatever rate does is told."""
    connections: int | None = None
    """The most connections of a load; None: as many as are usual."""

    def without_secrets(self) -> TryAsked:
        """Make of it what a record keeps. A header's value goes as a whole."""
        headers = [
            (name, value if value is None or secret.redact_header(name, value) == value else None) for name, value in self.headers
        ]
        return replace(
            self,
            url=secret.redact(self.url),
            headers=tuple(headers),
            body=None if self.body is None else secret.redact(self.body),
            database=None if self.database is None else secret.redact(self.database),
            command=None if self.command is None else tuple(secret.redact_words(self.command)),
        )


@dataclass(frozen=True)
class ComparisonAsked:
    """Two arms by label, of the stacks `stack_a` and `stack_b`; `revisions` are of git, or None. Shares, not percent.

    What `settings` say of `sql_before` is for B alone. Of two services the stacks are their URLs.
    """

    label_a: str
    label_b: str
    stack_a: str
    stack_b: str
    revisions: tuple[str, str] | None
    workload: str
    load: Load
    settings: CellSettings
    seed: int
    budget_s: float
    width: float
    """The half-width of the interval that is enough."""
    pairs: int
    """Pairs of windows for each start of the servers."""
    margin: float
    """Within ± this share the arms are equivalent."""
    turn_s: float
    planted: float = 0.0
    """The slowdown of B on purpose, as a share of its CPU."""
    topology: Topology = Topology()
    """The path of both arms."""
    services: tuple[TryAsked, TryAsked] | None = None
    """The requests to two services that are compared in place of stacks."""

    def without_secrets(self) -> ComparisonAsked:
        """Make of it what a record keeps."""
        if self.services is None:
            return self
        a, b = (one.without_secrets() for one in self.services)
        return replace(self, services=(a, b))


@dataclass(frozen=True)
class CapacityAsked:
    """Cells (stack, workload) in their order, and what each is asked. `budget_s` is of one cell."""

    cells: tuple[tuple[str, str], ...]
    objective: str
    budget_s: float
    width: float
    """How narrow the bracket should be: upper over lower bound, less 1."""
    load: Load
    settings: CellSettings
    seed: int
    topology: Topology = Topology()


@dataclass(frozen=True)
class CheckAsked:
    """Stacks that are held against the contract. `cases` None: all of its cases."""

    stacks: tuple[str, ...]
    cases: tuple[str, ...] | None


@dataclass(frozen=True)
class CrossCheckAsked:
    """One stack on one workload under several generators; its trials are in the run `run`."""

    stack: str
    workload: str
    loads: tuple[Load, ...]
    rounds: int
    run: str


# ---------------------------------------------------------------- entries that only this module knows


@dataclass(frozen=True)
class StackChecked:
    """The contract's verdict on one stack. `unavailable` says why it could not be tried; then there are no findings."""

    stack: str
    findings: tuple[Finding, ...] = ()
    unavailable: str | None = None

    @property
    def state(self) -> str:
        """`passed`, `failed`, `void` (the machine's or the lab's fault) or `not here`."""
        if self.unavailable is not None:
            return "not here"
        found = {finding.severity for finding in self.findings}
        return "failed" if Severity.REJECT in found else "void" if Severity.VOID in found else "passed"

    @property
    def row(self) -> dict[str, Any]:
        """A row for machines: the state, the findings, and why a stack is not here."""
        reason = {} if self.unavailable is None else {"reason": self.unavailable}
        return {"state": self.state, **reason, "findings": [asdict(finding) for finding in self.findings]}


@dataclass(frozen=True)
class Listed:
    """One line of a list of records. `page` is where its page is, or would be."""

    id: str
    kind: RecordKind
    folder: Path
    started_unix_s: float
    finished: bool
    entries: int | None
    command: str
    page: Path = field(default=Path())
