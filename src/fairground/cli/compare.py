"""`compare`: two stacks, two revisions of one, one without and with SQL, or two runs; whether they differ, and by how much."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import typer

from fairground import records
from fairground.cli import against, compared, count, placed, typed
from fairground.cli.arguments import refuse_beside_resume, refuse_others, takes
from fairground.cli.follow import Voice, finish, record_to_resume
from fairground.cli.seats import seat_verb
from fairground.inputs import numbers, options, placing
from fairground.inputs.asked import path
from fairground.inputs.options import Given, Option
from fairground.lab import elsewhere, pages
from fairground.lab.compare import TURN_S, compare_stacks, is_stack, long_enough, name_sides, workload_of
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.model import LabError, Load, Server, secret
from fairground.model.record import ComparisonAsked, RecordKind
from fairground.report import fail_on, two_runs
from fairground.report.compared import Compared, comparison_of, tries_of
from fairground.run import stopping

OPTIONS = (
    Option("a", "A stack (SERVER:VARIANT) or a run; what B is held against.", str | None, None, argument=True),
    Option("b", "Another stack or run; none with --revisions or --sql-before.", str | None, None, argument=True),
    Option("revisions", "Two git revisions of the stack A; `.` is the working tree.", str | None, None, metavar="OLD,NEW"),
    replace(options.SQL_BEFORE, help="Hold the stack A against itself with this file of SQL run on its fresh database."),
    Option("workload", "What is asked (default: the contract's).", str | None, None, short="-w"),
    options.CONTRACT,
    Option("connections", f"Connections at once; with --count {count.CONNECTIONS} unless told.", int, 100),
    Option("budget", "Most time to spend, such as 90s or 5m.", str, "3m"),
    Option("width", "Stop when the interval is within ± this many percent.", float, 0.5),
    Option("window", "Seconds of load on each server in one pair.", numbers.Seconds, 1.0),
    Option("turn", "Seconds of a turn, at least; slow answers make it longer.", numbers.Seconds, TURN_S),
    Option("pairs", "Pairs of windows for each start, at most: six starts must fit (default: up to 5).", int | None, None),
    Option("plant", "Positive control: slow B down by this many percent of its CPU.", float, 0.0),
    Option("margin", "Within ± this many percent two stacks are equivalent.", float, 1.0),
    Option("fail_on", "Exit with 1 when B's whole interval is worse by more: slower:5%, costlier:5%, any:5%; of counts more:1%.",
           str | None, None, metavar="RULE"),
    Option("markdown", "Write the summary for a pull request to this file.", Path | None, None),
    *options.some("threads", "workers", "pool_size", "no_prepared", "durable", "pin"),
    options.COUNT,
    options.WHERE,
    options.COUNTERS,
    Option("requests", "With --count: requests of each start (default: about 1.5 s of its first).", int | None, None),
    options.ONE_VERSION,
    options.SEATS,
    *options.ONE_PATH,
    options.PLACE_OTHERS,
    *options.some("hosts", "tls"),
    Option("seed", "Seed of the requests.", int, 1),
    Option("resume", "Go on with an interrupted comparison: its id, or `latest`.", str | None, None, metavar="RECORD"),
    *options.SHARED,
)  # fmt: skip
OF_ITS_END = ("fail_on", "markdown")
MAY_GO_ON = (*OF_ITS_END, "hosts", "tls", "place")
"""The options that may be given for a comparison that goes on."""


@takes(*OPTIONS)
def compare(context: typer.Context, given: Given) -> None:
    """Tell whether two stacks, two revisions of one, one with and without SQL, or two runs differ.

    Both servers run at once, loaded in short turns.

    Examples: ./fairground compare SERVER:ONE SERVER:TWO -w WORKLOAD · ./fairground compare RUN_A RUN_B ·
    ./fairground compare SERVER:ONE --revisions main,. --fail-on slower:5% ·
    ./fairground compare SERVER:ONE --sql-before index.sql
    """
    places = Places.of(os.environ, given["servers"], given["results"])
    if given["count"]:
        count.compare(context, given, places)
        return
    if given["where"]:
        raise LabError("`--where` goes with `--count`: time has no functions here", "leave it out, or add --count")
    count.refuse_without(given)
    if given["requests"] is not None:
        raise LabError("`--requests` goes with `--count`: time is compared in windows", "leave it out, or add --count")
    rule = None if given["fail_on"] is None else fail_on.parse(given["fail_on"])
    a, b, known = given["a"], given["b"], places.load_servers()
    if given["hosts"] is not None and not placed.placed_roles(given):
        raise LabError("`--hosts` goes with `--place`: two servers are compared on one machine", "add --place generator=HOST")
    folder = None
    if given["resume"] is not None:
        refuse_beside_resume(context, MAY_GO_ON, "comparison")
        record = record_to_resume(places.results, given["resume"], RecordKind.COMPARISON)
        asked, inputs = record.head.asked, Inputs(places, record.head.command, given["database"], record)
        if asked.services is not None:
            against.measure(inputs, against.restore(asked), given, rule)
            return
        elsewhere.same(record.folder.name, asked.settings.place, placed.placed_roles(given))
        shown, folder = _measured(inputs, asked, given)
    elif a is not None and b is not None and not is_stack(known, a) and not is_stack(known, b):
        shown = _of_records(places, a, b)
        refuse_others(context, ("a", "b", *OF_ITS_END), count.OF_RECORDS)
    else:
        inputs = Inputs(places, typed.command(), given["database"])
        shown, folder = _measured(inputs, _asked(places, given, known), given)
    compared.show(shown, folder, given["markdown"], given["as_json"])
    compared.leave(shown, rule)


def _asked(places: Places, given: Given, known: Sequence[Server]) -> ComparisonAsked:
    """Read what is compared, and how, from the command line. LabError for what cannot be meant."""
    window_s = numbers.positive("--window", given["window"])
    load = Load(numbers.positive("--connections", given["connections"]), window_s=window_s, warmup_min_s=2.0, warmup_max_s=15.0)
    settings, load = seat_verb(given, load, given["database"])
    settings = placing.settings(settings, placed.placed_roles(given))
    sql = None if settings.sql_before is None else settings.sql_before.name
    named = name_sides(known, given["a"], given["b"], given["revisions"], sql)
    workload = workload_of(places, known, named, given["workload"], given["contract"])
    load, turn_s = long_enough(places, workload, settings, load, numbers.positive("--turn", given["turn"]))
    budget_s = numbers.seconds("--budget", given["budget"])
    pairs = stopping.pairs_within(budget_s, load) if given["pairs"] is None else numbers.repeats("--pairs", given["pairs"])
    return ComparisonAsked(
        named.label_a,
        named.label_b,
        named.stack_a,
        named.stack_b,
        named.revisions,
        workload,
        load,
        settings,
        given["seed"],
        budget_s=budget_s,
        width=given["width"] / 100,
        pairs=pairs,
        margin=given["margin"] / 100,
        turn_s=turn_s,
        planted=numbers.positive("--plant", given["plant"]) / 100 if given["plant"] else 0.0,
        topology=path(given),
    )


def _measured(inputs: Inputs, asked: ComparisonAsked, given: Given) -> tuple[Compared, Path | None]:
    """Carry it out under lines of progress; what it says, and its folder."""
    placed.not_the_server(asked.settings.place, "compare")
    elsewhere.check_load(asked.load, asked.settings.place)
    with placed.hosts_of(given, asked.settings.place) as there:
        voice = Voice(given["quiet"], tell=compared.tell)
        record = finish(lambda sink: compare_stacks(replace(inputs, elsewhere=there), asked, sink), voice)
    pages.write(record)
    return comparison_of(record), record.folder


def _of_records(places: Places, a: str, b: str) -> Compared:
    """Say what two runs show, or tries of a service: of those there may be several on each side."""
    for text in (a, b):
        if "://" in text:
            raise LabError(f"`{secret.redact(text)}` is a URL, and no stack or record", "./fairground try URL_A --against URL_B")
    if any(records.is_kind(places.results, part, RecordKind.TRY) for text in (a, b) for part in text.split(",")):
        return tries_of(*([records.load(records.find(places.results, part, RecordKind.TRY)) for part in text.split(",")]
                                for text in (a, b)))  # fmt: skip
    return _of_runs(places, a, b)


def _of_runs(places: Places, a: str, b: str) -> Compared:
    one, other = (records.load_run(records.find_run(places.results, text)) for text in (a, b))
    lines, notes = two_runs.compare_runs(one, other)
    wrong = two_runs.regression(one, other)
    return Compared(f"{other.id} against {one.id}", one.id, other.id, lines, notes, wrong)
