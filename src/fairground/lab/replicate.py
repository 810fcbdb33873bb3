"""`replicate`: a published benchmark's cells are measured, and each of its claims gets a verdict."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from pathlib import Path

from fairground.claims import judgement, tables
from fairground.inputs import manifest
from fairground.lab import run as runs
from fairground.lab import setup, splice
from fairground.lab.events import Event, Replicated, Reported, Sink, unheard
from fairground.lab.places import Places
from fairground.model import LabError, Run, Suite
from fairground.report import replication
from fairground.report.replication import Replication
from fairground.run import journal, store


@dataclass(frozen=True)
class Inputs:
    """What is replicated. `of_run`: judge that run and measure nothing; `resume`: go on with that run; both by name."""

    places: Places
    suite: str
    profile: str = "quick"
    blocks: int | None = None
    of_run: str | None = None
    resume: str | None = None
    markdown: Path | None = None
    """The Markdown file that gets the verdicts, in place of the suite's earlier ones."""
    database_url: str | None = None

    @property
    def command(self) -> str:
        """What a person would type for it."""
        words = f"./fairground replicate {self.suite} --profile {self.profile}"
        return words + ("" if self.blocks is None else f" --blocks {self.blocks}")


def replicate(inputs: Inputs, sink: Sink = unheard) -> Generator[Event]:
    """Measure the suite's cells, or take a run that is there; the last event is `Replicated`."""
    chosen = suite(inputs)
    for event in _events(chosen, inputs, sink):
        yield event
        if isinstance(event, Reported):
            yield _judged(chosen, event.run, inputs)


def suite(inputs: Inputs) -> Suite:
    """The suite under its profile. LabError when there is none of that name, or it claims nothing."""
    path = inputs.places.suites / f"{inputs.suite}.toml"
    if not path.exists():
        there = [one.stem for one in sorted(inputs.places.suites.glob("*.toml")) if "[[claims]]" in one.read_text()]
        raise LabError(f"there is no suite `{inputs.suite}` to replicate", f"suites with claims: {', '.join(there)}")
    if not manifest.load_suite(path).claims:  # such a suite has no profiles either
        raise LabError(f"the suite `{inputs.suite}` makes no claims", f"./fairground run suites/{inputs.suite}.toml")
    found = manifest.load_suite(path, inputs.profile, setup.machine_seats(inputs.database_url))
    return found if inputs.blocks is None else replace(found, blocks=inputs.blocks)


def _events(chosen: Suite, inputs: Inputs, sink: Sink) -> Generator[Event]:
    places, carried = inputs.places, runs.Inputs(inputs.places, inputs.command, inputs.database_url)
    if inputs.of_run is not None:
        yield runs.report(store.find(places.results, inputs.of_run))
    elif inputs.resume is not None:
        yield from runs.resume(store.find(places.results, inputs.resume), carried, sink=sink)
    else:
        yield from runs.run(chosen, carried, sink)


def _judged(chosen: Suite, found: Run, inputs: Inputs) -> Replicated:
    judged = Replication(chosen, found, judgement.judge(chosen, found.trials), tables.read_tables(chosen, found.trials))
    path = found.folder / f"replicate-{chosen.id}.html"
    journal.replace(path, replication.html(judged, inputs.profile).encode())
    if inputs.markdown is not None:
        splice.put(inputs.markdown, chosen.id, replication.markdown(judged, inputs.profile), "Replications")
    return Replicated(judged, path)
