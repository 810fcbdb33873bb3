"""`demo`: everything in one go."""

from __future__ import annotations

import os

from fairground.cli.arguments import also_takes
from fairground.cli.follow import Voice
from fairground.cli.options import DatabaseUrl, Json, Quiet, Results
from fairground.cli.run import measure_suite
from fairground.cli.seats import machine
from fairground.inputs import manifest, options
from fairground.inputs.options import Given
from fairground.lab import run as runs
from fairground.lab.places import Places


@also_takes(*options.some("seats"))
def demo(
    given: Given = options.NOTHING,
    as_json: Json = False,
    results: Results = None,
    database: DatabaseUrl = None,
    quiet: Quiet = False,
) -> None:
    """Everything in one go: build the servers, measure seven workloads briefly, write report.html.

    Examples: ./fairground demo · ./fairground demo --json > demo.jsonl
    """
    places = Places.of(os.environ, None, results)
    seats = given["seats"]
    suite = manifest.load_suite(places.suites / "demo.toml", machine=machine(database), seats=seats)
    command = "./fairground demo" + ("" if seats is None else f" --seats {seats}")
    measure_suite(suite, runs.Inputs(places, command, database), Voice(quiet, as_json))
