"""The counts of a PostgreSQL database's own work: scans and rows of tables, calls of functions, statements where it can."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg

from fairground.model import DatabaseWork, StatementWork, TableWork
from fairground.postgres.names import MARKED

TABLES = (
    "SELECT whole.relname, sum(coalesce(seq_scan, 0) + coalesce(idx_scan, 0))::bigint,"
    " sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint, sum(coalesce(seq_tup_read, 0))::bigint,"
    " sum(n_tup_ins)::bigint, sum(n_tup_upd)::bigint, sum(n_tup_del)::bigint,"
    " coalesce(sum((SELECT sum(idx_tup_read) FROM pg_stat_user_indexes AS one WHERE one.relid = part.relid)), 0)::bigint"
    " FROM pg_stat_user_tables AS part JOIN pg_class AS whole ON whole.oid = coalesce(pg_partition_root(part.relid), part.relid)"
    " WHERE %(numbers)s::oid[] IS NULL OR whole.oid = ANY(%(numbers)s::oid[]) GROUP BY whole.relname"
)
"""What is done on a partition is counted there alone, so that it is the work of the whole table. Tables of one name in several
schemas are one."""
NUMBERS = "SELECT coalesce(array_agg(relid::bigint), '{}') FROM pg_stat_user_tables"
FUNCTIONS = "SELECT funcname, sum(calls)::bigint FROM pg_stat_user_functions GROUP BY funcname"
HAS_STATEMENTS = "SELECT current_setting('pg_stat_statements.track', true) IN ('top', 'all')"
"""True where the module is preloaded (else it has no such setting) and counts."""
STATEMENTS = (
    "SELECT query, sum(calls)::bigint, sum(rows)::bigint, sum(total_exec_time) * 1000 FROM pg_stat_statements"
    " WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND query IS NOT NULL GROUP BY query"
)

WAITS = "current_setting('fsync') = 'on' AND current_setting('synchronous_commit') <> 'off'"
"""True where a commit waits for the disk by itself."""
COUNTED = "CASE WHEN current_setting('wal_sync_method') LIKE 'open%' THEN {} ELSE {} END"
"""What writes the log to the disk: its flushes, or its writes where each of them waits for the disk."""
FLUSHES_OLD = f"SELECT {COUNTED.format('wal_write', 'wal_sync')}::bigint FROM pg_stat_wal WHERE {WAITS}"
FLUSHES = (
    f"SELECT (sum({COUNTED.format('writes', 'fsyncs')}) - coalesce((SELECT sum({COUNTED.format('io.writes', 'io.fsyncs')})"
    " FROM pg_stat_activity AS one, LATERAL pg_stat_get_backend_io(one.pid) AS io WHERE one.datid IN {ours}"
    " AND one.datname <> current_database() AND io.object = 'wal' AND io.context = 'normal'), 0))::bigint"
    f" FROM pg_stat_io WHERE object = 'wal' AND context = 'normal' AND {WAITS}"
).replace("{ours}", MARKED)
"""Since PostgreSQL 18, which tells those of the other arms' open connections apart: they are left out."""


def table_numbers(connection: psycopg.Connection[Any]) -> list[int]:
    """The object numbers of the tables that are there now: no later table of the same name has one of them."""
    return list(first_value_of(connection, NUMBERS))


def work(connection: psycopg.Connection[Any], numbers: Sequence[int] | None = None) -> DatabaseWork:
    """Read what the connection's database has counted since it was made, of the tables with these `numbers`; None: of all.

    An open idle backend hands in its counts up to 10 s late.
    """
    tables = {name: TableWork(*counts) for name, *counts in connection.execute(TABLES.encode(), {"numbers": numbers}).fetchall()}
    functions = None
    if first_value_of(connection, "SHOW track_functions") in ("pl", "all"):
        functions = {str(name): int(calls) for name, calls in connection.execute(FUNCTIONS.encode()).fetchall()}
    return DatabaseWork(tables, functions, _statements(connection))


def flushes(connection: psycopg.Connection[Any]) -> int | None:
    """Read how often the server has written its log to the disk; None where commits do not wait for it.

    A backend hands in what it has counted once a second, and when it ends.
    """
    found = first_value_of(connection, FLUSHES if connection.info.server_version >= 180_000 else FLUSHES_OLD)
    return None if found is None else int(found)


def _statements(connection: psycopg.Connection[Any]) -> dict[str, StatementWork] | None:
    """Read the statements from the extension; None where the server has none, or we may not ask.

    The extension is made in the arm's own database if it may be. The server counts whether or not the extension's view is
    there, so that making it late loses nothing.
    """
    try:
        if not first_value_of(connection, HAS_STATEMENTS):
            return None
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
        rows = connection.execute(STATEMENTS.encode()).fetchall()
    except psycopg.Error:
        return None
    return {str(text): StatementWork(int(calls), int(rows_), float(time_us)) for text, calls, rows_, time_us in rows}


def first_value_of(connection: psycopg.Connection[Any], statement: str) -> Any:
    """The first value of a statement's first row; None where it has none."""
    row = connection.execute(statement.encode()).fetchone()
    return row[0] if row else None
