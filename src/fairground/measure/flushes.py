"""Flushes of the database's log beside the good answers of one arm: who waits for the disk needs enough of them."""

from __future__ import annotations

from collections.abc import Iterable

from fairground.judge import written
from fairground.model import AuditLine, Workload
from fairground.model.work import difference
from fairground.postgres import Database


class Flushes:
    """The count of one arm's loads. Where the workload writes nothing, or commits wait for no disk, there is none."""

    def __init__(self, database: Database, workload: Workload) -> None:
        self._database, self._writes = database, workload.audit.writes
        self._before: dict[str, int | None] = {}
        self._counted: list[tuple[int, int]] = []

    def begin(self, load: str) -> None:
        """Note what was counted before a load, by its name."""
        self._before[load] = self._database.flushes() if self._writes else None

    def since(self, load: str) -> int | None:
        """Count since a load began, while connections are open: later those of other arms cannot be told from its own."""
        before = self._before.get(load)
        return difference(before, None if before is None else self._database.flushes())

    def add(self, flushes: int | None, good: Iterable[int]) -> None:
        """Keep the flushes of a load, with the good answers that were given while those were counted."""
        if flushes is not None:
            self._counted += [(flushes, one) for one in good]

    def line(self, connections: int | None) -> tuple[AuditLine, ...]:
        """The audit's line on this many connections at once; none where nothing was counted, or nobody knows how many."""
        if not self._counted or connections is None:
            return ()
        flushes, good = (sum(part) for part in zip(*self._counted, strict=True))
        return (written.flush_line(flushes, good, connections),)
