"""`demo`: everything in one go."""

from __future__ import annotations

import os
from dataclasses import replace

import typer

from fairground.cli import say, typed
from fairground.cli.arguments import takes
from fairground.cli.follow import Voice, follow
from fairground.cli.run import measure_suite
from fairground.cli.screen import duration
from fairground.inputs import asked, manifest, options
from fairground.inputs.options import Given
from fairground.lab import first, reasons, setup
from fairground.lab.events import Reported
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.lab.run import run_suite
from fairground.model import Suite
from fairground.model.resume import database_of


@takes(options.VERSION, options.SEATS, options.WHY, options.NO_PRIOR, *(one for one in options.SHARED if one.name != "servers"))
def demo(_: typer.Context, given: Given) -> None:
    """Everything in one go: build the servers, measure four workloads briefly, write report.html.

    Where most is still to be built, the two servers that are built soonest have a page of their own first, a few minutes earlier.

    Examples: ./fairground demo · ./fairground demo --why 3m · ./fairground demo --json > demo.jsonl
    """
    places, seats, database = Places.of(os.environ, None, given["results"]), given["seats"], given["database"]
    suite = manifest.load_suite(places.suites / "demo.toml", machine=setup.machine_seats(database), seats=seats)
    suite = asked.on_versions(suite, given)
    said = ((option.spelling, given[option.name]) for option in (options.VERSION, options.SEATS))
    alone = [options.NO_PRIOR.spelling] if given["no_prior"] else []
    command = " ".join(["./fairground demo", *(f"{spelling} {text}" for spelling, text in said if text is not None), *alone])
    command += database_of(typed.command())
    inputs = Inputs(places, command, database, why_s=reasons.budget_s(given["why"]), prior=not given["no_prior"])
    voice = Voice(given["quiet"], given["as_json"])
    if not (voice.quiet or voice.as_json) and (found := first.look(suite, inputs)) is not None:
        _look(*found, replace(inputs, why_s=None), voice)
    measure_suite(suite, inputs, voice)


def _look(suite: Suite, later_s: float, inputs: Inputs, voice: Voice) -> None:
    """Measure a suite of two stacks, and show its page, before the rest is built: a run of its own."""
    names = " and ".join(suite.groups[0].stacks)
    say.note(f"first look: {names} are the quickest to build; the others, about {duration(later_s)} of building, come after it")
    (end,) = follow(lambda sink: run_suite(suite, inputs, sink), voice)
    assert isinstance(end, Reported), "a run ends with its report"
    say.the_summary(end.run, end.path, as_json=False)
    say.note("that was the first look; now the others are built, and then all is measured together")
