"""`run`: from a suite to a plan, from a plan to a run's folder, trial by trial; and a run that is resumed."""

from __future__ import annotations

import shlex
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from fairground import generators, postgres, records
from fairground.inputs import manifest, workload_files
from fairground.lab import pages, reasons, setup
from fairground.lab.events import Began, Event, Planned, Said, Sink, TrialDone, unheard
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs, Testbed, prepare
from fairground.model import OWN_MAJOR, LabError, LoadRequest, Plan, PlanSlot, Run, Stack, Suite, Workload, error, secret
from fairground.model.resume import options_again_of
from fairground.postgres import databases
from fairground.run import ceilings, plan, remembering, runner


def dry_run(suite: Suite, inputs: Inputs) -> Plan:
    """The plan of a suite as it would be if everything could be built. LabError for what cannot be measured here."""
    suite, workloads = without_own_version(suite, inputs.database_url), inputs.places.workloads()
    planned = plan.of_suite(suite, inputs.places.load_servers(), workloads, inputs.command)
    check_plan(planned, workloads, inputs.database_url)
    check_machine(planned, inputs.database_url)
    return planned


def run_suite(suite: Suite, inputs: Inputs, sink: Sink = unheard) -> Generator[Event]:
    """Build what the suite needs, freeze its plan, measure it and report it. Close it to end early: what is done is kept.

    `sink` hears what happens inside one long call: what is prepared, and the progress of a trial.
    """
    servers, workloads = inputs.places.load_servers(), inputs.places.workloads()
    frozen = dry_run(suite, inputs)
    stacks = manifest.stacks_of(frozen.slots, servers)
    with prepare(inputs, frozen.cells, stacks, sink) as testbed:
        if testbed.lacking:
            suite = without_own_version(suite, inputs.database_url)
            frozen = plan.of_suite(suite, servers, workloads, inputs.command, testbed.lacking)
        frozen = remembering.recall(frozen, testbed.machine, inputs.places.cache, inputs.prior, lambda it: sink(Said(it)))
        folder = create_folder(inputs.places.results, frozen, testbed, texts(frozen, workloads))
        testbed.bench.keeper.guard(folder)
        with resumable(folder, inputs), records.hold_record(folder):
            yield from _measure(frozen, folder, stacks, workloads, testbed)
    remembering.keep(folder, inputs.places.cache, lambda it: sink(Said(it)))
    yield from end(folder, inputs)


def resume_run(folder: Path, inputs: Inputs, budget_s: float | None = None, sink: Sink = unheard) -> Generator[Event]:
    """Go on with an interrupted run: its own plan, its own folder; finished trials stay as they are.

    A run that its budget ended goes on only with a larger one, `budget_s`, counted from its beginning.
    """
    known, places = records.load_run(folder), inputs.places
    left = records.left_of(known)
    if left and (not known.finished or budget_s is not None):
        known, begun = records.with_budget(known, budget_s), records.load(folder)
        stacks = manifest.stacks_of(left, places.load_servers())
        require_stacks(known, left, stacks, places)
        cells = known.plan.cells
        with prepare(replace(inputs, record=begun), cells, stacks, sink, known.machine.awake, len(cells)) as testbed:
            versions = {**begun.head.versions, **testbed.versions}  # what is left may need less
            records.require_same(begun.head, replace(begun.head, versions=versions, stacks=testbed.stacks))
            testbed.bench.keeper.guard(folder)
            with resumable(folder, inputs, budget_s), records.hold_record(folder):
                records.reopen_run(folder, budget_s)
                yield from _measure(known.plan, folder, stacks, places.workloads(), testbed)
        remembering.keep(folder, inputs.places.cache, lambda it: sink(Said(it)))
    yield from end(folder, inputs)


def end(folder: Path, inputs: Inputs) -> Iterator[Event]:
    """Write a run's pages; where there is time for experiments, these first, and the pages once more."""
    with resumable(folder, inputs):
        written = pages.report(folder)
    if inputs.why_s is not None:
        records.require_database(records.read_head(folder), inputs.database_url)
        yield from reasons.try_reasons(written.run, written.tried, inputs, inputs.why_s)
        with resumable(folder, inputs):
            written = pages.report(folder)
    yield written


def resumable(folder: Path, inputs: Inputs, budget_s: float | None = None) -> AbstractContextManager[None]:
    """Add the command that goes on with the run, under its new budget, to whatever the machine refuses meanwhile."""
    again = options_again_of(inputs.command, budget_s)
    return error.resumable(folder, f"./fairground run --resume {shlex.quote(str(folder))}{again}")


# ---------------------------------------------------------------- plans


def render_workloads(planned: Plan, workloads: Sequence[Workload]) -> dict[str, Workload]:
    """Every workload by id, for the scale of the plan's data."""
    scale = databases.settings_of(planned.cells).scale
    return {workload.id: workload_files.render(workload, scale) for workload in workloads}


def texts(planned: Plan, workloads: Sequence[Workload]) -> dict[str, dict[str, str]]:
    """The sentences of a run's folder on the workloads of its plan."""
    named = {slot.cell.workload for slot in planned.slots}
    return {
        workload.id: {
            "title": workload.title,
            "contract": workload.contract.title,
            "why": " ".join(workload.why.split()),
            "request": secret.redact("; ".join(_request_text(one, workload) for one in workload.requests)),
            "limit_sql": workload.limit_sql or "",
            "twin": workload.twin or "",
            "fixed_rows": workload.fixed_rows or "",
        }
        for rendered in render_workloads(planned, [one for one in workloads if one.id in named]).values()
        for workload in [rendered.fill(rendered.contract.paths)]
    }


def _request_text(one: LoadRequest, workload: Workload) -> str:
    """A request in a line, with its share of a mix."""
    share = f"{one.weight / sum(other.weight for other in workload.requests):.0%} {one.name}: " if workload.is_mix else ""
    return f"{share}{one.method} {one.path}" + (f" {one.body}" if one.body else "")


def without_own_version(suite: Suite, url: str | None) -> Suite:
    """Drop the lab's own version of PostgreSQL where it is named, so that both spellings give the same cell.

    A given database may be of another version, so that there a version which is named stays.
    """
    if url:
        return suite
    own = [replace(one, settings=replace(one.settings, postgres_version=None)) for one in suite.groups]
    groups = [
        usual if group.settings.postgres_version == OWN_MAJOR else group for group, usual in zip(suite.groups, own, strict=True)
    ]
    return replace(suite, groups=tuple(groups))


def check_plan(planned: Plan, workloads: Sequence[Workload], database_url: str | None) -> None:
    """LabError for what no machine can measure."""
    cells = planned.cells
    settings, versions = databases.settings_of(cells), databases.versions_of(cells)
    generators.check(dict.fromkeys(cells), render_workloads(planned, workloads))
    databases.check_versions(versions, database_url)
    if None in versions:  # others know their own settings, once they are here
        postgres.check(dict(settings.postgres))
    for cell in cells:
        setup.check_fault(cell, database_url)


def check_machine(planned: Plan, database_url: str | None) -> None:
    """LabError for cores, connections or threads that this machine has not."""
    for settings in dict.fromkeys(cell.settings for cell in planned.cells):
        setup.check_pins(settings, database_url)
    for cell in planned.cells:
        setup.check_amounts(cell.load, cell.settings)


def require_stacks(known: Run, left: Sequence[PlanSlot], stacks: Sequence[Stack], places: Places) -> None:
    """LabError when a stack that is still to be measured is in no server here."""
    absent = sorted({slot.cell.stack for slot in left} - {stack.id for stack in stacks})
    if absent:
        sentence = f"run `{known.id}` has stacks that `{places.servers}` has not: {', '.join(absent)}"
        raise LabError(sentence, "name the folder that the run began with: --servers DIR")


# ---------------------------------------------------------------- measuring


def create_folder(results: Path, frozen: Plan, testbed: Testbed, workloads: Mapping[str, Mapping[str, str]]) -> Path:
    """Create the folder of a run that begins."""
    return records.create_run(
        results,
        frozen,
        started_unix_s=time.time(),
        machine=testbed.machine,
        versions=testbed.versions,
        database_settings=testbed.database_settings,
        stacks=testbed.stacks,
        workloads=workloads,
    )


def _measure(
    frozen: Plan, folder: Path, stacks: Sequence[Stack], workloads: Sequence[Workload], testbed: Testbed
) -> Iterator[Event]:
    """Measure what is left of a plan."""
    known, by_id = records.load_run(folder), render_workloads(frozen, workloads)
    yield Planned(frozen, folder, plan.estimate_s(records.left_of(known)))
    yield from map(Said, ceilings.measure(testbed.bench, known, by_id))
    yield Began(frozen, known.everything)
    again = ceilings.Again(testbed.bench, folder, by_id)
    for trial in runner.run(frozen, folder, {one.id: one for one in stacks}, by_id, testbed.bench, before=again):
        yield TrialDone(trial)
        if plan.is_worth_a_page(frozen, trial):
            yield Said(f"the page so far, with {trial.block} of {frozen.blocks} blocks: {pages.report(folder).path}")
    yield from map(Said, again.failures())
