"""`cross-check`: the same cell under two or more load generators, in turns, and whether they agree within their noise."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from fairground import generators
from fairground.inputs import manifest
from fairground.lab import run as runs
from fairground.lab.events import CrossChecked, Event, Reported, Sink, unheard
from fairground.lab.places import Places
from fairground.model import LabError, Load, Settings, Suite, SuiteGroup
from fairground.stats import agreement


@dataclass(frozen=True)
class Inputs:
    """What is loaded, and how: one load for each generator, the first of which the others are held against."""

    places: Places
    stack: str
    workload: str
    loads: tuple[Load, ...]
    rounds: int
    command: str = ""
    database_url: str | None = None


def cross_check(inputs: Inputs, sink: Sink = unheard) -> Generator[Event]:
    """Measure in turns, report the run, and hold the generators against each other: the last event is `CrossChecked`."""
    names = tuple(load.generator for load in inputs.loads)
    carried = runs.Inputs(inputs.places, inputs.command, inputs.database_url)
    for event in runs.run(suite(inputs), carried, sink):
        yield event
        if isinstance(event, Reported):
            trials = event.run.trials
            here = [name for name in names if any(trial.cell.load.generator == name for trial in trials)]
            yield CrossChecked(agreement.of_generators(trials, here))


def suite(inputs: Inputs) -> Suite:
    """The suite that is measured: one stack, every load, `rounds` blocks. LabError when fewer than two generators are named."""
    chosen = manifest.find_stack(inputs.places.load_servers(), inputs.stack)
    if len(chosen) > 1:
        raise LabError(f"`{inputs.stack}` has {len(chosen)} stacks, and one is cross-checked", f"--stack {chosen[0].id}")
    if len({load.generator for load in inputs.loads}) < 2:
        raise LabError("a cross-check needs two different generators", f"--generators engine,{next(iter(generators.TOOLS))}")
    group = SuiteGroup((chosen[0].id,), (inputs.workload,), inputs.loads, Settings())
    return Suite("cross-check", f"cross-check {chosen[0].id}", "", inputs.rounds, 1, (group,))
