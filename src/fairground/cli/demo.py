"""`demo`: everything in one go."""

from __future__ import annotations

import os

import typer

from fairground.cli.arguments import takes
from fairground.cli.follow import Voice
from fairground.cli.run import measure_suite
from fairground.cli.seats import machine
from fairground.inputs import asked, manifest, options
from fairground.inputs.options import Given
from fairground.lab import reasons
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs


@takes(options.VERSION, options.SEATS, options.WHY, *(one for one in options.SHARED if one.name != "servers"))
def demo(_: typer.Context, given: Given) -> None:
    """Everything in one go: build the servers, measure six workloads briefly, write report.html.

    Examples: ./fairground demo · ./fairground demo --why 3m · ./fairground demo --json > demo.jsonl
    """
    places, seats, database = Places.of(os.environ, None, given["results"]), given["seats"], given["database"]
    suite = manifest.load_suite(places.suites / "demo.toml", machine=machine(database), seats=seats)
    suite = asked.on_versions(suite, given)
    said = ((option.spelling, given[option.name]) for option in (options.VERSION, options.SEATS))
    command = " ".join(["./fairground demo", *(f"{spelling} {text}" for spelling, text in said if text is not None)])
    inputs = Inputs(places, command, database, why_s=reasons.budget_s(given["why"]))
    measure_suite(suite, inputs, Voice(given["quiet"], given["as_json"]))
