"""The things that can be measured: servers with their stacks, and workloads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from fairground.model.contract import NO_CONTRACT, Contract, Ready, fill_names, fill_tree, names_in
from fairground.model.sizing import WorkloadEvent


class Approach(StrEnum):
    """The way in which a variant is written.

    It is as its documentation shows, as the author of a benchmark published it, tuned, or an event loop of its own.
    """

    DOCUMENTED = "documented"
    PUBLISHED = "published"
    TUNED = "tuned"
    ENGINE = "engine"


@dataclass(frozen=True)
class Tuning:
    """One thing in which a variant departs from its documentation. `source` is the page that shows it, or `none`.

    Of a published variant it is a choice of the author, and its page is where he made it.
    """

    what: str
    why: str
    source: str


@dataclass(frozen=True)
class Variant:
    """One named way to start a server. `approach` is None where an older manifest does not say it."""

    name: str
    about: str
    env: Mapping[str, str] = field(default_factory=dict)
    approach: Approach | None = None
    tuning: tuple[Tuning, ...] = ()
    serve: tuple[str, ...] | None = None
    """Its command, where it is not the server's."""


@dataclass(frozen=True)
class Server:
    """One codebase under test: a parsed `server.toml` and the folder that it was read from."""

    id: str
    title: str
    language: str
    homepage: str
    about: str
    folder: Path
    needs: tuple[tuple[str, ...], ...]
    build: tuple[tuple[str, ...], ...]
    version: tuple[str, ...]
    serve: tuple[str, ...]
    variants: Mapping[str, Variant]
    skip: Mapping[str, str]
    """Workload id → why this server cannot do it."""
    contract: Contract = NO_CONTRACT
    """The contract that it fulfils."""
    paths: Mapping[str, str] = field(default_factory=dict)
    """Its own paths, in place of the contract's of these names."""
    environment: Mapping[str, str] | None = None
    """What it is told, in place of what the contract says; None: as the contract says."""
    port: int | None = None
    """Where it listens, whatever it is told; None: where it is told to."""
    own_ready: Ready | None = None

    @property
    def told(self) -> Mapping[str, str]:
        """The variables that it is told when it is started, each a text with `$names`."""
        return self.contract.environment if self.environment is None else self.environment

    @property
    def ready(self) -> Ready:
        """The request by which the lab learns that it is ready, with `$paths`."""
        return self.own_ready or self.contract.ready

    def is_told(self, name: str) -> bool:
        """True if it learns this `$name` when it is started: who is told no pool size cannot be held to one."""
        texts = (*self.told.values(), *self.serve, *(word for one in self.variants.values() for word in one.serve or ()))
        return any(name in names_in(text) for text in texts)

    @property
    def stacks(self) -> tuple[Stack, ...]:
        """One stack for each variant, in the manifest's order."""
        return tuple(Stack(self, variant) for variant in self.variants.values())


@dataclass(frozen=True)
class Stack:
    """One row of a result table."""

    server: Server
    variant: Variant

    @property
    def id(self) -> str:
        return f"{self.server.id}:{self.variant.name}"

    @property
    def serve(self) -> tuple[str, ...]:
        """The command that starts it."""
        return self.variant.serve or self.server.serve


@dataclass(frozen=True)
class LedgerEntry:
    """Sum slot `add` (`-amount`: negative) per value of slot `account`, under `name`."""

    name: str
    account: str
    add: str


@dataclass(frozen=True)
class Expectation:
    """The right answer to a workload's request.

    `body` is None, a rule as in docs/engine-protocol.md, {"verified": case id}: the body that the named contract case found right
    on this very server is then compared byte for byte; or {"table": {"sql": …, "by": slot}}: rows of the arm's fresh database,
    each a value of the slot and the JSON that answers it.
    """

    status: int
    content_type: str | tuple[str, ...] | None
    body: Mapping[str, object] | None
    check_one_in: int


SHARES = 10_000
"""Of so many requests an edge's share is a whole number."""


@dataclass(frozen=True)
class Edge:
    """A share of a workload's requests that have other values in some slots: unknown ids, the first and the last one, 0.

    `values` is slot → what stands in its place. `status` has the errors that the contract demands of them, each of which is
    right; where it is empty their right answer is that of any other request.
    """

    name: str
    share: float
    values: Mapping[str, str]
    status: tuple[int, ...] = ()


@dataclass(frozen=True)
class Invariant:
    """One line of the audit: the value of `sql` in the trial's database must equal that of `equals`.

    `equals` is an expression in `before` (the value of `sql` before the load), `acknowledged` (good answers) and integers;
    `unknown` (requests that may have happened) widens it upwards when `may_exceed` is set.
    """

    id: str
    sentence: str
    sql: str
    equals: str
    may_exceed: bool = False


@dataclass(frozen=True)
class LedgerCheck:
    """Per account, `sql` (rows of account, value) must have moved by what the engine's ledger `name` says."""

    name: str
    sql: str


@dataclass(frozen=True)
class TableNeed:
    """The scans of a table that one good answer needs, and the rows that it reads and writes."""

    scans: float
    rows: float = 0.0
    """Rows read; 0: the planner's choice of scan decides how many."""
    inserted: float = 0.0
    updated: float = 0.0
    deleted: float = 0.0


@dataclass(frozen=True)
class OwnRows:
    """Rows of the lab's own that its requests name, where the load changes all others all the time.

    Each of `slots` gets a row with a number from `low` to `high` that nobody can foresee. `sql` makes one; `%s` is its number.
    """

    slots: tuple[str, ...]
    low: int
    high: int
    sql: str


@dataclass(frozen=True)
class Written:
    """The place where one request's write is seen.

    `sql` has a single value, `%s` in it being what the request has in its `slot`. Few requests of a load may have the same value
    there: another's write is taken for the one that is looked for.

    Where the answer says what was written, `holds` is a statement that is true once it is there: `:answer` in it is that answer.
    """

    slot: str = ""
    sql: str = ""
    own: OwnRows | None = None
    holds: str = ""


@dataclass(frozen=True)
class WriteHistory:
    """The rows of which the database keeps one for each write.

    `sql` selects two columns: an array of what the request had in its `slots`, and the row's `xmin`.
    """

    slots: tuple[str, ...]
    sql: str


@dataclass(frozen=True)
class Audit:
    """The conditions that must hold in the database after a workload's trial. Counters are per good answer."""

    writes: bool
    commits_per_answer: float
    rows_per_answer: float
    invariants: tuple[Invariant, ...] = ()
    ledgers: tuple[LedgerCheck, ...] = ()
    statements: tuple[str, ...] = ()
    """What one answer asks the database, each in all forms that servers send it in; how constants are given is no difference."""
    most_commits_per_answer: float | None = None
    """The most commits that an honest answer makes; None: a few times as many as it needs."""
    statements_per_answer: float = 1.0
    """How many of them one answer needs; more than 1 needs a transaction around them."""
    tables: Mapping[str, TableNeed] = field(default_factory=dict)
    functions: Mapping[str, float] = field(default_factory=dict)
    """Function → calls that one answer needs."""
    written: Written | None = None
    """How the lab sees whether an acknowledged write is there at the moment of its answer; None: it cannot."""
    history: WriteHistory | None = None
    """Where each write leaves a row, by which answers and commits are joined; None: they are counted."""

    def fill(self, text: Callable[[str], str]) -> Audit:
        """The audit with each of its statements and expressions put through `text`."""
        written, history = self.written, self.history
        if written is not None:
            own = None if written.own is None else replace(written.own, sql=text(written.own.sql))
            written = replace(written, sql=text(written.sql), holds=text(written.holds), own=own)
        return replace(
            self,
            invariants=tuple(replace(one, sql=text(one.sql), equals=text(one.equals)) for one in self.invariants),
            ledgers=tuple(replace(one, sql=text(one.sql)) for one in self.ledgers),
            written=written,
            history=None if history is None else replace(history, sql=text(history.sql)),
        )


@dataclass(frozen=True)
class Workload:
    """A kind of request: what it asks, what the right answer is, and what must hold in the database afterwards."""

    id: str
    title: str
    why: str
    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: str | None
    expect: Expectation
    ledger: tuple[LedgerEntry, ...]
    audit: Audit
    limit_sql: str | None
    """pgbench script of the same work, for the machine's ceiling; None: the null responder is the ceiling."""
    limited_by_locks: bool = False
    """Locks or deadlocks limit it, not the machine: what pgbench does with it is no ceiling."""
    errors_expected: tuple[int, ...] = ()
    """Statuses of failed requests that the workload is about: they are noted, and warn of nothing."""
    edges: tuple[Edge, ...] = ()
    contract: Contract = NO_CONTRACT
    twin: str | None = None
    """The workload that does the same with its rows locked in one order; None: there is none."""
    fixed_rows: str | None = None
    """The reason why a larger scale gives it no more rows to choose from; None: it does."""
    pipeline: int = 1
    """So many requests are sent at once on each connection, and the next ones once all of their answers are there."""
    events: Mapping[WorkloadEvent, int] = field(default_factory=dict)
    """What its number depends on, and how often a window should hold it: windows of a run are as long as that takes."""

    def fill(self, values: Mapping[str, object]) -> Workload:
        """The workload with these values for its `$names`: numbers of its data, or the paths of a server. Others stay."""

        def text(one: str) -> str:
            return fill_names(one, values)

        return replace(
            self,
            path=text(self.path),
            headers=tuple((name, text(value)) for name, value in self.headers),
            body=None if self.body is None else text(self.body),
            expect=replace(self.expect, body=fill_tree(self.expect.body, values)),
            audit=self.audit.fill(text),
            edges=tuple(replace(edge, values={slot: text(one) for slot, one in edge.values.items()}) for edge in self.edges),
            limit_sql=None if self.limit_sql is None else text(self.limit_sql),
        )

    def comparable_with(self, bodies: Mapping[str, str]) -> Workload:
        """The workload without its comparison of bodies, where the case whose right body it needs was excused."""
        rule = self.expect.body
        if rule is None or "verified" not in rule or rule["verified"] in bodies:
            return self
        return replace(self, expect=replace(self.expect, body=None))

    @property
    def uses_database(self) -> bool:
        return bool(self.audit.commits_per_answer or self.audit.statements or self.audit.tables)
