"""`cross-check`: the same cell under two or more load generators, in turns, and whether they agree within their noise.

Its record names a run: the trials are the run's, and the record has what the generators say of each other.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from fairground import generators
from fairground.inputs import manifest
from fairground.lab import run as runs
from fairground.lab.events import CrossChecked, Event, Planned, Reported, Sink, unheard
from fairground.lab.measuring import TITLES
from fairground.lab.places import Places
from fairground.model import LabError, Load, Settings, Suite, SuiteGroup
from fairground.model.record import CrossCheckAsked, End, Head, Kind, Record
from fairground.run import records, store
from fairground.stats import agreement
from fairground.stats.agreement import Agreement

CrossCheck = Record[CrossCheckAsked, Agreement]


@dataclass(frozen=True)
class Inputs:
    """What is loaded, and how: one load for each generator, the first of which the others are held against.

    `record` is one to go on with: then it says all of that.
    """

    places: Places
    stack: str = ""
    workload: str = ""
    loads: tuple[Load, ...] = ()
    rounds: int = 0
    command: str = ""
    database_url: str | None = None
    record: CrossCheck | None = None


def cross_check(inputs: Inputs, sink: Sink = unheard) -> Generator[Event]:
    """Measure in turns, report the run, and hold the generators against each other: the last event is `CrossChecked`.

    The trials are those of a run. The record of the cross-check names it, and holds what its generators say of each other.
    """
    record, carried = inputs.record, runs.Inputs(inputs.places, inputs.command, inputs.database_url)
    if record is None:
        events = runs.run(suite(inputs), carried, sink)
    else:
        events = runs.resume(_run_of(record, inputs.places), carried, sink=sink)
    for event in events:
        yield event
        if isinstance(event, Planned) and record is None:
            record = _begun(inputs, event.folder)
        elif isinstance(event, Reported):
            assert record is not None, "a run is planned before it is reported"
            record = _ended(record, event)
            yield CrossChecked(record.entries)


def suite(inputs: Inputs) -> Suite:
    """The suite that is measured: one stack, every load, `rounds` blocks. LabError when fewer than two generators are named."""
    chosen = manifest.find_stack(inputs.places.load_servers(), inputs.stack)
    if len(chosen) > 1:
        raise LabError(f"`{inputs.stack}` has {len(chosen)} stacks, and one is cross-checked", f"--stack {chosen[0].id}")
    if len({load.generator for load in inputs.loads}) < 2:
        raise LabError("a cross-check needs two different generators", f"--generator engine,{next(iter(generators.TOOLS))}")
    group = SuiteGroup((chosen[0].id,), (inputs.workload,), inputs.loads, Settings())
    return Suite("cross-check", f"cross-check {chosen[0].id}", "", inputs.rounds, 1, (group,))


def says(record: CrossCheck) -> str:
    """What came of it, in one sentence."""
    judged = [one for one in record.entries if one.agrees is not None]
    if not judged:
        return "Nothing can be said of the generators: fewer than two rounds have a number of both."
    apart = [one for one in judged if not one.agrees]
    return apart[0].sentence if apart else f"The generators agree in {len(judged)} of {len(record.entries)} measures."


def _run_of(record: CrossCheck, places: Places) -> Path:
    """The folder of its trials; LabError where it is gone."""
    folder = places.results / record.head.asked.run
    if records.declared(folder) is not Kind.RUN:
        sentence = f"the trials of `{record.id}` are in the run `{record.head.asked.run}`, which is not in `{places.results}`"
        raise LabError(sentence, "restore its folder, or measure again")
    return folder


def _begun(inputs: Inputs, folder: Path) -> CrossCheck:
    """The record, its head on the disk: machine, versions and thresholds are those of the run whose trials it has."""
    head = records.of_run(store.load(folder)).head
    (stack,) = {slot.cell.stack for slot in head.asked.slots}
    asked = CrossCheckAsked(stack, inputs.workload, inputs.loads, inputs.rounds, folder.name)
    known = (head.machine, head.versions, head.thresholds, head.stacks)
    begun = Head(head.schema, Kind.CROSS_CHECK, "", inputs.command, time.time(), *known, asked)
    return records.create(inputs.places.results, TITLES[Kind.CROSS_CHECK], begun)


def _ended(record: CrossCheck, of: Reported) -> CrossCheck:
    """With what its trials say, as far as it does not hold that already."""
    trials = of.run.trials
    here = {trial.cell.load.generator for trial in trials}
    names = [load.generator for load in record.head.asked.loads if load.generator in here]
    for found in agreement.of_generators(trials, names)[len(record.entries) :]:
        record = records.append(record, found)
    return record if record.end is not None else records.end(record, End(time.time(), "all of its rounds were measured"))
