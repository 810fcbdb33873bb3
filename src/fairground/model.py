"""The nouns of the lab, as frozen values. This module imports nothing of the lab and does nothing.

Words: a *server* is a codebase in `servers/`, a *stack* is a server started in one named variant, a *cell* is stack × workload ×
topology × load, a *trial* is one measurement of one cell. Unknown is None, never 0 or −1; units end names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

SCHEMA_VERSION = 1
"""Version of everything the lab writes as JSON; `store` reads this and all older ones."""

Number = int | float | None
Evidence = Mapping[str, int | float | str | None]


class LabError(Exception):
    """Wrong input, or something this machine lacks: one sentence for a person, never a traceback.

    `hint` is the command or edit that mends it; `exit_code` is 2 (wrong input) or 3 (nothing can be measured here).
    """

    def __init__(self, message: str, hint: str | None = None, exit_code: int = 2) -> None:
        super().__init__(message)
        self.message, self.hint, self.exit_code = message, hint, exit_code


# ---------------------------------------------------------------- what can be measured


@dataclass(frozen=True)
class Variant:
    """One named way to start a server."""

    name: str
    about: str
    env: Mapping[str, str] = field(default_factory=dict)


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


@dataclass(frozen=True)
class LedgerEntry:
    """Sum slot `add` (`-amount`: negative) per value of slot `account`, under `name`."""

    name: str
    account: str
    add: str


@dataclass(frozen=True)
class Expectation:
    """The right answer to a workload's request.

    `body` is None, {"exact": text}, {"json": rules} as in docs/engine-protocol.md, or {"verified": case id}: the body that
    the named contract case found right on this very server is then compared byte for byte.
    """

    status: int
    content_type: str | None
    body: Mapping[str, object] | None
    check_one_in: int


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
class Audit:
    """What must hold in the database after a workload's trial. Counters are per good answer."""

    writes: bool
    commits_per_answer: float
    rows_per_answer: float
    invariants: tuple[Invariant, ...] = ()
    ledgers: tuple[LedgerCheck, ...] = ()


@dataclass(frozen=True)
class Workload:
    """What one request asks, what the right answer is, and what must hold in the database afterwards."""

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

    @property
    def uses_database(self) -> bool:
        return self.audit.commits_per_answer > 0


# ---------------------------------------------------------------- how it is measured


class Durability(StrEnum):
    """`durable`: fsync and synchronous_commit on. `relaxed`: both off."""

    DURABLE = "durable"
    RELAXED = "relaxed"


@dataclass(frozen=True)
class Topology:
    """The path from generator to database. None: that hop does not exist."""

    proxy: str | None = None
    pooler: str | None = None

    @property
    def id(self) -> str:
        return "+".join(name for name in (self.proxy, self.pooler) if name) or "direct"


@dataclass(frozen=True)
class Load:
    """What the generator does. `model` is `closed` (`connections` at once) or `open` (`rate_per_s`)."""

    connections: int = 100
    keep_alive: bool = True
    window_s: float = 5.0
    warmup_min_s: float = 2.0
    warmup_max_s: float = 20.0
    timeout_ms: int = 10_000
    model: str = "closed"
    rate_per_s: float | None = None
    generator: str = "engine"
    threads: int = 1

    @property
    def id(self) -> str:
        close = "" if self.keep_alive else "-close"
        rate = f"-{self.rate_per_s:g}rps" if self.rate_per_s is not None else ""
        return f"c{self.connections}{rate}{close}"


@dataclass(frozen=True)
class Settings:
    """What every server of a run is given, and the database beneath it."""

    workers: int = 2
    pool_size: int = 25
    pool_wait_ms: int | None = None
    prepared: bool = True
    durability: Durability = Durability.RELAXED
    scale: int = 10


@dataclass(frozen=True)
class Cell:
    """stack × workload × topology × load, under `settings`; by id, so that it can be written down."""

    stack: str
    workload: str
    topology: Topology
    load: Load
    settings: Settings

    @property
    def id(self) -> str:
        return f"{self.stack} {self.workload} {self.topology.id} {self.load.id}"


@dataclass(frozen=True)
class Slot:
    """One place in a plan: a cell to be measured as trial `number` (from 1) in `block` (from 1)."""

    number: int
    block: int
    cell: Cell
    seed: int


@dataclass(frozen=True)
class Plan:
    """All slots of a run, in the order in which they will be measured; frozen before the first trial."""

    title: str
    seed: int
    blocks: int
    slots: tuple[Slot, ...]
    skipped: Mapping[str, str]
    """Stack or `stack workload` → why it is not in the plan."""
    command: str


# ---------------------------------------------------------------- what comes out


class Severity(StrEnum):
    NOTE = "note"
    WARN = "warn"
    VOID = "void"
    REJECT = "reject"


class Verdict(StrEnum):
    """Of a trial. VOID is the machine's or instrument's fault (retried, kept); REJECTED is the server's (a result)."""

    VALID = "valid"
    WARNED = "warned"
    VOID = "void"
    REJECTED = "rejected"


@dataclass(frozen=True)
class Finding:
    """A check's outcome: one sentence, and the numbers it rests on."""

    id: str
    severity: Severity
    sentence: str
    evidence: Evidence = field(default_factory=dict)


@dataclass(frozen=True)
class Outcomes:
    """What became of requests. A generator that cannot tell a kind apart leaves it None."""

    ok: int
    shed: int | None
    status: Mapping[int, int]
    """Unexpected statuses other than 503, by code."""
    wrong_body: int | None
    timeout: int | None
    connect: int | None
    reset: int | None
    malformed: int | None
    unsent: int | None
    in_flight: int | None

    @property
    def total(self) -> int:
        """All requests, whatever became of them."""
        return self.ok + self.not_ok

    @property
    def not_ok(self) -> int:
        kinds = (self.shed, self.wrong_body, self.timeout, self.connect, self.reset, self.malformed, self.unsent, self.in_flight)
        return sum(kind or 0 for kind in kinds) + sum(self.status.values())

    @property
    def unknown(self) -> int:
        """Requests that may or may not have been carried out by the server."""
        unexpected = sum(count for code, count in self.status.items() if code < 400)
        return sum(kind or 0 for kind in (self.wrong_body, self.timeout, self.reset, self.malformed, self.in_flight)) + unexpected


@dataclass(frozen=True)
class Latency:
    """A latency histogram and what is read from it, in µs; `v2` is HdrHistogram V2 deflate in base64."""

    count: int
    min_us: int | None
    mean_us: float | None
    max_us: int | None
    p50_us: int | None
    p90_us: int | None
    p99_us: int | None
    p999_us: int | None
    v2: str | None


@dataclass(frozen=True)
class Second:
    """One second of the window."""

    second: int
    ok: int
    not_ok: int
    p50_us: int | None
    p99_us: int | None
    max_us: int | None
    in_flight: int | None


@dataclass(frozen=True)
class LedgerRow:
    """What the engine sent to one account: acknowledged, and unknown (may have happened)."""

    acknowledged_count: int
    acknowledged_sum: int
    unknown_count: int
    unknown_sum: int


@dataclass(frozen=True)
class BadAnswer:
    """One of the first answers of a bad outcome, kept as evidence."""

    outcome: str
    status: int | None
    reason: str
    request: str
    body: str | None


@dataclass(frozen=True)
class Result:
    """What a generator reports of one trial, in one form for all generators. `window` counts requests sent inside the window."""

    generator: str
    command: tuple[str, ...]
    window_s: float
    window: Outcomes
    life: Outcomes | None
    """From the first request to the end of the drain, warm-up included."""
    completed: int | None
    completed_ok: int
    in_flight_start: int | None
    in_flight_end: int | None
    bytes_received: int | None
    bodies_checked: int | None
    latency_ok: Latency | None
    latency_all: Latency | None
    connect: Latency | None
    seconds: tuple[Second, ...]
    ledgers: Mapping[str, Mapping[str, LedgerRow]]
    samples: tuple[BadAnswer, ...]
    cpu_us: int | None
    busiest_thread_share: float | None

    @property
    def goodput_per_s(self) -> float:
        """Good answers a second that arrived inside the window; errors are never inside it. 0 when there was no window."""
        return self.completed_ok / self.window_s if self.window_s else 0.0


@dataclass(frozen=True)
class RoleUse:
    """What one role (server, proxy, pooler, database, generator) used inside the window."""

    cpu_us: float | None
    memory_peak_bytes: int | None
    threads_peak: int | None
    source: str
    """How CPU was read: `cgroup2`, `cgroup1` or `schedstat`."""


@dataclass(frozen=True)
class HostUse:
    """The machine over the window."""

    steal_share: float | None
    busy_share: float | None
    foreign_cpu_us: float | None
    """CPU used by processes that are none of our roles."""
    pressure_cpu_some_share: float | None
    tcp: Mapping[str, int]
    """Differences of the kernel's TCP counters (retransmits, listen drops, delayed ACKs, …)."""


@dataclass(frozen=True)
class DatabaseUse:
    """The database over the whole life of the trial's database (verification and load)."""

    commits: int | None
    rollbacks: int | None
    rows_read: int | None
    deadlocks: int | None
    wal_bytes: int | None
    connections_peak: int | None
    wait_events: Mapping[str, int]
    """Samples of `pg_stat_activity` in the window: wait event (or `running`, `idle`, `idle in transaction`) → backends seen."""
    wait_samples: int


@dataclass(frozen=True)
class AuditLine:
    """One line of the audit's arithmetic: `expected_min` ≤ `found` ≤ `expected_max` (None: no upper bound)."""

    id: str
    sentence: str
    found: int | float | None
    expected_min: int | float | None
    expected_max: int | float | None

    @property
    def holds(self) -> bool:
        if self.found is None or self.expected_min is None:
            return False
        return self.expected_min <= self.found and (self.expected_max is None or self.found <= self.expected_max)


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

    @property
    def goodput_per_s(self) -> float | None:
        """Good answers a second, or None where the trial has no number (void or rejected)."""
        if self.result is None or self.verdict in (Verdict.VOID, Verdict.REJECTED):
            return None
        return self.result.goodput_per_s

    def cpu_us_per_answer(self, role: str) -> float | None:
        """CPU of one role in µs per good answer inside the window."""
        use = self.roles.get(role)
        if self.result is None or use is None or use.cpu_us is None or self.result.completed_ok == 0:
            return None
        return use.cpu_us / self.result.completed_ok


@dataclass(frozen=True)
class Machine:
    """The fingerprint of the machine that a run was made on. None: this machine does not show it."""

    hostname_hash: str
    cpu_model: str | None
    cores: int
    memory_bytes: int | None
    kernel: str
    distribution: str | None
    virtualization: str | None
    cpu_governor: str | None
    clocksource: str | None
    limits: Mapping[str, str]
    """Kernel settings that matter (`net.core.somaxconn`, …) and the open-file limit."""


@dataclass(frozen=True)
class Limit:
    """What this machine can do at most on a workload: `source` is `null-responder` or `pgbench`."""

    workload: str
    source: str
    rate_per_s: float
    detail: str


@dataclass(frozen=True)
class StackInfo:
    """What a result says of the stack itself: words from the manifest, versions from the receipt."""

    id: str
    title: str
    language: str
    about: str
    homepage: str
    receipt: str | None
    unavailable: str | None
    content_hash: str | None


@dataclass(frozen=True)
class Run:
    """A finished or interrupted run, as `store` loads it."""

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
    limits: tuple[Limit, ...]
    finished: bool


@dataclass(frozen=True)
class Progress:
    """Where a trial is: its phase, seconds into it of how many, and (under load) the last second's good and other answers."""

    slot: Slot
    attempt: int
    phase: str
    elapsed_s: float = 0.0
    total_s: float | None = None
    ok: int | None = None
    not_ok: int | None = None
    p99_us: int | None = None


# ---------------------------------------------------------------- what a person asks for


@dataclass(frozen=True)
class SuiteGroup:
    """Stacks × workloads × loads under `settings`, by name.

    `stacks` holds stack ids, server ids (all variants), `all`, `first-variants` or `other-variants`; `workloads` ids or `all`.
    """

    stacks: tuple[str, ...]
    workloads: tuple[str, ...]
    loads: tuple[Load, ...]
    settings: Settings


@dataclass(frozen=True)
class Suite:
    """A parsed `suites/<id>.toml`: what to measure, and how often."""

    id: str
    title: str
    about: str
    blocks: int
    seed: int
    groups: tuple[SuiteGroup, ...]
