"""What a run asks of its machine before the first trial: what it can do at most, and whether the engine can measure here."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import replace

from fairground.lab.events import Event, Said
from fairground.measure import ceiling
from fairground.model import Cell, LabError, Limit, Load, Run, StorageError, Workload
from fairground.postgres import Database
from fairground.run import plan, store
from fairground.stats.intervals import brief


def measured(
    bench: ceiling.Bench, run: Run, workloads: Mapping[str, Workload], database: Callable[[int | None], Database]
) -> Generator[Event]:
    """Measure the limits of this machine on each workload of the run, unless they are known from before an interruption.

    `database` gives the running server of a version: each version has limits of its own.
    """
    known = {(limit.workload, limit.postgres_version) for limit in run.limits}
    cells = sorted((slot.cell for slot in run.plan.slots), key=lambda cell: cell.settings.pool_size, reverse=True)
    # the smallest pool: pgbench opens as many clients, and of hundreds none may come to its first transaction in time
    first = {_limited(cell): cell for cell in cells}
    left = sorted((cell for key, cell in first.items() if key not in known), key=lambda cell: cell.settings.postgres_version or 0)
    if left:
        yield Said(f"measuring this machine's limits on {', '.join(dict.fromkeys(cell.workload for cell in left))} …")
    http: dict[Load, Limit] = {}  # workloads that work in no database share one ceiling
    for cell in left:
        workload = workloads[cell.workload]
        try:
            found = http.get(cell.load) if workload.limit_sql is None else None
            version = cell.settings.postgres_version
            here = replace(bench, database=database(version))
            found = found or ceiling.measure(here, workload, cell.load, cell.settings)
            if workload.limit_sql is None:
                http[cell.load] = found
            store.append_limit(run.folder, replace(found, workload=workload.id, postgres_version=version))
        except StorageError:
            raise
        except LabError as error:
            yield Said(f"no limit for {cell.workload}: {error.message}")


def _limited(cell: Cell) -> tuple[str, int | None]:
    """What a cell shares its limit with."""
    return cell.workload, cell.settings.postgres_version


def qualified(bench: ceiling.Bench, run: Run) -> Generator[Event]:
    """Whether the engine can measure here, in runs that compare, unless that is known from before an interruption."""
    if run.plan.blocks < plan.COMPARING_BLOCKS or run.qualification is not None:
        return
    try:
        found = ceiling.qualify(bench)
    except StorageError:
        raise
    except LabError as error:
        yield Said(f"the engine could not be qualified: {error.message}")
        return
    store.qualify(run.folder, found)
    if not found.can_measure:
        missed = ", ".join(f"{check.name} {brief(check.measured)} {check.unit}" for check in found.checks if not check.holds)
        yield Said(f"the engine missed known numbers on this machine: {missed}")
