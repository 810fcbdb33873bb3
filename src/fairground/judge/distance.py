"""Distance: what a wire adds to a round trip, held against what was asked, and whether it is what limited a trial. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median, quantiles

from fairground.judge.thresholds import Reasons, Rules
from fairground.model import Cell, DatabaseUse, Evidence, Finding, Result, Severity
from fairground.model.use import UNUSED

ID = "distance"
QUIET = ("idle", UNUSED, "idle in transaction", "Client:ClientRead")
"""What a backend does while its client, or the wire, has the word."""


def finding(side: str, asked_ms: float, over_us: Sequence[float], without_us: Sequence[float], rules: Rules) -> Finding:
    """The finding on the time that a wire added, with its spread.

    It rests on round trips over the wire and without it, two of each at least, in µs.

    A warning where it is off by more than the relay itself explains.
    """
    base_us = median(without_us)
    added_us = median(over_us) - base_us
    low_us, _, high_us = (one - base_us for one in quantiles(over_us, n=4, method="inclusive"))
    asked_us = asked_ms * 1000
    off = abs(added_us - asked_us) > rules.wire_off_share * asked_us + rules.wire_off_us
    sentence = (
        f"the wire to the {side} added {added_us / 1000:.3f} ms to a round trip where {asked_ms:g} ms were asked"
        f" (half of {len(over_us)}: {low_us / 1000:.3f}–{high_us / 1000:.3f} ms)"
    )
    evidence: Evidence = {
        "side": side,
        "asked_us": round(asked_us, 3),
        "added_us": round(added_us, 1),
        "added_q1_us": round(low_us, 1),
        "added_q3_us": round(high_us, 1),
        "without_us": round(base_us, 1),
        "round_trips": len(over_us),
    }
    return Finding(ID, Severity.WARN if off else Severity.NOTE, sentence, evidence)


def limits(cell: Cell, result: Result, database: DatabaseUse | None, at: Reasons) -> Iterator[tuple[str, Evidence]]:
    """Say why the distance limited a trial in which nothing was full, with the evidence. Nothing where it did not limit it."""
    wire, latency, rate = cell.topology.wire, result.latency_ok, result.goodput_per_s
    if wire is None or latency is None or not latency.mean_us or not rate:
        return
    under_way = rate * latency.mean_us / 1e6
    travelling = rate * (wire.server_ms or 0.0) / 1000 * (1 if cell.load.keep_alive else 2)
    if wire.server_ms is not None and travelling >= at.on_wire * under_way:
        sentence = (
            f"{travelling:.1f} of {under_way:.1f} requests under way were on the wire to the server on average (Little's law):"
            f" each takes {wire.server_ms:g} ms there, whatever the server does"
        )
        yield sentence, {"travelling": travelling, "under_way": under_way, "delay_ms": wire.server_ms}
    elif wire.database_ms is not None:
        yield from _far_database(cell, wire.database_ms, rate, under_way - travelling, database, at)


def _far_database(
    cell: Cell, delay_ms: float, rate: float, waiting: float, database: DatabaseUse | None, at: Reasons
) -> Iterator[tuple[str, Evidence]]:
    """Connections that are in use while the database has nothing to do on them, and nothing is full: they wait for round trips.

    `waiting`: requests that are at the server. From the time in silence it follows how many round trips an answer takes.
    """
    if database is None or not database.wait_samples:
        return
    pool = cell.settings.pool_total
    held = min(waiting, float(pool))
    busy = sum(n for event, n in database.wait_events.items() if event not in QUIET) / database.wait_samples
    silent = held - busy
    trips = silent / (rate * delay_ms / 1000)
    if silent >= at.on_wire * held and trips >= at.on_wire_trips:
        sentence = (
            f"the database worked on {busy:.1f} of {held:.1f} connections that requests held, and the others waited for the wire:"
            f" {trips:.1f} round trips of {delay_ms:g} ms for each answer by Little's law"
        )
        more = f". A larger pool than {pool} would have more of them under way at once" if waiting > pool else ""
        yield sentence + more, {"busy": busy, "held": held, "round_trips": trips, "delay_ms": delay_ms, "pool_size": pool}
