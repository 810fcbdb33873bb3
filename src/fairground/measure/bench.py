"""What every measurement of a run shares: who starts processes, the database server, the engine, the cases, and the bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fairground import contract, generators
from fairground.host import Keeper
from fairground.judge import thresholds
from fairground.judge.thresholds import Thresholds
from fairground.model import Machine, Progress
from fairground.postgres import Database


@dataclass(frozen=True)
class Bench:
    """`say` hears where a trial is. `machine`: the one that the run is of; None: of whatever machine this is."""

    keeper: Keeper
    database: Database | None
    """The database server; None: no arm needs one."""
    engine: Path
    cases: Sequence[contract.Case]
    cores: int
    say: Callable[[Progress], None] = lambda _: None
    ready_timeout_s: float = 30.0
    tools: Mapping[str, generators.Installed] = field(default_factory=dict)
    """Load generators from elsewhere that are here, by name."""
    thresholds: Thresholds = field(default_factory=thresholds.standard)
    machine: Machine | None = None
    disks: Sequence[Path] = ()
    """Folders, beside that of the results, on whose disks there must be room while something is measured."""
    databases: Callable[[int | None], Database] | None = None
    """The running database server of a version, as cells' settings say it; None: `database` is the only one."""

    def on(self, version: int | None) -> Bench:
        """The bench with the database server of a version."""
        return self if self.databases is None else replace(self, database=self.databases(version))
