"""`cross-check`: the same cell under two or more load generators, in turns, and whether they agree within their noise."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import asdict

import typer

from fairground.cli import say
from fairground.cli.arguments import takes
from fairground.cli.follow import Voice, Work, follow
from fairground.cli.options import BAD_ANSWER, NOTHING_MEASURED
from fairground.inputs import asked, numbers, options
from fairground.inputs.options import Given, Option
from fairground.lab import cross_check as use_case
from fairground.lab.cross_check import Inputs
from fairground.lab.events import CrossChecked, Reported
from fairground.lab.places import Places

OPTIONS = (
    Option("stack", "The stack that is loaded.", str, ..., short="-s"),
    Option("named", "Two or more; the first is what the others are held against.", str, "engine,wrk", spelled="--generator"),
    Option("workload", "The workload.", str, "ping", short="-w"),
    Option("rounds", "How often each of them measures, in turns.", int, 5),
    Option("connections", "Connections at once.", int, 50),
    Option("window", "Seconds of each measurement.", float, 2.0),
    Option("warmup", "Least and most seconds of warm-up before each; one number for both.", str, "1"),
    Option("rate", "Open loop: requests per second, evenly spaced.", float | None, None),
    *options.some("threads"),
    *options.SHARED,
)


@takes(*OPTIONS)
def cross_check(_: typer.Context, given: Given) -> None:
    """Do several load generators find the same? Exit code 1: they differ beyond their noise.

    Examples: ./fairground cross-check -s SERVER:VARIANT --generator engine,wrk,oha · cross-check -s SERVER:VARIANT --rate 500
    --generator engine,k6
    """
    report, found = follow(_work(given), Voice(given["quiet"]))
    assert isinstance(report, Reported) and isinstance(found, CrossChecked), "a cross-check ends with its report and its answer"
    _say(report, found, given["as_json"])
    if any(one.agrees is False for one in found.agreements):
        raise typer.Exit(BAD_ANSWER)
    if not any(one.agrees for one in found.agreements):
        raise typer.Exit(NOTHING_MEASURED)


def _work(given: Given) -> Work:
    """The use case with what is given."""
    places = Places.of(os.environ, given["servers"], given["results"])
    warmup, count = (
        given["warmup"] if "," in given["warmup"] else f"{given['warmup']},{given['warmup']}",
        numbers.positive("--connections", given["connections"]),
    )
    load = {
        "generator": given["named"],
        "connections": str(count),
        "window": given["window"],
        "warmup": warmup,
        "threads": given["threads"],
    }
    loads = asked.loads({**asked.DEFAULTS, **load, "rate": given["rate"], "arrivals": "constant"})
    rounds, command = numbers.positive("--rounds", given["rounds"]), "./fairground " + shlex.join(sys.argv[1:])
    inputs = Inputs(places, given["stack"], given["workload"], loads, rounds, command, given["database"])
    return lambda sink: use_case.cross_check(inputs, sink)


def _say(report: Reported, found: CrossChecked, as_json: bool) -> None:
    if as_json:
        rows = [asdict(one) for one in found.agreements]
        say.document({"run": report.run.id, "report": str(report.path), "comparisons": rows})
        return
    for one in found.agreements:
        mark = {True: "✓", False: "✗", None: "–"}[one.agrees]
        say.line(f"{mark} {one.sentence}")
    say.line(f"report  {report.path}")
