"""Measure what a run's machine can do at most, and whether the engine can measure here.

The limits are measured before the first trial and beside later blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fairground import records
from fairground.measure import Bench, ceiling
from fairground.model import Cell, LabError, Limit, Load, Plan, PlanSlot, Run, Workload
from fairground.model.error import ENDING
from fairground.run.plan import COMPARING_BLOCKS
from fairground.stats.intervals import brief


def measure(bench: Bench, run: Run, workloads: Mapping[str, Workload]) -> Iterator[str]:
    """Measure the limits of a run's machine, and qualify the engine, unless that is known. Yields sentences for who waits."""
    yield from _limits(bench, run, workloads)
    yield from _qualification(bench, run)


def _limits(bench: Bench, run: Run, workloads: Mapping[str, Workload]) -> Iterator[str]:
    """Measure the limits on each workload of the run that are not known from before an interruption; each version has its own."""
    known = {limit.key for limit in run.limits}
    left = [cell for key, cell in _cells(run.plan).items() if key not in known]
    left.sort(key=lambda cell: cell.settings.postgres_version or 0)
    if left:
        yield f"measuring this machine's limits on {', '.join(dict.fromkeys(cell.workload for cell in left))} …"
    sharing = _Sharing()
    for cell in left:
        workload, version = workloads[cell.workload], cell.settings.postgres_version
        try:
            found = sharing.limit(bench.on(version), run.folder / "limits", workload, cell)
            records.append_limit(run.folder, replace(found, workload=workload.id, postgres_version=version))
        except ENDING:
            raise
        except LabError as error:
            yield f"no limit for {cell.workload}: {error.message}"


@dataclass
class _Sharing:
    """The limits that workloads share: those that work in no database have one for a load, since each asks the null responder."""

    _null: dict[Load, Limit] = field(default_factory=dict)
    """What the null responder gave under a load."""

    def limit(self, bench: Bench, folder: Path, workload: Workload, cell: Cell, clients: int | None = None) -> Limit:
        """The limit of a workload under a cell's load. LabError: it could not be measured."""
        known = self._null.get(cell.load) if workload.limit_sql is None else None
        found = known or ceiling.measure(bench, folder, workload, cell.load, cell.settings, clients=clients)
        if workload.limit_sql is None:
            self._null[cell.load] = found
        return found


@dataclass
class Again:
    """A new measurement of a run's limits, beside its blocks 2, 4, 8 and so on: that follows the machine, and costs little.

    It is called with the slots of each round, before they are measured.
    """

    bench: Bench
    folder: Path
    """The folder of the run."""
    workloads: Mapping[str, Workload]
    _seen: set[tuple[int, str, int | None]] = field(default_factory=set)
    """Blocks and what is limited in them: each is looked at once."""
    _sharing: dict[int, _Sharing] = field(default_factory=dict)
    """What the workloads of a block share."""
    _failed: list[str] = field(default_factory=list)

    def __call__(self, slots: Sequence[PlanSlot]) -> None:
        """Measure the limit of these slots, unless this is no block for it, or that was done in it."""
        block, limited = slots[0].block, _limited(slots[0].cell)
        if block < 2 or block & (block - 1) or (block, *limited) in self._seen:
            return
        self._seen.add((block, *limited))
        run = records.load_run(self.folder)
        kept = [one for one in run.limits if one.key == limited]
        if not kept or any(one.block == block for one in kept):
            return
        cell, (key, version) = _cells(run.plan)[limited], limited
        here, folder = self.bench.on(version), self.folder / "limits" / f"block-{block}"
        sharing = self._sharing.setdefault(block, _Sharing())
        try:
            found = sharing.limit(here, folder, self.workloads[key], cell, kept[0].clients)
        except ENDING:
            raise
        except LabError as error:
            self._failed.append(f"no limit for {key} in block {block}: {error.message}")
            return
        records.append_limit(self.folder, replace(found, workload=key, postgres_version=version, block=block))

    def failures(self) -> list[str]:
        """Sentences on what could not be measured again since this was last asked. What was measured before stands by itself."""
        told, self._failed = self._failed, []
        return told


def _cells(plan: Plan) -> dict[tuple[str, int | None], Cell]:
    """The cell that stands for all which share a limit: that of the smallest pool.

    pgbench opens as many clients, and of hundreds none may come to its first transaction in time.
    """
    return {_limited(cell): cell for cell in sorted((slot.cell for slot in plan.slots), key=lambda one: -one.settings.pool_size)}


def _limited(cell: Cell) -> tuple[str, int | None]:
    """The workload and the version of PostgreSQL: cells that have both in common share a limit."""
    return cell.workload, cell.settings.postgres_version


def _qualification(bench: Bench, run: Run) -> Iterator[str]:
    """Qualify the engine in runs that compare, unless that is known from before an interruption."""
    if run.plan.whole_blocks < COMPARING_BLOCKS or run.qualification is not None:
        return
    try:
        found = ceiling.qualify(bench, run.folder / "limits")
    except ENDING:
        raise
    except LabError as error:
        yield f"the engine could not be qualified: {error.message}"
        return
    records.write_qualification(run.folder, found)
    if not found.can_measure:
        missed = ", ".join(f"{check.name} {brief(check.measured)} {check.unit}" for check in found.checks if not check.holds)
        yield f"the engine missed known numbers on this machine: {missed}"
