"""The reasons that can limit a number: one table, which the judge, the pages, `why` and the reference read.

A reason is named in one place, here. Counters that name it are read in `judge`, and the pages say its meaning.
`docs/reference/reasons.md` is written from this table by `make reference`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fairground.model.experiment import Direction
from fairground.model.result import Finding, Severity


@dataclass(frozen=True)
class Prediction:
    """The change of an experiment, and where goodput goes with it if the reason is right.

    `when` says on which cells it is made, where a reason has several.
    """

    change: str
    goodput: Direction
    when: str = ""


@dataclass(frozen=True)
class Reason:
    """A limit that can be named for a number.

    `meaning` says it to somebody who never saw the id; `sign` says which counters name it. In a sign `{locked:%}` stands for
    the bound `locked` of `thresholds.toml`, as a percentage.
    """

    id: str
    meaning: str
    sign: str
    predictions: tuple[Prediction, ...] = ()
    """The experiments on it; empty where `untested` says why there is none."""
    untested: str = ""
    role: str | None = None
    """The role whose processors are full."""
    waits: bool = False
    """Everybody waits for it, so that stretches without an answer are its consequence."""
    alone: bool = False
    """What it leaves of the processors' time is its consequence, so that no other reason is named beside it."""

    def finding(self, sentence: str, severity: Severity = Severity.NOTE, /, **evidence: int | float | str | None) -> Finding:
        """Make the finding that names it."""
        return Finding(self.id, severity, sentence, evidence)


def _rises(change: str, when: str = "") -> tuple[Prediction, ...]:
    return (Prediction(change, Direction.MORE, when),)


def _falls(change: str, when: str = "") -> tuple[Prediction, ...]:
    return (Prediction(change, Direction.LESS, when),)


PREPARED_STATEMENTS = Reason(
    "prepared-statements",
    "the pooler mixes up prepared statements",
    "a pooler mixes up named statements: the drivers' own errors say so, and so many requests failed that it rejects",
    _rises("no named prepared statements"),
    waits=True,
)

# ---------------------------------------------------------------- waiting

PORTS = Reason(
    "ports",
    "ports of the client run out",
    "connections failed for want of a local port",
    _rises("connections that stay open"),
    waits=True,
    alone=True,
)
DELAYED_ACK = Reason(
    "delayed-ack",
    "packets wait for a delayed acknowledgement",
    "the median is {delayed_ack_from_us:ms}–{delayed_ack_to_us:ms} ms, three quarters take no longer, and the kernel"
    " delayed at least {delayed_ack_share:g} acknowledgements for each answer; neither full processors nor wires explain it",
    _rises("a connection for each request: Linux acknowledges at once while one is new"),
    waits=True,
    alone=True,
)
DEADLOCK = Reason(
    "deadlock",
    "transactions lock each other out",
    "{locked:%} of the busy backends waited for a lock, and deadlocks held theirs for {deadlocked:%} of the window",
    (
        *_rises("its rows locked in one order", "where the workload has such a twin"),
        *_rises("a `deadlock_timeout` of 50 ms", "elsewhere"),
    ),
    waits=True,
    alone=True,
)
DB_LOCK = Reason(
    "db-lock",
    "requests wait for the same lock",
    "{locked:%} of the busy backends waited for a lock, with fewer deadlocks or none; the finding says which kind of lock",
    (
        *_rises("ten times the rows, where a larger scale gives them"),
        *_rises("functions of the locks' names that lock nothing", "of advisory locks"),
    ),
    waits=True,
)
DB_COMMIT = Reason(
    "db-commit",
    "requests wait for the commit to reach the disk",
    "{committing:%} of the busy backends waited for the write-ahead log",
    _rises("commits that do not wait for the disk"),
    waits=True,
)
BACKLOG = Reason(
    "backlog",
    "connections wait to be accepted",
    "connections were dropped by a full listen queue, some took {retry_us:s} s and more, and such waits took {backlogged:%} of"
    " the connections' time",
    _rises("connections that stay open"),
    waits=True,
    alone=True,
)
STOPPED = Reason(
    "stopped",
    "something stops the server again and again",
    "a signal had stopped the server's process in {stopped:%} of the looks at it",
    untested="who stops it is not the lab's to change",
    waits=True,
    alone=True,
)
CONNECT_PER_REQUEST = Reason(
    "connect-per-request",
    "each request opens a connection",
    "at least {connects:g} connections to the database were opened for each answer",
    _falls("20,000 rows counted by the database at each login (PostgreSQL 17 and later)"),
)

# ---------------------------------------------------------------- work

MEMORY = Reason(
    "memory",
    "memory is short",
    "the server was at {memory_full:%} of its memory limit",
    _rises("twice the memory"),
    waits=True,
)
THROTTLED = Reason(
    "throttled",
    "the CPU quota is used up",
    "the server filled its CPU quota, or was out of it in {throttled:%} of the periods",
    _rises("twice the quota"),
    waits=True,
)
GENERATOR = Reason(
    "generator",
    "the load generator is full, not the stack",
    "its busiest thread was over {thread_full:%} busy while the server had a core left",
    _rises("twice its threads"),
)
APP_CPU = Reason(
    "app-cpu",
    "the server's processors are full",
    "the cores were {cores_full:%} full, and the server used most of them. With pinned roles the cores are the role's own, or"
    " those that it shares",
    _falls("a quarter more CPU spent by the server on purpose"),
    role="server",
)
DB_CPU = Reason(
    "db-cpu",
    "the database's processors are full",
    "the same of the database. The finding names the statement that took most of its time, and a table that is read whole",
    (
        *_falls("a quarter more CPU spent on the database's processors on purpose, while this server is at work"),
        *_rises("the index that the statement lacks", "of a table that is read whole"),
    ),
    role="database",
)
PROXY_CPU = Reason(
    "proxy-cpu", "the proxy's processors are full", "the same of the proxy", _rises("no proxy"), role="proxy",
)  # fmt: skip
POOLER = Reason(
    "pooler",
    "the pooler's processors are full",
    "the same of the pooler; PgBouncer is one thread",
    _rises("no pooler"),
    role="pooler",
)
WIRE_CPU = Reason(
    "wire-cpu",
    "the lab's own wire is full, not the stack",
    "the same of the wire, which is a thread for each of its sides",
    _rises("no wire"),
    role="wire",
)
APP_SERIAL = Reason(
    "app-serial",
    "one thread of the server is full",
    "one thread of the server was {thread_full:%} busy while the machine had time left",
    (
        *_falls("a quarter more CPU spent by the server on purpose", "of a server with one core"),
        *_rises(
            "one worker more; no gain refutes nothing, since some servers do not share their work out",
            "of a server with several cores",
        ),
    ),
)

# ---------------------------------------------------------------- idleness

WIRE = Reason(
    "wire",
    "the distance takes the time, not the work",
    "{on_wire:%} of the requests under way travelled to the server. Or {on_wire:%} of the connections that they held were silent,"
    " with at least {on_wire_trips:g} round trips to the database for each answer (`--wire`, Little's law). The machine and each"
    " seat were {idle_cores:%} full at most",
    _rises("no wire"),
)
POOL = Reason(
    "pool",
    "requests wait for a connection of the pool",
    "{pool_busy:%} of the pool's connections were at work, requests waited for them, and the machine was not {cores_full:%} full",
    _rises("twice and four times the pool"),
)
SMALL_POOL = Reason(
    "small-pool",
    "the server's pool is smaller than it may be",
    "the same, where the server never held {pool_busy:%} of the connections that its pool size allows",
    untested="the server does not follow its pool size, so the lab cannot give it a larger pool",
)
IDLE_TRANSACTION = Reason(
    "idle-transaction",
    "connections are held in transactions while nothing is asked",
    "the same, where {pool_kept:%} of the connections in use were idle in a transaction",
    untested="what a server does within its transactions is not the lab's to change",
)
POOL_LEAK = Reason(
    "pool-leak",
    "connections of the pool do not come back",
    "the same, where {pool_unused:%} of the connections held were idle for a second while requests waited",
    untested="what a server does not give back is not the lab's to change",
)
TOO_FEW_CONNECTIONS = Reason(
    "too-few-connections",
    "too few requests are under way at once",
    "a closed loop on a machine {idle_cores:%} full at most, explained by Little's law: a suspicion under one load, see below",
    _rises("twice and four times the connections"),
)
SERIALISED = Reason(
    "serialised",
    "the server takes one request after the other",
    "the same, where the run holds the cell with more or fewer connections, more gave no more, and no other limit held them",
    untested="two loads have shown it already: more connections gave no more",
)

REASONS: Mapping[str, Reason] = {
    one.id: one
    for one in (
        PREPARED_STATEMENTS, PORTS, DELAYED_ACK, DEADLOCK, DB_LOCK, DB_COMMIT, BACKLOG, STOPPED, CONNECT_PER_REQUEST, MEMORY,
        THROTTLED,
        GENERATOR, APP_CPU, DB_CPU, PROXY_CPU, POOLER, WIRE_CPU, APP_SERIAL, WIRE, POOL,
        SMALL_POOL, IDLE_TRANSACTION, POOL_LEAK, TOO_FEW_CONNECTIONS, SERIALISED,
    )
}  # fmt: skip
"""All reasons that a trial or a run can have, by id, in the order in which they are looked for."""
OF_ROLE: Mapping[str, Reason] = {one.role: one for one in REASONS.values() if one.role is not None}
"""Role → the reason that it has no processor left."""
