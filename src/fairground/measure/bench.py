"""The bench that a run's measurements share: who starts processes, the database server, the engine, the cases, and the bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from fairground import contract, generators, postgres
from fairground.generators import EngineHost
from fairground.host import Keeper, Meter, Moment, Resident, RoleMeter, disk
from fairground.judge import thresholds, validity
from fairground.judge.thresholds import Thresholds
from fairground.measure.stand import Stand
from fairground.model import Cell, Durability, Finding, HostUse, Machine, Progress, StorageError
from fairground.postgres import Database

HOST = "host"
"""The evidence of a finding on another machine than the lab's: what that is called."""


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
    """Folders of this machine, beside that of the results, on whose disks there must be room while something is measured."""
    databases: Callable[[int | None], Database] | None = None
    """The running database server of a version, as cells' settings say it; None: `database` is the only one."""
    elsewhere: EngineHost | None = None
    """The host on which the lab's engine makes the load; None: it does so on this machine."""
    its_host: postgres.DatabaseHost | None = None
    """The host on which the database server runs; None: it runs on this machine, or is a given one."""

    def on(self, version: int | None) -> Bench:
        """The bench with the database server of a version."""
        return self if self.databases is None else replace(self, database=self.databases(version))

    def stand(self, meters: Iterable[Meter] = ()) -> Stand:
        """The clocks of the machines now. `meters`: of roles, which are no strangers even where somebody else started them."""
        resident = (one.child.pids for one in meters if isinstance(one, RoleMeter) and isinstance(one.child, Resident))
        also = [*self.keeper.groups.pids(), *chain(*resident, *(there.here for there in self._hosts))]
        here = Moment(self.keeper.spun_ns(), also)
        return Stand(here, {name: moment for there in self._hosts for name, moment in there.moment().items()})

    def require(self) -> None:
        """MachineError where what every arm needs is gone: the keeper, a role's host, the database server, or the load engine."""
        self.keeper.require()
        for there in self._hosts:
            there.require()
        if self.database is not None:
            self.database.require()
        if self.elsewhere is None and not self.engine.exists():
            raise StorageError(f"the load engine `{self.engine}` was removed", "make setup")

    def require_room(self, folders: Sequence[Path], least_bytes: int) -> None:
        """StorageError where less is free on a disk that is written to: of these `folders`, the database's, or its host's."""
        disk.require_room([*folders, *self.disks], least_bytes)
        if self.its_host is not None:
            disk.require_free(f"host `{self.its_host.name}`", self.its_host.free_bytes(), least_bytes)

    @property
    def _hosts(self) -> Sequence[EngineHost | postgres.DatabaseHost]:
        return [there for there in (self.elsewhere, self.its_host) if there is not None]

    def disturbances(
        self, window_s: float, here: HostUse, there: Mapping[str, HostUse], cell: Cell | None
    ) -> tuple[Finding, ...]:
        """Find what of the machines spoils a window. `there`: what those of roles' hosts did, each of which is named.

        What the `cell` asks for is no disturbance: that its commits wait for the disk, or that its server ends at a limit.
        """
        far = [found for name, use in there.items() for found in self._far(window_s, name, use, cell)]
        return (*self._of_a_machine(window_s, here, None if cell is None else self.cell_here(cell)), *far)

    def cell_here(self, cell: Cell) -> Cell:
        """The cell as the disk of this machine meets it: commits wait for another one, or a given server's as it likes."""
        given = None if self.database is None or self.database.owner is not None else self.database.admin.host
        if self.its_host is None and given is None:
            return cell
        here = self.its_host is None and given is not None and postgres.is_here(given)
        return replace(cell, settings=replace(cell.settings, durability=Durability.DURABLE if here else Durability.RELAXED))

    def _far(self, window_s: float, name: str, use: HostUse, cell: Cell | None) -> Iterator[Finding]:
        of_database = self.its_host is not None and self.its_host.name == name
        for one in self._of_a_machine(window_s, use, cell if of_database else None):
            yield replace(one, sentence=f"on host {name}: {one.sentence}", evidence={**one.evidence, HOST: name})

    def _of_a_machine(self, window_s: float, use: HostUse, cell: Cell | None) -> Sequence[Finding]:
        return validity.findings(validity.TrialFacts(window_s, cell, host=use), self.thresholds, of=("machine",))
