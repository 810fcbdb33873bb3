"""The workloads that servers are asked: their requests, the right answers, and what must hold in the database afterwards."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from fairground.model.contract import NO_CONTRACT, Contract, DataTable, fill_names, fill_tree
from fairground.model.data import Rows
from fairground.model.sizing import WorkloadEvent


@dataclass(frozen=True)
class LedgerEntry:
    """Sum slot `add` (`-amount`: negative) per value of slot `account`, under `name`."""

    name: str
    account: str
    add: str


@dataclass(frozen=True)
class Expectation:
    """The right answer to a request.

    `body` is None, a rule as in docs/engine-protocol.md, {"verified": case id}: the body that the named contract case found right
    on this very server is then compared byte for byte; or {"table": {"sql": …, "by": slot}}: rows of the arm's fresh database,
    each a value of the slot and the JSON that answers it.
    """

    status: int
    content_type: str | tuple[str, ...] | None = None
    """None: what the contract says of every good answer, else any."""
    body: Mapping[str, object] | None = None
    check_one_in: int = 1
    headers: Mapping[str, object] = field(default_factory=dict)
    """Rules that each answer's headers are held to, with those of the contract. See docs/contracts.md."""


SHARES = 10_000
"""Of so many requests an edge's share is a whole number."""


@dataclass(frozen=True)
class Edge:
    """A share of a request's that have other values in some slots: unknown ids, the first and the last one, 0.

    `values` is slot → what stands in its place, and `headers` is header → its value. `status` has the errors that the contract
    demands of them, each of which is right; where it is empty their right answer is that of any other request.
    """

    name: str
    share: float
    values: Mapping[str, str] = field(default_factory=dict)
    status: tuple[int, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)

    def fill(self, text: Callable[[str], str]) -> Edge:
        """The edge with each of its texts put through `text`."""
        values = {slot: text(one) for slot, one in self.values.items()}
        return replace(self, values=values, headers={name: text(one) for name, one in self.headers.items()})


GOOD = re.compile(r"\bgood\.([a-z][a-z0-9-]*)")
"""The good answers to one request of a mix, in an invariant's `equals`."""


@dataclass(frozen=True)
class Invariant:
    """One line of the audit: the value of `sql` in the trial's database must equal that of `equals`.

    `equals` is an expression in `before` (the value of `sql` before the load), `acknowledged` (good answers), `good.NAME` (those
    to one request of a mix) and integers;
    `unknown` (requests that may have happened) widens it when `may_exceed` is set: each as a good answer moves it.
    """

    id: str
    sentence: str
    sql: str
    equals: str
    may_exceed: bool = False

    @property
    def counts_answers(self) -> bool:
        """True if it speaks of good answers."""
        return "acknowledged" in self.equals or bool(GOOD.search(self.equals))


@dataclass(frozen=True)
class LedgerCheck:
    """Per account, `sql` (rows of account, value) must have moved by what the engine's ledger `name` says."""

    name: str
    sql: str


@dataclass(frozen=True)
class TableNeed:
    """The scans of a table that one good answer needs, and the rows that it reads and writes."""

    scans: float = 0.0
    rows: float = 0.0
    """Rows read; 0: the planner's choice of scan decides how many."""
    inserted: float = 0.0
    updated: float = 0.0
    deleted: float = 0.0
    also: tuple[str, ...] = ()
    """Other tables that a server may use in its place. What is done on them is added up with it."""


@dataclass(frozen=True)
class Needs:
    """The work of the database that one good answer needs. Counts are means, so that they may be fractions."""

    commits_per_answer: float = 0.0
    rows_per_answer: float = 0.0
    statements: tuple[str, ...] = ()
    """What one answer asks the database, each in all forms that servers send it in; how constants are given is no difference."""
    most_commits_per_answer: float | None = None
    """The most commits that an honest answer makes; None: a few times as many as it needs."""
    statements_per_answer: float = 1.0
    """How many of them one answer needs; more than 1 needs a transaction around them."""
    tables: Mapping[str, TableNeed] = field(default_factory=dict)
    functions: Mapping[str, float] = field(default_factory=dict)
    """Function → calls that one answer needs."""

    @property
    def most_written(self) -> float:
        """The rows of a declared table that one good answer inserts or updates, or deletes, at most.

        Below 1 some answers write nothing. An upsert inserts or updates its row, so that the two are added up.
        """
        return max((max(one.inserted + one.updated, one.deleted) for one in self.tables.values()), default=0.0)


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

    Where the answer says what was written, `holds` is a statement that is true once it is there: `:answer` in it is that answer,
    and `:name` what the request had in the slot `name`. `of` is the request that writes, in a mix.
    """

    slot: str = ""
    sql: str = ""
    own: OwnRows | None = None
    holds: str = ""
    of: str = ""


@dataclass(frozen=True)
class WriteHistory:
    """The rows of which the database keeps one for each write.

    `sql` selects two columns: an array of what the request had in its `slots`, and the row's `xmin`. `of` is the request that
    writes, in a mix.
    """

    slots: tuple[str, ...]
    sql: str
    of: str = ""


@dataclass(frozen=True)
class Audit:
    """The conditions that must hold in the database after a workload's trial."""

    writes: bool = False
    invariants: tuple[Invariant, ...] = ()
    ledgers: tuple[LedgerCheck, ...] = ()
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
class LoadRequest:
    """One kind of request of a workload, and the right answer to it. `path`, `body` and values of `headers` are templates."""

    name: str
    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    body: str | None = None
    expect: Expectation = Expectation(200)
    ledger: tuple[LedgerEntry, ...] = ()
    needs: Needs | None = None
    """What an answer needs of the database; None: nobody declares it, and answers are not held against its counters."""
    edges: tuple[Edge, ...] = ()
    weight: int = 1
    """How often it is sent, beside the weights of the others."""
    keep: Mapping[str, str] = field(default_factory=dict)
    """Name → place in the JSON of a good answer, such as `id`; other requests say `{REQUEST.NAME}`."""

    @property
    def need(self) -> Needs:
        """The needs of an answer, as far as they are declared."""
        return self.needs or Needs()

    @property
    def writes(self) -> bool:
        """True if each of its good answers is known to leave something in the database."""
        return bool(self.ledger) or self.need.most_written >= 1

    @property
    def writes_at_times(self) -> bool:
        """True if some of its good answers are known to leave nothing there, and others something."""
        return not self.writes and self.need.most_written > 0

    @property
    def templates(self) -> tuple[str, ...]:
        """Every text in which slots may stand: the path, the body, and the values of headers."""
        return (self.path, self.body or "", *(value for _, value in self.headers))

    def fill(self, values: Mapping[str, object]) -> LoadRequest:
        """The request with these values for its `$names`. Others stay."""

        def text(one: str) -> str:
            return fill_names(one, values)

        return replace(
            self,
            path=text(self.path),
            headers=tuple((name, text(value)) for name, value in self.headers),
            body=None if self.body is None else text(self.body),
            expect=replace(self.expect, body=fill_tree(self.expect.body, values)),
            edges=tuple(edge.fill(text) for edge in self.edges),
        )


@dataclass(frozen=True)
class Workload:
    """A load: what it asks, what the right answers are, and what must hold in the database afterwards."""

    id: str
    title: str
    why: str
    requests: tuple[LoadRequest, ...]
    """One, or a mix of several by their weights."""
    audit: Audit
    limit_sql: str | None
    """pgbench script of the same work, for the machine's ceiling; None: the null responder is the ceiling."""
    limited_by_locks: bool = False
    """Locks or deadlocks limit it, not the machine: what pgbench does with it is no ceiling."""
    errors_expected: tuple[int, ...] = ()
    """Statuses of failed requests that the workload is about: they are noted, and warn of nothing."""
    contract: Contract = NO_CONTRACT
    twin: str | None = None
    """The workload that does the same with its rows locked in one order; None: there is none."""
    fixed_rows: str | None = None
    """The reason why a larger scale gives it no more rows to choose from; None: it does."""
    pipeline: int = 1
    """So many requests are sent at once on each connection, and the next ones once all of their answers are there."""
    events: Mapping[WorkloadEvent, int] = field(default_factory=dict)
    """What its number depends on, and how often a window should hold it: windows of a run are as long as that takes."""
    data: Mapping[str, DataTable] = field(default_factory=dict)
    """The tables that its requests draw values from, by name, those first that others are asked for."""
    rows: Mapping[str, Rows] = field(default_factory=dict)
    """Their rows, once they were asked for: see `data`."""

    @property
    def is_mix(self) -> bool:
        """True if it has several requests."""
        return len(self.requests) > 1

    @property
    def first(self) -> LoadRequest:
        """Its only request; of a mix the one that is written first."""
        return self.requests[0]

    @property
    def uses_database(self) -> bool:
        """True if an answer is known to need the database."""
        needs = [one.need for one in self.requests]
        return any(one.commits_per_answer or one.statements or one.tables for one in needs)

    @property
    def tables_in_place(self) -> dict[str, str]:
        """Table → the one that it may stand for."""
        return {other: name for one in self.requests for name, table in one.need.tables.items() for other in table.also}

    def request(self, name: str) -> LoadRequest:
        """The request of this name; the first one where no name is given."""
        return next(one for one in self.requests if name in ("", one.name))

    def change(self, change: Callable[[LoadRequest], LoadRequest]) -> Workload:
        """The workload with each of its requests put through `change`."""
        return replace(self, requests=tuple(change(one) for one in self.requests))

    def fill(self, values: Mapping[str, object]) -> Workload:
        """The workload with these values for its `$names`: numbers of its data, or the paths of a server. Others stay."""

        def text(one: str) -> str:
            return fill_names(one, values)

        return replace(
            self.change(lambda one: one.fill(values)),
            audit=self.audit.fill(text),
            limit_sql=None if self.limit_sql is None else text(self.limit_sql),
            data={name: one.fill(values) for name, one in self.data.items()},
        )

    def without_comparisons(self, cases: Collection[str]) -> Workload:
        """The workload without those comparisons of bodies whose right body one of these cases would have found."""

        def comparable(one: LoadRequest) -> LoadRequest:
            rule = one.expect.body
            is_compared = rule is None or rule.get("verified") not in cases
            return one if is_compared else replace(one, expect=replace(one.expect, body=None))

        return self.change(comparable)
