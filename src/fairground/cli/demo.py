"""`demo`: everything in one go."""

from __future__ import annotations

import os

from fairground.cli.options import DatabaseUrl, Json, Quiet, Results
from fairground.cli.run import measure_suite
from fairground.inputs import manifest
from fairground.lab import run as runs
from fairground.lab.places import Places


def demo(as_json: Json = False, results: Results = None, database: DatabaseUrl = None, quiet: Quiet = False) -> None:
    """Everything in one go: build the servers, measure all workloads briefly, write report.html.

    Examples: ./fairground demo · ./fairground demo --json > demo.jsonl
    """
    places = Places.of(os.environ, None, results)
    suite = manifest.load_suite(places.suites / "demo.toml")
    measure_suite(suite, runs.Inputs(places, "./fairground demo", database), quiet, as_json)
