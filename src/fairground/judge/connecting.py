"""The cost to the database of opening connections. Pure.

Their number says little, since one costs as much as many statements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fairground.judge.thresholds import Reasons
from fairground.model import Cell, DatabaseUse, Finding, Result, RoleUse, Severity


@dataclass(frozen=True)
class ConnectingCost:
    """Connections to the database that were opened for each good answer.

    `share` is the share of the database's CPU that they took at least.
    """

    count: int
    per_answer: float
    cost_us: float
    share: float

    @property
    def sentence(self) -> str:
        return (
            f"opening {self.per_answer:.2g} connections for each good answer took about {self.share:.0%} of the database's CPU"
            f" ({self.cost_us / 1000:.1f} ms each)"
        )


def connecting_cost(
    cell: Cell, result: Result, roles: Mapping[str, RoleUse], database: DatabaseUse | None, at: Reasons
) -> ConnectingCost | None:
    """The cost of opening connections, where it is substantial. None where it is not, or where nobody knows."""
    answers, use = (result.life or result.window).ok, roles.get("database")
    if database is None or database.sessions is None or database.connect_cpu_us is None or not answers or not result.completed_ok:
        return None
    if use is None or not use.cpu_us or database.sessions <= at.connects_pools * cell.settings.pool_total:
        return None
    per_answer = database.sessions / answers
    share = per_answer * database.connect_cpu_us / (use.cpu_us / result.completed_ok)
    return (
        ConnectingCost(database.sessions, per_answer, database.connect_cpu_us, min(1.0, share))
        if share >= at.connects_cpu
        else None
    )


def findings(
    cell: Cell, result: Result, roles: Mapping[str, RoleUse], database: DatabaseUse | None, at: Reasons
) -> tuple[Finding, ...]:
    """A note where opening connections took a substantial share of the database's CPU."""
    found = connecting_cost(cell, result, roles, database, at)
    if found is None:
        return ()
    evidence = {
        "opened": found.count,
        "per_answer": round(found.per_answer, 4),
        "connect_cpu_us": round(found.cost_us, 1),
        "share": round(found.share, 4),
    }
    return (Finding("connects", Severity.NOTE, f"{found.sentence}: keep them in a pool", evidence),)
