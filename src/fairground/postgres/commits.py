"""The moments at which transactions committed, where the database keeps them (`track_commit_timestamp`), and its clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Container
from typing import Any

import psycopg

from fairground.model.answerlog import Key

MICROSECONDS = "(extract(epoch from {}) * 1000000)::bigint"
KEPT = "SELECT current_setting('track_commit_timestamp')::boolean"
CLOCK = f"SELECT {MICROSECONDS.format('clock_timestamp()')}"
LOOKS = 40
AT_ONCE = 10_000


def are_kept(connection: psycopg.Connection[Any]) -> bool:
    """True if the database keeps when each transaction committed."""
    row = connection.execute(KEPT).fetchone()
    return bool(row and row[0])


def of_rows(connection: psycopg.Connection[Any], sql: str, wanted: Container[Key]) -> dict[Key, list[int | None]]:
    """The moments at which the rows of a statement were committed, by what they hold.

    The statement selects that as an array, and the row's `xmin`. Values that are not `wanted` are left out.
    None: nobody knows when.
    """
    times = MICROSECONDS.format("pg_xact_commit_timestamp(found.written_by)") if are_kept(connection) else "NULL::bigint"
    found: dict[Key, list[int | None]] = {}
    with connection.transaction(), connection.cursor("fairground_commits") as cursor:
        cursor.itersize = AT_ONCE
        for *_, held, at_us in cursor.execute(f"SELECT found.held, {times} FROM ({sql}) AS found (held, written_by)".encode()):
            if (key := tuple(held)) in wanted:
                found.setdefault(key, []).append(at_us)
    return found


def of_numbers(connection: psycopg.Connection[Any], first: int, after: int) -> list[int]:
    """The moments, in microseconds, at which transactions from `first` to before `after` were committed."""
    at = MICROSECONDS.format("pg_xact_commit_timestamp((number %% 4294967296)::text::xid)")
    rows = connection.execute(f"SELECT {at} FROM generate_series(%s::bigint, %s::bigint) AS number".encode(), [first, after - 1])
    return [at_us for (at_us,) in rows.fetchall() if at_us is not None]


def clock_ahead_us(connection: psycopg.Connection[Any], now_ns: Callable[[], int] = time.time_ns) -> tuple[int, int]:
    """The microseconds by which the database's clock is ahead of ours, at least and at most."""
    least, most = -(1 << 62), 1 << 62
    for _ in range(LOOKS):
        before_us = now_ns() // 1000
        row = connection.execute(CLOCK.encode()).fetchone()
        after_us = -(-now_ns() // 1000)
        there_us = int(row[0]) if row else 0
        least, most = max(least, there_us - after_us), min(most, there_us - before_us)
    return least, most
