"""The delay that the wires of a path add, measured on the path itself before it is loaded.

The same exchange is made with a wire and without it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from http.client import HTTPConnection, HTTPException

import psycopg

from fairground.judge import distance
from fairground.judge.thresholds import Rules
from fairground.measure.path import Route
from fairground.model import Finding, LabError, PathWire

MOST, LEAST = 50, 5
ABOUT_S = 0.5
"""The seconds that the round trips over a wire take together, between `LEAST` and `MOST` of them."""
TIMEOUT_S = 10.0


def database(path: Route, wire: PathWire, rules: Rules) -> Iterator[Finding]:
    """The wire before the database, by `SELECT 1` as the server's role. Call it before the server starts: it has the connections.

    LabError when the database cannot be asked.
    """
    if wire.database_ms is None:
        return
    try:
        over_us, without_us = (_selected(url, _count(wire.database_ms)) for url in (path.url, path.near_url))
    except psycopg.Error as error:
        raise LabError(f"the database cannot be asked over the wire: {error}") from error
    yield distance.finding("database", wire.database_ms, over_us, without_us, rules)


def server(path: Route, wire: PathWire, rules: Rules) -> Iterator[Finding]:
    """The wire before the server, by requests that ask whether it is ready. LabError when the server does not answer them."""
    if wire.server_ms is None:
        return
    try:
        over_us, without_us = (
            _requested(path.host, port, path.ready.path, _count(wire.server_ms)) for port in (path.port, path.near_port)
        )
    except (OSError, HTTPException) as error:
        raise LabError(f"the server does not answer over the wire: {error}") from error
    yield distance.finding("server", wire.server_ms, over_us, without_us, rules)


def _count(delay_ms: float) -> int:
    return max(LEAST, min(MOST, round(ABOUT_S * 1000 / delay_ms)))


def _selected(url: str, count: int) -> list[float]:
    with closing(psycopg.connect(url, autocommit=True, connect_timeout=int(TIMEOUT_S), prepare_threshold=None)) as connection:
        return _timed(lambda: connection.execute("SELECT 1"), count)


def _requested(host: str, port: int, target: str, count: int) -> list[float]:
    with closing(HTTPConnection(host, port, timeout=TIMEOUT_S)) as connection:

        def ask() -> None:
            connection.request("GET", target)
            connection.getresponse().read()

        return _timed(ask, count)


def _timed(exchange: Callable[[], object], count: int) -> list[float]:
    """µs of each exchange, after one that does not count: it opens the connection."""
    exchange()
    found = []
    for _ in range(count):
        began_ns = time.perf_counter_ns()
        exchange()
        found.append((time.perf_counter_ns() - began_ns) / 1000)
    return found
