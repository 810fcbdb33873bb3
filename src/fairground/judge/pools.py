"""Name a pool of connections to the database that limited a trial: full, small, idle in transactions, or leaking. Pure.

Each rests on what the backends were seen doing while more requests were under way than the pool had connections for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fairground.judge.answers import connections_at_once
from fairground.judge.counters import TrialCounters
from fairground.model import Cell, DatabaseUse, Finding, PoolScope
from fairground.model.reason import IDLE_TRANSACTION, POOL, POOL_LEAK, SMALL_POOL
from fairground.model.use import UNUSED

IN_TRANSACTION = "idle in transaction"


def held_cell_of(cell: Cell, database: DatabaseUse | None) -> Cell:
    """The cell of a server that nobody told the size of its pool: the connections that it held are taken for that size."""
    held = None if database is None else database.connections_peak
    return replace(cell, settings=replace(cell.settings, pool_size=held, pool_scope=PoolScope.TOTAL)) if held else cell


def pools(counters: TrialCounters) -> Iterator[Finding]:
    """The reason that lies in the pool, if requests waited for a connection of it."""
    database, under_way = counters.database, _under_way(counters)
    if database is None or database.wait_samples < counters.at.pool_looks or under_way is None:
        return
    held, kept = database.connections_peak or 0, counters.backends_in(IN_TRANSACTION)
    unused, busy = counters.backends_in(UNUSED), counters.busy_backends / database.wait_samples
    allowed = connections_at_once(counters.cell)
    served = min(held, allowed) - unused
    taken = busy >= counters.at.pool_busy * max(served, 1.0) or (served < 1 and _waited_in_vain(counters))
    if under_way <= served or not taken:
        return  # nobody waited for a connection, or some were free
    evidence = {"busy_connections": round(busy, 2), "held": held, "pool_size": allowed, "under_way": round(under_way, 1)}
    if kept and kept >= counters.at.pool_kept * busy:
        yield IDLE_TRANSACTION.finding(
            f"{kept:.1f} of the {busy:.1f} connections in use were idle in a transaction on average: the server holds them while"
            f" it asks nothing, and {under_way:.0f} requests were under way",
            **evidence,
            idle_in_transaction=round(kept, 2),
        )
    elif unused >= counters.at.pool_unused * held:
        yield POOL_LEAK.finding(
            f"{unused:.1f} of the {held} connections that the server held had been idle for a second or more on average, and the"
            f" others were in use while {under_way:.0f} requests were under way: it does not get them back, or lets few requests"
            " have one",
            **evidence,
            unused=round(unused, 2),
        )
    elif held < counters.at.pool_busy * allowed:
        yield SMALL_POOL.finding(
            f"the server never held more than {held} of the {allowed} connections that it may have, and {busy:.1f} were in use on"
            f" average while {under_way:.0f} requests were under way: its pool is smaller than it was told",
            **evidence,
        )
    elif busy >= counters.at.pool_busy * allowed:
        yield POOL.finding(
            f"{busy:.0f} of the pool's {allowed} connections had a statement under way on average while the processors had time"
            f" left{counters.unread}: a larger pool would be used",
            **evidence,
        )


def _waited_in_vain(counters: TrialCounters) -> bool:
    """True if requests were left without an answer, or were turned away: an error that comes at once is no wait."""
    window = counters.result.window
    return bool((window.timeout or 0) + (window.shed or 0) + (window.in_flight or 0))


def _under_way(counters: TrialCounters) -> float | None:
    """Requests under way, by Little's law; None: unknown.

    A pool from which nothing comes back leaves few good answers to know a latency from. Then it is a closed loop's connections.
    """
    load = counters.cell.load
    if load.model == "closed" and not load.think_ms and not load.stages and counters.result.window.not_ok:
        return float(load.connections)
    return counters.in_flight
