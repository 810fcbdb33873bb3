"""The prepared statements that a pooler lost: what server, pooler and database say of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairground import topology
from fairground.judge import prepared
from fairground.measure.logs import tail_of
from fairground.model import Finding, Result, Topology
from fairground.postgres import Database

LOG_CHARACTERS = 100_000


@dataclass
class LostStatements:
    """The words on lost statements in one arm's folder. `known`: what its database says of one; none before `begin`."""

    database: Database
    topology: Topology
    folder: Path
    known: tuple[str, ...] = ()

    def begin(self) -> None:
        """Make the database say it once, where there is a pooler: it does so in its own language."""
        if topology.is_pooled(self.topology):
            self.known = self.database.lost_statement_errors()

    def error(self, said: Iterable[str]) -> str | None:
        """The error of a lost statement, in the words of who reported it; None when there was none.

        `said`: what else was told.
        """
        if not topology.is_pooled(self.topology):
            return None
        log = self.folder / "database.log"
        with open(log, "a", encoding="utf-8", errors="replace") as kept:
            kept.write(self.database.take_errors())
        logs = [tail_of(self.folder / name) for name in ("server.log", "pooler.log")]
        database = log.read_text(encoding="utf-8", errors="replace")[:LOG_CHARACTERS]
        return prepared.error([*said, *logs, database], self.known)

    def error_in(self, results: Iterable[Result], findings: Iterable[Finding]) -> str | None:
        """The error of a lost statement in what these loads and findings told, or in a log."""
        samples = [sample.body or "" for result in results for sample in result.samples]
        return self.error([*samples, *(finding.sentence for finding in findings)])

    def finding(self, pooler: str, results: Sequence[Result], findings: Iterable[Finding], reject_share: float) -> Finding | None:
        """The finding on statements that a pooler, by its name and version, lost in these loads; None when none was lost."""
        said = self.error_in(results, findings)
        return None if not said else prepared.finding(next(iter(results), None), pooler, said, reject_share)
