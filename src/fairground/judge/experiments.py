"""The experiments on reasons: the cell again, with one thing changed. Pure.

Each reason predicts something, and its experiment shows whether the reason is right.

A reason that counters name is a suspicion. What it names is changed here, and only that: a larger pool, a processor's time taken
away, the missing index. docs/reference/reasons.md has the same as a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from fairground.model import OWN_MAJOR, Cell, Durability, Evidence
from fairground.model.experiment import ArmChange, Direction, Experiment
from fairground.model.reason import (
    APP_CPU,
    APP_SERIAL,
    BACKLOG,
    CONNECT_PER_REQUEST,
    DB_COMMIT,
    DB_CPU,
    DB_LOCK,
    DEADLOCK,
    DELAYED_ACK,
    GENERATOR,
    MEMORY,
    POOL,
    POOLER,
    PORTS,
    PREPARED_STATEMENTS,
    PROXY_CPU,
    REASONS,
    THROTTLED,
    TOO_FEW_CONNECTIONS,
    WIRE,
    WIRE_CPU,
    Reason,
)

SLOWED = 0.25
"""The share of the server's CPU that is planted on it: a server that its CPU limits gives a fifth less."""
SHORT_DEADLOCK_MS = 50
MORE_ROWS = 10
TWIN, FIXED_ROWS = "twin", "fixed_rows"
"""What a workload says of itself, as evidence: the workload that locks its rows in one order, and why it has no more rows."""
UNLOCKED = (
    "CREATE SCHEMA unlocked",
    "GRANT USAGE ON SCHEMA unlocked TO PUBLIC",
    *(
        f"CREATE FUNCTION unlocked.pg_advisory_{name}({arguments}) RETURNS {returns} LANGUAGE sql AS '{body}'"
        for arguments in ("bigint", "integer, integer")
        for name, returns, body in (
            ("lock", "void", ""),
            ("xact_lock", "void", ""),
            ("unlock", "boolean", "SELECT true"),
        )
    ),
    "ALTER DATABASE {database} SET search_path = unlocked, pg_catalog, public",
)
"""Functions that stand before PostgreSQL's own of the same names, in the arm's own database."""

LOGIN_TRIGGERS, LOGIN_ROWS = 17, 20_000
DEAR_LOGIN = (
    "CREATE FUNCTION dear_login() RETURNS event_trigger LANGUAGE plpgsql AS"
    f" 'BEGIN PERFORM count(*) FROM generate_series(1, {LOGIN_ROWS}); END'",
    "CREATE EVENT TRIGGER dear_login ON login EXECUTE FUNCTION dear_login()",
)
"""Some milliseconds of the database for each connection, in the arm's own database."""

INDEXABLE = re.compile(r"[a-z_][a-z0-9_]*(\s*[+*-]\s*(\d+|\?)|::[a-z]+)?", re.IGNORECASE)
"""What may become an index: a column, one with a number added, or its cast. The text is the server's, so nothing else may."""
SOUGHT = re.compile(r"\bwhere\s+\(?\s*(?P<what>[^=<>()]+?)\s*=\s*(\$\d+|'|\d|\?)", re.IGNORECASE)

Make = Callable[[Cell, Evidence], "Experiment | str"]


def experiment(reason: str, cell: Cell, evidence: Evidence) -> Experiment | str:
    """The experiment on a reason that was said of a cell with this evidence; or a sentence that says why there is none."""
    if cell.load.model != "closed" or cell.load.generator != "engine" or cell.load.requests is not None:
        return "an experiment needs the engine's closed loop, and this cell has another load"
    if evidence.get("table"):
        return _unindexed(cell, evidence)
    known = REASONS[reason]
    return known.untested or EXPERIMENTS[known](cell, evidence)


# ---------------------------------------------------------------- load and settings


def _connections(cell: Cell, _: Evidence) -> Experiment:
    """Twice and four times the connections."""
    return _more(*(_with_connections(cell, times * cell.load.connections) for times in (2, 4)))


def _generator(cell: Cell, _: Evidence) -> Experiment | str:
    """Twice the threads of the generator, where its seat has room for them."""
    twice, seat = 2 * cell.load.threads, cell.settings.cores_of("generator")
    if seat is not None and len(seat) < twice:
        return "the generator has no more processors than threads: `--seats` gives them"
    words = f"with {twice} threads of the generator in place of {cell.load.threads}"
    return _more(ArmChange(f"{twice} threads", words, replace(cell, load=replace(cell.load, threads=twice))))


def _unprepared(cell: Cell, _: Evidence) -> Experiment | str:
    """The same statements without names."""
    if not cell.settings.prepared:
        return "the cell uses no named prepared statements already"
    words = "without named prepared statements"
    return _more(ArmChange("unprepared", words, replace(cell, settings=replace(cell.settings, prepared=False))))


def _with_connections(cell: Cell, connections: int) -> ArmChange:
    words = f"with {connections} connections in place of {cell.load.connections}"
    return ArmChange(f"{connections} connections", words, replace(cell, load=replace(cell.load, connections=connections)))


def _pool(cell: Cell, _: Evidence) -> Experiment:
    """Twice and four times the pool."""
    return _more(*(_with_pool(cell, times * cell.settings.pool_size) for times in (2, 4)))


def _with_pool(cell: Cell, size: int) -> ArmChange:
    words = f"with a pool of {size} in place of {cell.settings.pool_size}"
    return ArmChange(f"pool of {size}", words, replace(cell, settings=replace(cell.settings, pool_size=size)))


def _throttled(cell: Cell, _: Evidence) -> Experiment | str:
    """Twice the quota."""
    if cell.settings.cpus is None:
        return "the cell has no CPU quota that could be doubled"
    twice = 2 * cell.settings.cpus
    words = f"with {twice:g} CPUs in place of {cell.settings.cpus:g}"
    return _more(ArmChange(f"{twice:g} CPUs", words, replace(cell, settings=replace(cell.settings, cpus=twice))))


def _memory(cell: Cell, _: Evidence) -> Experiment | str:
    """Twice the memory."""
    if cell.settings.memory_mb is None:
        return "the cell has no memory limit that could be doubled"
    twice = 2 * cell.settings.memory_mb
    words = f"with {twice:,} MB in place of {cell.settings.memory_mb:,} MB"
    return _more(ArmChange(f"{twice} MB", words, replace(cell, settings=replace(cell.settings, memory_mb=twice))))


def _kept_open(cell: Cell, _: Evidence) -> Experiment | str:
    """The same requests on connections that stay open."""
    if cell.load.keep_alive:
        return "the cell keeps its connections open already"
    return _more(
        ArmChange("keep-alive", "with connections that stay open", replace(cell, load=replace(cell.load, keep_alive=True)))
    )


def _server_cpu(cell: Cell, _: Evidence) -> Experiment:
    """A slowdown on purpose: what the server's CPU limits falls by as much, and what something else limits does not."""
    words = f"with {SLOWED * 100:.0f} % more CPU spent by the server on purpose"
    return Experiment(Direction.LESS, (ArmChange("slowed", words, cell, planted=SLOWED),))


def _thread_cpu(cell: Cell, evidence: Evidence) -> Experiment | str:
    """One worker more. A server of one core is slowed: on several, another than that of its full thread would be used up.

    Some servers do not share their work out, however many workers they are told to have: no gain refutes nothing.
    """
    cores = cell.settings.cores_of("server")
    if cores is not None and len(cores) == 1:
        return _server_cpu(cell, evidence)
    more = cell.settings.workers + 1
    if cores is not None and more > len(cores):
        return "the server has a worker for each of its cores already, and one of its threads is full all the same"
    words = f"with {more} workers in place of {cell.settings.workers}"
    change = ArmChange(f"{more} workers", words, replace(cell, settings=replace(cell.settings, workers=more)))
    return Experiment(Direction.MORE, (change,), refutes=False)


# ---------------------------------------------------------------- database


def _database_cpu(cell: Cell, evidence: Evidence) -> Experiment | str:
    """A slowdown on purpose on the database's processors while this server is at work.

    It takes `SLOWED` of what the database uses. It is told as a share of the server's CPU, which each arm has for itself: the
    database is one for all arms.
    """
    server, database = (float(evidence.get(f"{role}_cores") or 0.0) for role in ("server", "database"))
    if not server or not database:
        return "what the server and the database use is not known from its trials"
    words = f"with {SLOWED * 100:.0f} % more CPU spent on the database's processors on purpose"
    change = ArmChange("slowed", words, cell, planted=SLOWED * database / server, slowed="database")
    return Experiment(Direction.LESS, (change,))


def _deadlock(cell: Cell, evidence: Evidence) -> Experiment:
    """The twin of the workload, which locks its rows in one order; of others a database that looks for deadlocks sooner.

    One change alone: a deadlock is rare, so that windows must be long, and three starts of two arms fill a minute.
    """
    sooner = ArmChange(
        "sooner",
        f"with a deadlock_timeout of {SHORT_DEADLOCK_MS} ms",
        cell,
        (f"ALTER DATABASE {{database}} SET deadlock_timeout = '{SHORT_DEADLOCK_MS}ms'",),
    )
    return _more(*(_in_order(cell, evidence) or (sooner,)))


def _row_locks(cell: Cell, evidence: Evidence) -> Experiment | str:
    """More rows to choose from, so that two seldom want the same one; of advisory locks, functions that lock nothing."""
    if evidence.get("waiting_for_advisory_locks"):
        return _more(
            ArmChange("no advisory lock", "without advisory locks: functions of their names lock nothing", cell, UNLOCKED)
        )
    if evidence.get(FIXED_ROWS):
        return f"{evidence[FIXED_ROWS]}, so that there are no more rows to choose from"
    scale = MORE_ROWS * cell.settings.scale
    words = f"with scale {scale} in place of {cell.settings.scale}, ten times the rows"
    return _more(ArmChange(f"scale {scale}", words, replace(cell, settings=replace(cell.settings, scale=scale))))


def _in_order(cell: Cell, evidence: Evidence) -> tuple[ArmChange, ...]:
    if not (twin := evidence.get(TWIN)):
        return ()
    return (ArmChange("ordered", "with its rows locked in one order", replace(cell, workload=str(twin))),)


def _commit(cell: Cell, _: Evidence) -> Experiment | str:
    """Commits that do not wait for the disk."""
    if cell.settings.durability is not Durability.DURABLE:
        return "commits do not wait for the disk in this durability class"
    statement = "ALTER DATABASE {database} SET synchronous_commit = off"
    return _more(ArmChange("no wait", "with commits that do not wait for the disk", cell, (statement,)))


def _unindexed(cell: Cell, evidence: Evidence) -> Experiment | str:
    """The index that the statement lacks, made on the arm's own copy of the data."""
    table, statement = str(evidence.get("table")), str(evidence.get("statement", ""))
    found = SOUGHT.search(statement)
    if found is None or not INDEXABLE.fullmatch(found["what"]) or not re.fullmatch(r"[a-z_][a-z0-9_]*", table):
        return f"the statement that reads `{table}` whole was not seen, or it seeks what no plain index holds"
    what = " ".join(found["what"].split())
    what = what.replace("* ?", "* 1").replace("?", "0")  # statements are kept without their numbers: one that changes nothing
    index = f"CREATE INDEX ON {table} (({what}))"
    return _more(ArmChange("indexed", f"with an index on {table} ({what})", cell, (index, f"ANALYZE {table}")))


def _dear_login(cell: Cell, _: Evidence) -> Experiment | str:
    """Connections that cost the database more: who opens them all the time loses by it, and who keeps them does not.

    A pooler is no experiment: the server connects to it as often, and what a connection costs the server stays.
    """
    if (cell.settings.postgres_version or OWN_MAJOR) < LOGIN_TRIGGERS:
        return f"it needs triggers on login, which PostgreSQL has from {LOGIN_TRIGGERS} on"
    words = f"with {LOGIN_ROWS:,} rows counted by the database at each login"
    return Experiment(Direction.LESS, (ArmChange("dear logins", words, cell, DEAR_LOGIN),))


# ---------------------------------------------------------------- hops


def _delayed_ack(cell: Cell, _: Evidence) -> Experiment | str:
    """A connection for each request: Linux acknowledges the first segments of one at once.

    A proxy in front is none: its kernel delays the acknowledgements of the server's answers as well.
    """
    if not cell.load.keep_alive:
        return "each request has a connection of its own already"
    afresh = replace(cell, load=replace(cell.load, keep_alive=False))
    return _more(ArmChange("new connections", "with a connection for each request, acknowledged at once while it is new", afresh))


def _without_proxy(cell: Cell, _: Evidence) -> Experiment:
    return _more(ArmChange("no proxy", "without the proxy", replace(cell, topology=replace(cell.topology, proxy=None))))


def _without_pooler(cell: Cell, _: Evidence) -> Experiment:
    return _more(ArmChange("no pooler", "without the pooler", replace(cell, topology=replace(cell.topology, pooler=None))))


def _without_wire(cell: Cell, _: Evidence) -> Experiment | str:
    """No distance: what waits for round trips gives more."""
    if cell.topology.wire is None:
        return "the cell has no wire that could be taken away"
    return _more(ArmChange("no wire", "without the wire", replace(cell, topology=replace(cell.topology, wire=None))))


def _more(*changes: ArmChange) -> Experiment:
    return Experiment(Direction.MORE, changes)


EXPERIMENTS: Mapping[Reason, Make] = {
    TOO_FEW_CONNECTIONS: _connections,
    POOL: _pool,
    THROTTLED: _throttled,
    GENERATOR: _generator,
    PREPARED_STATEMENTS: _unprepared,
    MEMORY: _memory,
    PORTS: _kept_open,
    BACKLOG: _kept_open,
    APP_CPU: _server_cpu,
    APP_SERIAL: _thread_cpu,
    DB_CPU: _database_cpu,
    DEADLOCK: _deadlock,
    DB_LOCK: _row_locks,
    DB_COMMIT: _commit,
    DELAYED_ACK: _delayed_ack,
    CONNECT_PER_REQUEST: _dear_login,
    PROXY_CPU: _without_proxy,
    POOLER: _without_pooler,
    WIRE: _without_wire,
    WIRE_CPU: _without_wire,
}
"""Reason → what makes its experiment."""
