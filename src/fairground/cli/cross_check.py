"""`cross-check`: the same cell under two or more load generators, in turns, and whether they agree within their noise."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict

import typer

from fairground.cli import say, typed
from fairground.cli.arguments import refuse_beside_resume, takes
from fairground.cli.follow import Voice, Work, follow, record_to_resume
from fairground.cli.options import BAD_ANSWER, NOTHING_MEASURED
from fairground.inputs import asked, numbers, options
from fairground.inputs.options import Given, Option
from fairground.lab.cross_check import CrossCheck, cross_check_stack
from fairground.lab.events import Finished, Reported
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.model import LabError
from fairground.model.record import CrossCheckAsked, RecordKind
from fairground.stats.agreement import Agreement

OPTIONS = (
    Option("stack", "The stack that is loaded.", str | None, None, short="-s"),
    Option("named", "Two or more; the first is what the others are held against.", str, "engine,wrk", spelled="--generator"),
    Option("workload", "The workload (default: the contract's).", str | None, None, short="-w"),
    options.CONTRACT,
    Option("rounds", "How often each of them measures, in turns.", int, 5),
    Option("connections", "Connections at once.", int, 50),
    Option("window", "Seconds of each measurement.", numbers.Seconds, 2.0),
    Option("warmup", "Least and most seconds of warm-up before each; one number for both.", str, "1"),
    Option("rate", "Open loop: requests per second, evenly spaced.", float | None, None),
    Option("resume", "Go on with an interrupted cross-check: its id, or `latest`.", str | None, None, metavar="RECORD"),
    *options.some("threads"),
    *options.SHARED,
)


@takes(*OPTIONS)
def cross_check(context: typer.Context, given: Given) -> None:
    """Do several load generators agree? Exit code 1: they differ beyond their noise.

    Examples: ./fairground cross-check -s SERVER:VARIANT --generator engine,wrk,oha · cross-check -s SERVER:VARIANT --rate 500
    --generator engine,k6
    """
    if given["resume"] is not None:
        refuse_beside_resume(context, (), "cross-check")
    report, end = follow(_work(given), Voice(given["quiet"]))
    assert isinstance(report, Reported) and isinstance(end, Finished), "a cross-check ends with its report and its record"
    agreements = end.record.entries
    if given["as_json"]:
        rows = [asdict(one) for one in agreements]
        say.document({"run": report.run.id, "report": str(report.path), "comparisons": rows})
    else:
        _lines(agreements)
        say.line(f"report  {report.path}")
    if any(one.agrees is False for one in agreements):
        raise typer.Exit(BAD_ANSWER)
    if not any(one.agrees for one in agreements):
        raise typer.Exit(NOTHING_MEASURED)


def cross_checked(record: CrossCheck, as_json: bool) -> None:
    """A stored cross-check has no page: its lines are printed again."""
    if as_json:
        rows = [asdict(one) for one in record.entries]
        say.document({"id": record.id, "kind": str(record.head.kind), "run": record.head.asked.run, "comparisons": rows})
        return
    _lines(record.entries)
    say.line(f"run  {record.head.asked.run}")


def _work(given: Given) -> Work:
    """The use case with what is given."""
    places, command = Places.of(os.environ, given["servers"], given["results"]), typed.command()
    if given["resume"] is not None:
        record = record_to_resume(places.results, given["resume"], RecordKind.CROSS_CHECK)
        going_on = Inputs(places, command, given["database"], record)
        return lambda sink: cross_check_stack(going_on, record.head.asked, sink)
    if given["stack"] is None:
        raise LabError("name the stack that is loaded", "./fairground cross-check --stack SERVER:VARIANT")
    count = numbers.positive("--connections", given["connections"])
    load = {
        "generator": given["named"],
        "connections": str(count),
        "window": given["window"],
        "warmup": given["warmup"],
        "threads": given["threads"],
    }
    loads = asked.loads({**asked.DEFAULTS, **load, "rate": given["rate"], "arrivals": "constant"})
    rounds = numbers.repeats("--rounds", given["rounds"])
    stack = asked.one_stack(places.load_servers(), given["stack"])
    names = () if given["workload"] is None else (given["workload"],)
    (workload,) = places.workloads_of(names, [stack], given["contract"])
    wanted = CrossCheckAsked(given["stack"], workload.id, loads, rounds, "")
    return lambda sink: cross_check_stack(Inputs(places, command, given["database"]), wanted, sink)


def _lines(agreements: Sequence[Agreement]) -> None:
    for one in agreements:
        mark = {True: "✓", False: "✗", None: "–"}[one.agrees]
        say.line(f"{mark} {one.sentence}")
