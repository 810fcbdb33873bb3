"""Name what limited a trial: from its counters to reasons with their evidence and, where there is one, the fix. Pure.

Waiting is looked at before work: a lock that holds half of the backends limits a server whatever the processors do meanwhile.
Work is looked at before idleness: only where no processor was full and nobody waited can the connections have been too few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from fairground.judge import connecting, distance, statements
from fairground.judge.thresholds import Reasons
from fairground.model import Cell, DatabaseUse, Finding, HostUse, Result, RoleUse
from fairground.model.reason import (
    APP_SERIAL,
    BACKLOG,
    CONNECT_PER_REQUEST,
    DB_COMMIT,
    DB_LOCK,
    DEADLOCK,
    DELAYED_ACK,
    GENERATOR,
    MEMORY,
    OF_ROLE,
    POOL,
    PORTS,
    REASONS,
    THROTTLED,
    TOO_FEW_CONNECTIONS,
    WIRE,
)

STATEMENT_CHARACTERS = 120
ONE_THREAD = ("pgbouncer-session", "pgbouncer-tx")


@dataclass(frozen=True)
class TrialCounters:
    """A trial's counters, what is read off them (`used` are processors by role), and from where on they explain something."""

    cell: Cell
    result: Result
    roles: Mapping[str, RoleUse]
    host: HostUse | None
    database: DatabaseUse | None
    cores: int
    at: Reasons
    whole: statements.ReadWhole | None = None
    """A table that is read whole for each answer."""

    @property
    def used(self) -> Mapping[str, float]:
        window_us = self.result.window_s * 1e6
        return {role: use.cpu_us / window_us for role, use in self.roles.items() if use.cpu_us is not None}

    @property
    def used_here(self) -> Mapping[str, float]:
        """Processors that each role used, of the roles that were on the lab's machine."""
        return {role: used for role, used in self.used.items() if self.roles[role].host is None}

    def cores_for(self, role: str) -> int:
        """The cores of the machine that a role was on."""
        use = self.roles.get(role)
        return self.cores if use is None or use.cores is None else use.cores

    @property
    def given(self) -> float:
        """Share of a processor's time that the hypervisor left to this machine: nothing can be fuller than that."""
        return 1.0 - ((self.host.steal_share or 0.0) if self.host else 0.0)

    @property
    def cores_full(self) -> float:
        """The share of the window from which on processors count as full."""
        return self.at.cores_full * self.given

    @property
    def thread_full(self) -> float:
        """The share of the window from which on a thread has no time left."""
        return self.at.thread_full * self.given

    @property
    def full(self) -> bool:
        return sum(self.used_here.values()) >= self.cores_full * self.cores

    @property
    def idle(self) -> bool:
        """True if the machine, each seat and the generator had time left for clearly more work."""
        away = [(used, self.roles[role].cores) for role, used in self.used.items() if role not in self.used_here]
        return (
            sum(self.used_here.values()) < self.at.idle_cores * self.cores
            and all(cores is None or used < self.at.idle_cores * cores for used, cores in away)
            and all(sum(used.values()) < self.at.idle_cores * len(cores) for cores, used in self.seats)
            and (self.result.busiest_thread_share or 0.0) < self.at.generator_idle
        )

    @property
    def seats(self) -> list[tuple[frozenset[int], dict[str, float]]]:
        """Cores that roles are pinned to, with the processors that each of the roles used; those that overlap stand together."""
        found: list[tuple[frozenset[int], dict[str, float]]] = []
        for role, cores in self.cell.settings.pin:
            if role in self.used:
                meets = [one for one in found if one[0] & set(cores)]
                found = [one for one in found if one not in meets]
                roles = {name: used for _, some in meets for name, used in some.items()}
                found.append((frozenset(cores).union(*(own for own, _ in meets)), {**roles, role: self.used[role]}))
        return found

    @property
    def busy_backends(self) -> int:
        """Samples of backends that were not idle."""
        return 0 if self.database is None else sum(n for event, n in self.database.wait_events.items() if event != "idle")

    def share_waiting(self, *prefixes: str) -> float:
        """Share of the busy backends' samples whose wait event begins with one of `prefixes`."""
        if self.database is None or not self.busy_backends:
            return 0.0
        return sum(n for event, n in self.database.wait_events.items() if event.startswith(prefixes)) / self.busy_backends

    def tcp(self, name: str) -> int | None:
        return None if self.host is None else self.host.tcp.get(name)


def limits(
    cell: Cell,
    result: Result,
    roles: Mapping[str, RoleUse],
    host: HostUse | None,
    database: DatabaseUse | None,
    cores: int,
    at: Reasons,
    whole: statements.ReadWhole | None = None,
) -> tuple[Finding, ...]:
    """The named reasons that limited a trial, strongest first; none where nothing that was measured explains it.

    Reasons of one kind exclude each other; of waiting and work both are said when both fit.
    """
    counters = TrialCounters(cell, result, roles, host, database, cores, at, whole)
    waiting = _first(counters, _ports, _delayed_ack, _locks, _commits, _backlog, _connects)
    work = _first(counters, _memory, _bound, _generator, _cores, _one_thread)
    found = tuple(reason for reason in (waiting, work) if reason is not None)
    if waiting is not None and REASONS[waiting.id].alone:
        found = (waiting,)
    return found or tuple(_idleness(counters))


def _first(counters: TrialCounters, *reasons: Callable[[TrialCounters], Iterator[Finding]]) -> Finding | None:
    """The finding of the first of these reasons that fits."""
    return next((found for reason in reasons for found in reason(counters)), None)


def _idleness(counters: TrialCounters) -> Iterator[Finding]:
    """The limit of a trial in which nobody waited for a lock and no processor was full."""
    found = _first(counters, _wire, _pool, _connections)
    if found is not None:
        yield found


# ---------------------------------------------------------------- waiting


def _ports(counters: TrialCounters) -> Iterator[Finding]:
    """A lack of ephemeral ports: the kernel refuses to open a connection before a packet is sent."""
    failed = counters.result.window.connect or 0
    if failed and any(sample.wanted_a_port for sample in counters.result.samples):
        yield PORTS.finding(
            f"{failed:,} connections could not be opened because no local port was free: "
            "keep connections open, or use more addresses",
            connect_errors=failed,
        )


def _delayed_ack(counters: TrialCounters) -> Iterator[Finding]:
    """Answers that take 40 ms while the kernel delays acknowledgements: head and body went out apart, without TCP_NODELAY."""
    latency, at = counters.result.latency_ok, counters.at
    delayed = counters.tcp("TcpExtDelayedACKs")
    if latency is None or latency.p50_us is None or delayed is None or counters.result.completed_ok == 0:
        return
    slow = at.delayed_ack_from_us <= latency.p50_us <= at.delayed_ack_to_us
    if slow and delayed >= at.delayed_ack_share * counters.result.completed_ok:
        yield DELAYED_ACK.finding(
            f"half of the answers took {latency.p50_us / 1000:.1f} ms or more while the kernel held back {delayed:,}"
            " acknowledgements: the server writes an answer in two parts without TCP_NODELAY",
            p50_us=latency.p50_us,
            delayed_acks=delayed,
            answers=counters.result.completed_ok,
        )


def _locks(counters: TrialCounters) -> Iterator[Finding]:
    locked = counters.share_waiting("Lock:")
    if counters.database is None or locked < counters.at.locked:
        return
    deadlocks = counters.database.deadlocks
    evidence = {"waiting_for_locks": locked, "deadlocks": deadlocks, "samples": counters.database.wait_samples}
    if deadlocks:
        yield DEADLOCK.finding(
            f"{locked:.0%} of the busy backends waited for a row lock, and {deadlocks:,} deadlocks each held their rows until the"
            " database noticed (deadlock_timeout, 1 s): lock rows in one order",
            **evidence,
        )
    else:
        advisory = counters.share_waiting("Lock:advisory")
        what = "an advisory lock" if 2 * advisory > locked else "a row lock"
        evidence |= {"waiting_for_advisory_locks": advisory} if 2 * advisory > locked else {}
        yield DB_LOCK.finding(f"{locked:.0%} of the busy backends waited for {what} that another held", **evidence)


def _commits(counters: TrialCounters) -> Iterator[Finding]:
    waiting = counters.share_waiting("IO:WAL", "IO:Wal", "LWLock:WALWrite")
    if waiting >= counters.at.committing:
        yield DB_COMMIT.finding(
            f"{waiting:.0%} of the busy backends waited for the write-ahead log to reach the disk",
            waiting_for_wal=waiting,
        )


def _backlog(counters: TrialCounters) -> Iterator[Finding]:
    dropped = (counters.tcp("TcpExtListenDrops") or 0) + (counters.tcp("TcpExtListenOverflows") or 0)
    connect = counters.result.connect or counters.result.latency_ok
    longest = None if connect is None else connect.max_us
    if dropped and longest is not None and longest >= counters.at.retry_us:
        yield BACKLOG.finding(
            f"the kernel dropped {dropped:,} connections that the server had not accepted yet, and each was tried again after 1 s"
            " or 3 s: listen with a longer backlog, and accept more at once",
            dropped=dropped,
            longest_us=longest,
        )


def _connects(counters: TrialCounters) -> Iterator[Finding]:
    opened = None if counters.database is None else counters.database.sessions
    answers = (counters.result.life or counters.result.window).ok
    if (
        opened is not None
        and answers
        and opened >= counters.at.connects * answers
        and opened > counters.at.connects_pools * counters.cell.settings.pool_total
    ):
        yield CONNECT_PER_REQUEST.finding(
            f"{opened:,} connections to the database were opened for {answers:,} answers: keep them in a pool",
            opened=opened,
            answers=answers,
        )


# ---------------------------------------------------------------- work


def _memory(counters: TrialCounters) -> Iterator[Finding]:
    allowed = counters.cell.settings.memory_mb
    use = counters.roles.get("server")
    if allowed is None or use is None or use.memory_peak_bytes is None:
        return
    if use.memory_peak_bytes >= counters.at.memory_full * allowed * 1e6:
        yield MEMORY.finding(
            f"the server used {use.memory_peak_bytes / 1e6:,.0f} MB of the {allowed:,} MB that it may use",
            peak_bytes=use.memory_peak_bytes,
            allowed_mb=allowed,
        )


def _bound(counters: TrialCounters) -> Iterator[Finding]:
    """Whoever filled what it alone may use of the processors, or what it has together with others; the fullest first."""
    found = [*_filled_roles(counters), *_filled_seats(counters)]
    yield from (reason for _, reason in sorted(found, key=lambda one: -one[0]))


def _filled_roles(counters: TrialCounters) -> Iterator[tuple[float, Finding]]:
    """Roles that filled their quota, their cores, or the one thread that they are, and how full that was."""
    for role, reason in OF_ROLE.items():
        cores, away = counters.cores_for(role), role in counters.used and role not in counters.used_here
        allowed = min(len(counters.cell.settings.cores_of(role) or ()) or cores, cores, _threads(counters.cell, role) or cores)
        quota = counters.cell.settings.cpus if role == "server" else None
        bound = allowed if quota is None else min(allowed, quota)
        used, use = counters.used.get(role, 0.0), counters.roles.get(role)
        throttled = (_throttled_share(use) or 0.0) >= counters.at.throttled
        if (bound < cores or away) and (used >= counters.cores_full * bound or throttled):
            yield (
                max(used / bound, float(throttled)),
                (THROTTLED if bound == quota else reason).finding(
                    f"the {role} used {used:.2f} of {_cores_named(bound)} that it may use{_spent_on(counters, role)}",
                    cores=round(used, 3),
                    allowed=bound,
                    throttled_periods=None if use is None else use.throttled_periods,
                    **_statement(counters, role),
                ),
            )


def _threads(cell: Cell, role: str) -> int | None:
    """The threads that a hop is; None for what can have as many as it likes."""
    if role == "wire" and cell.topology.wire is not None:
        return len(cell.topology.wire.sides)
    return 1 if role == "pooler" and cell.topology.pooler in ONE_THREAD else None


def _filled_seats(counters: TrialCounters) -> Iterator[tuple[float, Finding]]:
    """Cores that several pinned roles filled together, or the generator its own: the role that used most of them is named."""
    for cores, used in counters.seats:
        total, most = sum(used.values()), max(used, key=lambda role: used[role])
        known = len(used) == 1 and most in OF_ROLE  # `_filled_roles` says more of it
        if not known and len(cores) < counters.cores and total >= counters.cores_full * len(cores):
            together = " and ".join(used) if len(used) > 1 else f"the {most}"
            yield (
                total / len(cores),
                OF_ROLE.get(most, GENERATOR).finding(
                    f"{together} used {total:.2f} of the {len(cores)} cores that they are pinned to, the {most} {used[most]:.2f}"
                    f"{_spent_on(counters, most)}",
                    **{f"{role}_cores": round(cores_used, 3) for role, cores_used in used.items()},
                    allowed=len(cores),
                    **_statement(counters, most),
                ),
            )


def _throttled_share(use: RoleUse | None) -> float | None:
    if use is None or not use.periods or use.throttled_periods is None:
        return None
    return use.throttled_periods / use.periods


def _generator(counters: TrialCounters) -> Iterator[Finding]:
    share = counters.result.busiest_thread_share
    settings = counters.cell.settings
    allowed = min(settings.workers, len(settings.cores_of("server") or ()) or counters.cores, counters.cores)
    room = counters.used.get("server", 0.0) < counters.cores_full * allowed
    if share is not None and share > counters.thread_full and room:
        yield GENERATOR.finding(
            f"the generator was the limit: its busiest thread was {share:.0%} busy",
            busiest_thread_share=share,
        )


def _cores(counters: TrialCounters) -> Iterator[Finding]:
    most = max((role for role in counters.used_here if role in OF_ROLE), key=lambda role: counters.used[role], default=None)
    if most is not None and counters.full:
        yield OF_ROLE[most].finding(
            f"the {counters.cores} cores were full, and the {most} used {counters.used[most]:.2f} of them"
            f"{_spent_on(counters, most)}",
            **{f"{role}_cores": round(cores_used, 3) for role, cores_used in counters.used_here.items()},
            **_statement(counters, most),
        )


def _cores_named(count: float) -> str:
    """`the one core`, `the 1.5 cores`."""
    return "the one core" if count == 1 else f"the {count:g} cores"


def _spent_on(counters: TrialCounters, role: str) -> str:
    """Say what took the database's time, as the end of a sentence. Nothing for other roles, or where nobody saw it."""
    if role != "database":
        return ""
    found = statements.busiest(counters.database) if counters.database is not None else None
    said = "" if found is None else f"; {found[1]:.0%} of its time went to `{found[0][:STATEMENT_CHARACTERS]}`"
    opened = connecting.connecting_cost(counters.cell, counters.result, counters.roles, counters.database, counters.at)
    return said + "".join(f"; {found.sentence}" for found in (counters.whole, opened) if found is not None)


def _statement(counters: TrialCounters, role: str) -> dict[str, int | float | str | None]:
    """The evidence for what took the database's time."""
    found = statements.busiest(counters.database) if role == "database" and counters.database is not None else None
    told: dict[str, int | float | str | None] = {}
    if found is not None:
        told |= {"statement": found[0], "statement_share": round(found[1], 3)}
    if role == "database" and counters.whole is not None:
        told |= {"table": counters.whole.table, "rows_per_answer": round(counters.whole.rows_per_answer, 1)}
    return told


def _one_thread(counters: TrialCounters) -> Iterator[Finding]:
    """One hot thread while others of the machine's processors had time: work that the server does not share out."""
    use = counters.roles.get("server")
    share = None if use is None else use.busiest_thread_share
    if share is not None and share >= counters.thread_full and counters.cores > 1:
        yield APP_SERIAL.finding(
            f"one thread of the server was {share:.0%} busy while the {counters.cores} cores had time left",
            busiest_thread_share=share,
            server_cores=round(counters.used.get("server", 0.0), 3),
        )


# ---------------------------------------------------------------- idleness


def _wire(counters: TrialCounters) -> Iterator[Finding]:
    """A wire on which most of the time goes by: bytes travel, and neither side works."""
    if not counters.idle:
        return
    for sentence, evidence in distance.limits(counters.cell, counters.result, counters.database, counters.at):
        yield WIRE.finding(sentence, **evidence)


def _pool(counters: TrialCounters) -> Iterator[Finding]:
    """A pool whose connections nearly all had a statement under way, while no processor was full: requests waited for one."""
    if counters.database is None or not counters.database.wait_samples:
        return
    busy = counters.busy_backends / counters.database.wait_samples
    pool = counters.cell.settings.pool_total
    waiting = (_in_flight(counters) or 0.0) > pool
    if busy >= counters.at.pool_busy * pool and waiting:
        yield POOL.finding(
            f"{busy:.0f} of the pool's {pool} connections had a statement under way on average while the processors had time"
            " left: a larger pool would be used",
            busy_connections=busy,
            pool_size=pool,
        )


def _connections(counters: TrialCounters) -> Iterator[Finding]:
    """A closed loop whose every connection waits for its answer, or pauses, while nothing is full: more connections may give
    more, or not.

    A lock inside of the server looks the same under one load. Two loads tell them apart: `levels`.
    """
    result, load = counters.result, counters.cell.load
    latency = result.latency_ok
    if load.model != "closed" or load.stages or latency is None or not latency.mean_us or not counters.used:
        return
    pausing = result.goodput_per_s * load.think_ms / 1000
    explained = (_in_flight(counters) or 0.0) + pausing >= counters.at.in_flight * load.connections
    if counters.idle and explained:
        pause = f" and a pause of {load.think_ms:g} ms" if load.think_ms else ""
        yield TOO_FEW_CONNECTIONS.finding(
            f"{load.connections} connections with {latency.mean_us / 1000:.2f} ms{pause} each give"
            f" {result.goodput_per_s:,.0f} a second (Little's law), and nothing was full. More connections may give more, or the"
            f" server serves one request after the other: the same with {2 * load.connections} connections would tell",
            connections=load.connections,
            mean_us=latency.mean_us,
            cores_used=round(sum(counters.used.values()), 3),
        )


def _in_flight(counters: TrialCounters) -> float | None:
    """Requests under way on average, by Little's law."""
    latency = counters.result.latency_ok
    return None if latency is None or latency.mean_us is None else counters.result.goodput_per_s * latency.mean_us / 1e6
