"""Name what everybody waited for: ports, locks, the log, the listen queue, connecting. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from fairground.judge import distance
from fairground.judge.counters import TrialCounters
from fairground.model import Finding
from fairground.model.plural import with_verb
from fairground.model.reason import BACKLOG, CONNECT_PER_REQUEST, DB_COMMIT, DB_LOCK, DEADLOCK, DELAYED_ACK, PORTS, STOPPED

DEADLOCK_S = 1.0
"""How long a deadlock holds its locks, unless `deadlock_timeout` says otherwise."""
RETRY_S = 1.0
"""How long a connection waits at least that a full listen queue dropped."""
LOCKS = {
    "tuple": "a row lock",
    "transactionid": "a row lock",
    "relation": "a table lock",
    "advisory": "an advisory lock",
    "extend": "the growth of a table",
}
"""PostgreSQL's name of what is locked → the lock in words."""


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
    """Answers that take 40 ms while the kernel delays acknowledgements: head and body went out apart, without TCP_NODELAY.

    It delays those of requests, too, which are not answered by then: nothing is said where wires take as long.
    """
    latency, at = counters.result.latency_ok, counters.at
    if _are_on_wires(counters):
        return
    delayed = counters.tcp("TcpExtDelayedACKs")
    if latency is None or latency.p50_us is None or delayed is None or counters.result.completed_ok == 0:
        return
    # Those that a kernel holds back take as long, each of them: where times are spread, something else takes them.
    slow = at.delayed_ack_from_us <= latency.p50_us and max(latency.p50_us, latency.p75_us or 0) <= at.delayed_ack_to_us
    if slow and delayed >= at.delayed_ack_share * counters.result.completed_ok:
        yield DELAYED_ACK.finding(
            f"half of the answers took {latency.p50_us / 1000:.1f} ms or more while the kernel held back {delayed:,}"
            " acknowledgements, as where a server writes an answer in two parts without TCP_NODELAY",
            p50_us=latency.p50_us,
            delayed_acks=delayed,
            answers=counters.result.completed_ok,
        )


def _are_on_wires(counters: TrialCounters) -> bool:
    """True if answers may be on wires for as long as a kernel holds an acknowledgement back.

    To the database that is once for each statement. Where those are not counted, it is as often as the silence there tells.
    """
    wire, database = counters.cell.topology.wire, counters.database
    if wire is None:
        return False
    asked = None if database is None or database.work is None else database.work.statements
    seen = distance.limits(counters.cell, counters.result, database, counters.at)
    if asked is None and wire.database_ms is not None and any(seen):
        return True
    calls = sum(one.calls for one in (asked or {}).values())
    trips = max(1.0, calls / max(1, (counters.result.life or counters.result.window).ok))
    return 1000 * ((wire.server_ms or 0.0) + trips * (wire.database_ms or 0.0)) >= counters.at.delayed_ack_from_us


def _locks(counters: TrialCounters) -> Iterator[Finding]:
    locked = counters.share_waiting("Lock:")
    if counters.database is None or locked < counters.at.locked:
        return
    deadlocks, what = counters.database.deadlocks, _lock_named(counters)
    evidence = {"waiting_for_locks": locked, "deadlocks": deadlocks, "samples": counters.database.wait_samples}
    if deadlocks and deadlocks * DEADLOCK_S >= counters.at.deadlocked * counters.result.window_s:
        yield DEADLOCK.finding(
            f"{locked:.0%} of the busy backends waited for {what}, and "
            f"{with_verb(deadlocks, 'deadlock', 'held its', 'each held their')} locks until the database noticed"
            " (deadlock_timeout, 1 s): take locks in one order",
            **evidence,
        )
    else:
        evidence |= {"waiting_for_advisory_locks": counters.share_waiting("Lock:advisory")} if what == "an advisory lock" else {}
        rare = f". {with_verb(deadlocks, 'deadlock', 'was', 'were')} too rare to be the limit" if deadlocks else ""
        yield DB_LOCK.finding(f"{locked:.0%} of the busy backends waited for {what} that another held{rare}", **evidence)


def _lock_named(counters: TrialCounters) -> str:
    """Name the kind of lock that most of those who waited for one waited for."""
    waited: dict[str, int] = {}
    for event, count in counters.database.wait_events.items() if counters.database is not None else ():
        if event.startswith("Lock:"):
            name = LOCKS.get(event.partition(":")[2], "a lock")
            waited[name] = waited.get(name, 0) + count
    return max(waited, key=lambda name: waited[name])


def _commits(counters: TrialCounters) -> Iterator[Finding]:
    waiting = counters.share_waiting("IO:WAL", "IO:Wal", "LWLock:WALWrite")
    if waiting >= counters.at.committing:
        yield DB_COMMIT.finding(
            f"{waiting:.0%} of the busy backends waited for the write-ahead log to reach the disk",
            waiting_for_wal=waiting,
        )


def _backlog(counters: TrialCounters) -> Iterator[Finding]:
    use = counters.roles.get("server")
    dropped = use and use.dropped_connections
    connect = counters.result.connect or counters.result.latency_ok
    longest = None if connect is None else connect.max_us
    waited, load = (dropped or 0) * RETRY_S, counters.cell.load
    matters = waited >= counters.at.backlogged * load.connections * counters.result.window_s
    if dropped and matters and longest is not None and longest >= counters.at.retry_us:
        yield BACKLOG.finding(
            f"the server's listen queue had no room {dropped:,} times, and each connection was tried again after 1 s or 3 s:"
            " listen with a longer backlog, and accept more at once",
            dropped=dropped,
            longest_us=longest,
        )


def _stopped(counters: TrialCounters) -> Iterator[Finding]:
    """A server that is stopped by a signal again and again, as `cpulimit` does: it has less of a processor than it wants."""
    use = counters.roles.get("server")
    share = None if use is None else use.stopped_share
    if share is not None and share >= counters.at.stopped:
        yield STOPPED.finding(
            f"the server's process was stopped by a signal in {share:.0%} of the looks at it, as `cpulimit` or a debugger does",
            stopped_share=round(share, 4),
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


WAITING = (_ports, _stopped, _delayed_ack, _locks, _commits, _backlog, _connects)
"""The reasons of this kind, in the order in which they are looked for."""
BESIDE_WORK = tuple(reason for reason in WAITING if reason is not _delayed_ack)
"""Those that are said beside full processors: answers that wait for one for 40 ms have as many acknowledgements held back."""
