"""Name what limited a trial in which nobody waited for a lock and no processor was full. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from fairground.judge import distance
from fairground.judge.counters import TrialCounters
from fairground.judge.pools import pools
from fairground.model import Finding
from fairground.model.reason import TOO_FEW_CONNECTIONS, WIRE


def _wire(counters: TrialCounters) -> Iterator[Finding]:
    """A wire on which most of the time goes by: bytes travel, and neither side works."""
    if not counters.idle:
        return
    for sentence, evidence in distance.limits(counters.cell, counters.result, counters.database, counters.at):
        yield WIRE.finding(sentence, **evidence)


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
    explained = (counters.in_flight or 0.0) + pausing >= counters.at.in_flight * load.connections
    if counters.idle and explained:
        pause = f" and a pause of {load.think_ms:g} ms" if load.think_ms else ""
        yield TOO_FEW_CONNECTIONS.finding(
            f"{_connections_named(load.connections)} with {latency.mean_us / 1000:.2f} ms{pause} each give"
            f" {result.goodput_per_s:,.0f} a second (Little's law), and nothing was full{counters.unread}. More connections"
            f" may give more, or the server serves one request after the other: the same with {2 * load.connections} connections"
            f" would tell{_timer(counters)}",
            connections=load.connections,
            mean_us=latency.mean_us,
            cores_used=round(sum(counters.used.values()), 3),
        )


def _timer(counters: TrialCounters) -> str:
    """Say that a timer may hold the answers, where nearly all took about as long."""
    latency = counters.result.latency_ok
    if latency is None or latency.p50_us is None or latency.p99_us is None or latency.p50_us < counters.at.timer_ms * 1000:
        return ""
    if not latency.p50_us <= latency.p99_us <= 1.1 * latency.p50_us:
        return ""
    return (
        f". Nearly each answer took {latency.p50_us / 1000:.0f} ms, as if a timer held it: a sleep, an accept that polls, or"
        " TCP_CORK (200 ms)"
    )


def _connections_named(count: int) -> str:
    return f"{count} connection{'' if count == 1 else 's'}"


IDLENESS = (_wire, pools, _connections)
"""The reasons of this kind, in the order in which they are looked for."""
