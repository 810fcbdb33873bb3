"""What a run asks of its machine before the first trial: what it can do at most, and whether the engine can measure here."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import replace

from fairground.lab.events import Event, Said
from fairground.measure import ceiling
from fairground.model import LabError, Limit, Load, Run, StorageError, Workload
from fairground.run import plan, store
from fairground.stats.intervals import brief


def measured(bench: ceiling.Bench, run: Run, workloads: Mapping[str, Workload]) -> Generator[Event]:
    """Measure the limits of this machine on each workload of the run, unless they are known from before an interruption."""
    known = {limit.workload for limit in run.limits}
    cells = sorted((slot.cell for slot in run.plan.slots), key=lambda cell: cell.settings.pool_size, reverse=True)
    # the smallest pool: pgbench opens as many clients, and of hundreds none may come to its first transaction in time
    first = {cell.workload: cell for cell in cells}
    left = [cell for name, cell in first.items() if name not in known]
    if left:
        yield Said(f"measuring this machine's limits on {', '.join(cell.workload for cell in left)} …")
    http: dict[Load, Limit] = {}  # workloads that work in no database share one ceiling
    for cell in left:
        workload = workloads[cell.workload]
        try:
            found = http.get(cell.load) if workload.limit_sql is None else None
            found = found or ceiling.measure(bench, workload, cell.load, cell.settings)
            if workload.limit_sql is None:
                http[cell.load] = found
            store.append_limit(run.folder, replace(found, workload=workload.id))
        except StorageError:
            raise
        except LabError as error:
            yield Said(f"no limit for {cell.workload}: {error.message}")


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
