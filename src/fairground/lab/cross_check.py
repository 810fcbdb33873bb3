"""`cross-check`: the same cell under two or more load generators, in turns, and whether they agree within their noise.

Its record names a run: the trials are the run's, and the record has what the generators say of each other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from fairground import generators, records
from fairground.inputs.asked import one_stack
from fairground.lab.events import Event, Planned, RecordOpened, Reported, Sink, unheard
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.lab.recording import NewEntry, Units, record_units
from fairground.lab.run import resume_run, run_suite
from fairground.model import CellSettings, LabError, Run, Suite, SuiteGroup
from fairground.model.record import CrossCheckAsked, Head, Record, RecordEnd, RecordKind
from fairground.model.resume import VERBS
from fairground.stats import agreement
from fairground.stats.agreement import Agreement

CrossCheck = Record[CrossCheckAsked, Agreement]


def cross_check_stack(inputs: Inputs, asked: CrossCheckAsked, sink: Sink = unheard) -> Iterator[Event]:
    """Measure in turns, report the run, and hold the generators against each other.

    The trials are those of a run. The record of the cross-check names it, and holds what its generators say of each other. In
    what is asked for, `run` is empty until there is one.
    """
    record = inputs.record
    if record is None:
        events = run_suite(suite(inputs.places, asked), inputs, sink)
    else:
        events = resume_run(_run_of(record, inputs.places), inputs, sink=sink)
    for event in events:
        yield event
        if isinstance(event, Planned):
            record = record or _new_record(inputs, asked, event.folder)
            yield RecordOpened(record)  # what an interruption keeps is named by it, and not by its run
        elif isinstance(event, Reported):
            assert record is not None, "a run is planned before it is reported"
            yield from record_units(record, _agreements(record, event.run))


def suite(places: Places, asked: CrossCheckAsked) -> Suite:
    """The suite that is measured: one stack, every load, `rounds` blocks. LabError when fewer than two generators are named."""
    stack = one_stack(places.load_servers(), asked.stack)
    if len({load.generator for load in asked.loads}) < 2:
        raise LabError("a cross-check needs two different generators", f"--generator engine,{next(iter(generators.TOOLS))}")
    group = SuiteGroup((stack.id,), (asked.workload,), asked.loads, CellSettings())
    return Suite("cross-check", f"cross-check {stack.id}", "", asked.rounds, 1, (group,))


def says(record: CrossCheck) -> str:
    """The outcome, in one sentence."""
    judged = [one for one in record.entries if one.agrees is not None]
    if not judged:
        return "Nothing can be said of the generators: too few rounds have a number of both, or they scatter too much."
    apart = [one for one in judged if not one.agrees]
    if apart:
        return apart[0].sentence
    untold = len(record.entries) - len(judged)
    rest = f"; of {untold} it cannot be told" if untold else ""
    return f"The generators agree in {len(judged)} of {len(record.entries)} measures{rest}."


def _run_of(record: CrossCheck, places: Places) -> Path:
    """The folder of its trials; LabError where it is gone."""
    folder = places.results / record.head.asked.run
    if records.kind_of(folder) is not RecordKind.RUN:
        sentence = f"the trials of `{record.id}` are in the run `{record.head.asked.run}`, which is not in `{places.results}`"
        raise LabError(sentence, "restore its folder, or measure again")
    return folder


def _new_record(inputs: Inputs, asked: CrossCheckAsked, folder: Path) -> CrossCheck:
    """The record, its head on the disk: machine, versions and thresholds are those of the run whose trials it has."""
    head = records.read_head(folder)
    (stack,) = {slot.cell.stack for slot in head.asked.slots}
    begun = replace(asked, stack=stack, run=folder.name)
    known = Head(
        head.schema, RecordKind.CROSS_CHECK, "", inputs.command, time.time(), head.machine, head.versions, head.thresholds,
        head.stacks, begun,
    )  # fmt: skip
    return records.create(inputs.places.results, VERBS[RecordKind.CROSS_CHECK], known)


def _agreements(record: CrossCheck, run: Run) -> Units:
    """Find how far the generators agree in the trials, as far as the record does not hold that already."""
    here = {trial.cell.load.generator for trial in run.trials}
    names = [load.generator for load in record.head.asked.loads if load.generator in here]
    for found in agreement.of_generators(run.trials, names)[len(record.entries) :]:
        yield NewEntry(found)
    yield RecordEnd(time.time(), "all of its rounds were measured")
