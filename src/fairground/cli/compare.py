"""`compare`: two stacks, two revisions of one, one without and with SQL, or two runs; whether they differ, and by how much."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import typer

from fairground import records
from fairground.cli import count, placed, say, typed
from fairground.cli.arguments import takes
from fairground.cli.follow import Voice, finish, record_to_resume, refuse_beside_resume
from fairground.cli.options import BAD_ANSWER, NOTHING_MEASURED
from fairground.cli.screen import duration
from fairground.cli.seats import seat_verb
from fairground.inputs import numbers, options, placing
from fairground.inputs.asked import path
from fairground.inputs.options import Given, Option
from fairground.lab import compare as comparing
from fairground.lab import elsewhere, pages
from fairground.lab.events import UnitDone
from fairground.lab.pages import Compared
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.model import LabError, Load, Server, storing
from fairground.model.record import ComparisonAsked, RecordKind
from fairground.report import fail_on, two_runs
from fairground.report.fail_on import Rule
from fairground.run import stopping

OPTIONS = (
    Option("a", "A stack (SERVER:VARIANT) or a run; what B is held against.", str | None, None, argument=True),
    Option("b", "Another stack or run; none with --revisions or --sql-before.", str | None, None, argument=True),
    Option("revisions", "Two git revisions of the stack A; `.` is the working tree.", str | None, None, metavar="OLD,NEW"),
    replace(options.SQL_BEFORE, help="Hold the stack A against itself with this file of SQL run on its fresh database."),
    Option("workload", "What is asked (default: the contract's).", str | None, None, short="-w"),
    options.CONTRACT,
    Option("connections", "Connections at once.", int, 100),
    Option("budget", "Most time to spend, such as 90s or 5m.", str, "3m"),
    Option("width", "Stop when the interval is within ± this many percent.", float, 0.5),
    Option("window", "Seconds of load on each server in one pair.", numbers.Seconds, 1.0),
    Option("turn", "Seconds of a turn, at least; slow answers make it longer.", numbers.Seconds, comparing.TURN_S),
    Option("pairs", "Pairs of windows for each start, at most: six starts must fit (default: up to 5).", int | None, None),
    Option("plant", "Positive control: slow B down by this many percent of its CPU.", float, 0.0),
    Option("margin", "Within ± this many percent two stacks are equivalent.", float, 1.0),
    Option("fail_on", "Exit with 1 when B's whole interval is worse by more: slower:5%, dearer:5%, any:5%.", str | None, None,
           metavar="RULE"),
    Option("markdown", "Write the summary for a pull request to this file.", Path | None, None),
    *options.some("threads", "workers", "pool_size", "no_prepared", "durable", "pin"),
    options.COUNT,
    options.WHERE,
    Option("requests", "With --count: requests of each start (default: about 3 s of its first).", int | None, None),
    options.ONE_VERSION,
    options.SEATS,
    *options.ONE_PATH,
    *options.some("place", "hosts", "tls"),
    Option("seed", "Seed of the requests.", int, 1),
    Option("resume", "Go on with an interrupted comparison: its id, or `latest`.", str | None, None, metavar="RECORD"),
    *options.SHARED,
)  # fmt: skip


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
    if given["requests"] is not None:
        raise LabError("`--requests` goes with `--count`: time is compared in windows", "leave it out, or add --count")
    rule = None if given["fail_on"] is None else fail_on.parse(given["fail_on"])
    a, b, known = given["a"], given["b"], places.load_servers()
    if given["hosts"] is not None and not placed.placed_roles(given):
        raise LabError("`--hosts` goes with `--place`: two servers are compared on one machine", "add --place generator=HOST")
    folder = None
    if given["resume"] is not None:
        refuse_beside_resume(A=a, B=b, **{"--revisions": given["revisions"], "--sql-before": given["sql_before"]})
        record = record_to_resume(places.results, given["resume"], RecordKind.COMPARISON)
        asked, inputs = record.head.asked, Inputs(places, record.head.command, given["database"], record)
        elsewhere.same(record.folder.name, asked.settings.place, placed.placed_roles(given))
        shown, folder = _measured(inputs, asked, given)
    elif a is not None and b is not None and not comparing.is_stack(known, a) and not comparing.is_stack(known, b):
        shown = _of_runs(places, a, b)
    else:
        inputs = Inputs(places, typed.command(), given["database"])
        shown, folder = _measured(inputs, _asked(places, given, known), given)
    _say(shown, folder, given["markdown"], given["as_json"])
    _exit(shown, rule)


def _asked(places: Places, given: Given, known: Sequence[Server]) -> ComparisonAsked:
    """Read what is compared, and how, from the command line. LabError for what cannot be meant."""
    window_s = numbers.positive("--window", given["window"])
    load = Load(numbers.positive("--connections", given["connections"]), window_s=window_s, warmup_min_s=2.0, warmup_max_s=15.0)
    settings, load = seat_verb(given, load, given["database"])
    settings = placing.settings(settings, placed.placed_roles(given))
    sql = None if settings.sql_before is None else settings.sql_before.name
    named = comparing.name(known, given["a"], given["b"], given["revisions"], sql)
    workload = comparing.workload_of(places, known, named, given["workload"], given["contract"])
    load, turn_s = comparing.long_enough(places, workload, settings, load, numbers.positive("--turn", given["turn"]))
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
        voice = Voice(given["quiet"], again="compare --resume RUN", tell=_tell)
        record = finish(lambda sink: comparing.compare_stacks(replace(inputs, elsewhere=there), asked, sink), voice)
    pages.write(record)
    return pages.comparison_of(record), record.folder


def _tell(event: UnitDone) -> None:
    """One line for each round."""
    found = pages.decision_of(event.record)
    words = "" if found.half_width is None else f", ± {found.half_width:.1%}"
    left = duration(event.left_s or 0.0)
    say.note(f"round {len(event.record.entries)}: {found.pairs} pairs{words}, at most {left} left")


def _of_runs(places: Places, a: str, b: str) -> Compared:
    one, other = (records.load_run(records.find_run(places.results, text)) for text in (a, b))
    lines, notes = two_runs.compare_runs(one, other)
    return Compared(f"{other.id} against {one.id}", one.id, other.id, lines, notes)


def _say(found: Compared, folder: Path | None, markdown: Path | None, as_json: bool) -> None:
    if markdown is not None:
        with storing(markdown):
            markdown.write_text(found.markdown, encoding="utf-8")
    if as_json:
        say.document(found.document | {"folder": str(folder) if folder else None})
        return
    for line in found.sentences:
        say.line(line)
    if folder is not None:
        say.line(f"page  {folder / 'compare.html'}")


def _exit(found: Compared, rule: Rule | None) -> None:
    """Exit code 1 where an arm is rejected or the rule is broken; 3 without any number, or one to hold the rule against."""
    if found.rejected is not None:
        raise typer.Exit(BAD_ANSWER)
    if rule is None:
        if not found.is_measured:
            raise typer.Exit(NOTHING_MEASURED)
        return
    if not fail_on.is_measured(found.lines, rule):
        say.note(f"nothing was measured that {rule.text} could be held against")
        raise typer.Exit(NOTHING_MEASURED)
    sentences = fail_on.broken_rules(found.lines, rule)
    for sentence in sentences:
        say.note(f"failed: {sentence}")
    if sentences:
        raise typer.Exit(BAD_ANSWER)
