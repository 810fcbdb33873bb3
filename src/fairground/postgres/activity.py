"""The activity of a PostgreSQL server at a moment.

It is what each arm's backends wait for and were last asked, and who else is at work.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from fairground.model.use import UNUSED
from fairground.postgres.names import MARKED, ROLE, ROLES, THEIRS, TRIAL_DATABASE

DOING = (
    f"CASE WHEN state = 'idle' AND state_change < now() - interval '1 second' THEN '{UNUSED}'"
    " WHEN state LIKE 'idle%%' THEN state WHEN wait_event IS NULL THEN 'running'"
    " ELSE wait_event_type || ':' || wait_event END"
)
"""The state of a backend: `running`, `idle`, `unused`, `idle in transaction` or the event that it waits for."""


@dataclass(frozen=True)
class Activity:
    """The client backends of one database at a moment, the lab's own left out."""

    waits: Mapping[str, int]
    """What they do (wait event, `running`, `idle` or `idle in transaction`) → how many of them."""
    statements: tuple[tuple[str, str], ...]
    """One for each backend that was sent a statement in the last second: what it does, in the same words, and the statement.
    One that nobody uses is left out: what it was asked long ago says nothing of the work under way."""
    pids: frozenset[int] = frozenset()
    """Those of all of them."""


@dataclass(frozen=True)
class Hygiene:
    """The other work of the database server at a moment. None: we may not see it."""

    checkpoints: int | None
    """Since the server's counters were reset; only differences mean anything."""
    autovacuums: int | None
    """Those at work on an arm's database."""
    foreign: int | None
    """Sessions at work in databases that are no arm's, the lab's own left out."""


def activity(connection: psycopg.Connection[Any]) -> Mapping[str, Activity]:
    """Read what the backends of all arms do at this moment, in one query: name of the arm's database → its activity.

    What an arm's role does in another database is the arm's, too. A database without client backends is not in it.
    """
    return _of_backends(_arms_backends(connection))


def activity_beside(connection: psycopg.Connection[Any]) -> Mapping[str, Activity]:
    """Read what the backends of the connection's own database do at this moment, under its name."""
    return _of_backends(
        connection.execute(
            f"SELECT datname, {DOING.replace('%%', '%')}, CASE WHEN state <> 'idle' OR query_start > now() - interval '1 second'"
            " THEN query END, pid FROM pg_stat_activity"
            f" WHERE datname = current_database() AND {THEIRS} AND backend_type = 'client backend'"
        ).fetchall()
    )


def _arms_backends(connection: psycopg.Connection[Any]) -> Sequence[tuple[Any, ...]]:
    return connection.execute(
        "SELECT CASE WHEN usename ~ %(roles)s THEN replace(usename, %(role)s, %(first)s) ELSE datname END,"
        f" {DOING}, CASE WHEN state <> 'idle' OR query_start > now() - interval '1 second'"
        " THEN query END, pid FROM pg_stat_activity"
        f" WHERE (datid IN {MARKED} OR usename ~ %(roles)s) AND {THEIRS} AND backend_type = 'client backend'",
        {"roles": ROLES, "role": ROLE, "first": TRIAL_DATABASE},
    ).fetchall()


def _of_backends(rows: Sequence[tuple[Any, ...]]) -> Mapping[str, Activity]:
    """The activity of each database from (its name, what a backend does, its statement, its pid)."""
    seen: defaultdict[str, list[tuple[str, str | None, int]]] = defaultdict(list)
    for database, *backend in rows:
        seen[database].append((backend[0], backend[1], backend[2]))
    return {
        name: Activity(
            Counter(doing for doing, _, _ in backends),
            tuple((doing, statement) for doing, statement, _ in backends if statement is not None),
            frozenset(pid for _, _, pid in backends),
        )
        for name, backends in seen.items()
    }


def waits(connection: psycopg.Connection[Any], database: str = TRIAL_DATABASE) -> Sequence[tuple[str, int]]:
    """Read what the backends of one database do at this moment.

    A row is (wait event, `running`, `idle` or `idle in transaction`; how many).
    """
    return connection.execute(
        f"SELECT {DOING}, count(*)::int FROM pg_stat_activity"
        f" WHERE datname = %s AND {THEIRS} AND backend_type = 'client backend' GROUP BY 1",
        [database],
    ).fetchall()


def hygiene(connection: psycopg.Connection[Any]) -> Hygiene:
    """Read what else than the arms keeps the database server busy at this moment."""
    version = connection.info.server_version
    if version >= 180_000:
        checkpoints = "(SELECT num_done FROM pg_stat_checkpointer)"
    elif version >= 170_000:
        checkpoints = "(SELECT num_timed + num_requested FROM pg_stat_checkpointer)"
    else:
        checkpoints = "(SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter)"
    row = connection.execute(
        # Others' sessions show what they do only to those who may read all statistics: what is hidden is unknown, not none.
        f"SELECT {checkpoints}::bigint, CASE WHEN sees THEN autovacuums END, CASE WHEN sees THEN strangers END FROM (SELECT"
        " pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') AS sees,"
        f" count(*) FILTER (WHERE backend_type = 'autovacuum worker' AND datid IN {MARKED})::int AS autovacuums,"
        f" count(*) FILTER (WHERE backend_type = 'client backend' AND state = 'active' AND datid NOT IN {MARKED}"
        f" AND NOT coalesce(usename ~ %(roles)s, false) AND {THEIRS})::int AS strangers FROM pg_stat_activity) AS now",
        {"roles": ROLES},
    ).fetchone()
    return Hygiene(*row) if row else Hygiene(None, None, None)
