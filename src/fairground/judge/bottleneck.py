"""Name what limited a trial: from its counters to reasons with their evidence and, where there is one, the fix. Pure.

Waiting is looked at before work: a lock that holds half of the backends limits a server whatever the processors do meanwhile.
Work is looked at before idleness: only where no processor was full and nobody waited can the connections have been too few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from fairground.judge import connecting, statements
from fairground.judge.counters import TrialCounters
from fairground.judge.idleness import IDLENESS
from fairground.judge.tables import ReadWhole
from fairground.judge.thresholds import Reasons
from fairground.judge.waiting import BESIDE_WORK, WAITING
from fairground.model import Cell, DatabaseUse, Finding, HostUse, Result, RoleUse
from fairground.model.reason import (
    APP_SERIAL,
    GENERATOR,
    MEMORY,
    OF_ROLE,
    REASONS,
    THROTTLED,
)

STATEMENT_CHARACTERS = 120
ONE_THREAD = ("pgbouncer-session", "pgbouncer-tx")


def limits(
    cell: Cell,
    result: Result,
    roles: Mapping[str, RoleUse],
    host: HostUse | None,
    database: DatabaseUse | None,
    cores: int,
    at: Reasons,
    whole: ReadWhole | None = None,
) -> tuple[Finding, ...]:
    """The named reasons that limited a trial, strongest first; none where nothing that was measured explains it.

    Reasons of one kind exclude each other; of waiting and work both are said when both fit.
    """
    counters = TrialCounters(cell, result, roles, host, database, cores, at, whole)
    work = _first(counters, _memory, _bound, _generator, _cores, _one_thread)
    waiting = _first(counters, *(WAITING if work is None else BESIDE_WORK))
    found = tuple(reason for reason in (waiting, work) if reason is not None)
    if waiting is not None and REASONS[waiting.id].alone:
        found = (waiting,)
    return found or tuple(_idleness(counters))


def _first(counters: TrialCounters, *reasons: Callable[[TrialCounters], Iterator[Finding]]) -> Finding | None:
    """The finding of the first of these reasons that fits."""
    return next((found for reason in reasons for found in reason(counters)), None)


def _idleness(counters: TrialCounters) -> Iterator[Finding]:
    """The limit of a trial in which nobody waited for a lock and no processor was full."""
    found = _first(counters, *IDLENESS)
    if found is not None and not counters.is_filled:
        yield found


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
    """Roles that filled their quota, their cores, or the one thread that they are, and how full that was.

    A quota may be somebody else's: that of a container, or of a group above. The periods that it took tell of any.
    """
    for role, reason in OF_ROLE.items():
        cores, away = counters.cores_for(role), role in counters.used and role not in counters.used_here
        allowed = min(len(counters.cell.settings.cores_of(role) or ()) or cores, cores, _threads(counters.cell, role) or cores)
        quota = counters.cell.settings.cpus if role == "server" else None
        bound = allowed if quota is None else min(allowed, quota)
        used, use = counters.used.get(role, 0.0), counters.roles.get(role)
        throttled = (_throttled_share(use) or 0.0) >= counters.at.throttled
        if throttled and bound != quota:
            yield (
                1.0,
                THROTTLED.finding(
                    f"the {role} was out of a CPU quota in {_throttled_share(use) or 0.0:.0%} of the scheduler's periods, with"
                    f" {used:.2f} cores in use: its group, or one above, has a quota",
                    cores=round(used, 3),
                    throttled_periods=None if use is None else use.throttled_periods,
                ),
            )
        elif (bound < cores or away) and (used >= counters.cores_full * bound or throttled):
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
