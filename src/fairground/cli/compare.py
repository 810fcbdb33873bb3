"""`compare`: two stacks, two revisions of one, or two runs; whether they differ, and by how much."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from fairground.cli import recorded, say
from fairground.cli.arguments import also_takes
from fairground.cli.options import BAD_ANSWER, DatabaseUrl, Json, Results, Servers
from fairground.cli.screen import duration
from fairground.cli.seats import seated
from fairground.inputs import numbers, options
from fairground.inputs.options import Given
from fairground.lab import compare as comparing
from fairground.lab import pages
from fairground.lab.measuring import Inputs, UnitDone
from fairground.lab.pages import Compared
from fairground.lab.places import Places
from fairground.model import LabError, Load, storing
from fairground.model.record import ComparisonAsked, Kind
from fairground.report import comparison
from fairground.run import store

FAIL_ON = re.compile(r"(slower|dearer|any):(\d+(?:\.\d+)?)%")
QUANTITIES = {"slower": ("goodput",), "dearer": ("server CPU",), "any": ("goodput", "server CPU")}


@also_takes(*options.some("threads", "workers", "pool_size", "pin", "seats", "quiet"))
def compare(
    a: Annotated[str | None, typer.Argument(help="A stack (SERVER:VARIANT) or a run; what B is held against.")] = None,
    b: Annotated[str | None, typer.Argument(help="Another stack or run; none with --revisions.")] = None,
    revisions: Annotated[
        str | None,
        typer.Option(metavar="OLD,NEW", help="Two git revisions of the stack A; `.` is the working tree."),
    ] = None,
    workload: Annotated[str, typer.Option("--workload", "-w", help="What is asked.")] = "ping",
    connections: Annotated[int, typer.Option(help="Connections at once.")] = 100,
    budget: Annotated[str, typer.Option(help="Most time to spend, such as 90s or 5m.")] = "3m",
    width: Annotated[float, typer.Option(help="Stop when the interval is within ± this many percent.")] = 0.5,
    window: Annotated[float, typer.Option(help="Seconds of load on each server in one pair.")] = 1.0,
    turn: Annotated[float, typer.Option(help="Seconds of a turn, at least; slow answers make it longer.")] = comparing.TURN_S,
    pairs: Annotated[int, typer.Option(help="Pairs of windows for each start of the servers.")] = 5,
    plant: Annotated[float, typer.Option(help="Positive control: slow B down by this many percent of its CPU.")] = 0.0,
    margin: Annotated[float, typer.Option(help="Within ± this many percent two stacks are equivalent.")] = 1.0,
    fail_on: Annotated[
        str | None, typer.Option(metavar="RULE", help="Exit with 1 when B is called worse by more: slower:5%, dearer:5%, any:5%.")
    ] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the summary for a pull request to this file.")] = None,
    given: Given = options.NOTHING,
    seed: Annotated[int, typer.Option(help="Seed of the requests.")] = 1,
    resume: Annotated[
        str | None, typer.Option("--resume", metavar="RECORD", help="Go on with an interrupted comparison: its id, or `latest`.")
    ] = None,
    database: DatabaseUrl = None,
    servers: Servers = None,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Whether two stacks, two revisions of one, or two runs differ. Both servers run at once, loaded in short turns.

    Examples: ./fairground compare SERVER:ONE SERVER:TWO -w tx · ./fairground compare RUN_A RUN_B ·
    ./fairground compare SERVER:ONE --revisions main,. --fail-on slower:5%
    """
    places, rule, quiet = Places.of(os.environ, servers, results), _rule(fail_on), given["quiet"]
    known, folder = places.load_servers(), None
    if resume is not None:
        recorded.refuse_beside_resume(A=a, B=b, **{"--revisions": revisions})
        record = recorded.resumed(places, resume, Kind.COMPARISON)
        shown, folder = _measured(Inputs(places, record.head.command, database, record), record.head.asked, quiet)
    elif a is not None and b is not None and not comparing.is_stack(known, a) and not comparing.is_stack(known, b):
        shown = _of_runs(places, a, b)
    else:
        window_s = numbers.positive("--window", window)
        load = Load(numbers.positive("--connections", connections), window_s=window_s, warmup_min_s=2.0, warmup_max_s=15.0)
        settings, load = seated(given, load, database)
        named = comparing.name(known, a, b, revisions)
        asked = ComparisonAsked(
            named.label_a, named.label_b, named.stack_a, named.stack_b, named.revisions, workload, load, settings, seed,
            numbers.seconds("--budget", budget), width / 100, numbers.positive("--pairs", pairs), margin / 100,
            numbers.positive("--turn", turn), numbers.positive("--plant", plant) / 100 if plant else 0.0,
        )  # fmt: skip
        shown, folder = _measured(Inputs(places, "./fairground " + shlex.join(sys.argv[1:]), database), asked, quiet)
    _say(shown, folder, markdown, as_json)
    _exit(shown, rule, fail_on)


def _measured(inputs: Inputs, asked: ComparisonAsked, quiet: bool) -> tuple[Compared, Path | None]:
    """Carry it out under lines of progress; what it says, and its folder."""
    record = recorded.follow(comparing.compare(inputs, asked), "compare", _tell, quiet)
    pages.write(record)
    return pages.compared(record), record.folder


def _tell(event: UnitDone) -> None:
    """One line for each round."""
    found = pages.decided(event.record)
    words = "" if found.half_width is None else f", ± {found.half_width:.1%}"
    left = duration(event.left_s or 0.0)
    say.note(f"round {len(event.record.entries)}: {found.pairs} pairs{words}, at most {left} left")


def _of_runs(places: Places, a: str, b: str) -> Compared:
    one, other = (store.load(store.find(places.results, text)) for text in (a, b))
    lines, notes = comparing.of_runs(one, other)
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


def _exit(found: Compared, rule: tuple[str, float] | None, fail_on: str | None) -> None:
    """Exit code 1 where an arm is rejected, and where B is called worse by more than the rule allows."""
    if found.rejected is not None:
        raise typer.Exit(BAD_ANSWER)
    if rule is None:
        return
    worst = max((line.slowdown or 0.0 for line in found.lines if line.quantity in QUANTITIES[rule[0]]), default=0.0)
    if worst > rule[1]:
        say.note(f"failed: B is worse by {comparison.signed(worst)}, and {fail_on} was asked for")
        raise typer.Exit(BAD_ANSWER)


def _rule(text: str | None) -> tuple[str, float] | None:
    if text is None:
        return None
    found = FAIL_ON.fullmatch(text)
    if found is None:
        raise LabError(f"`--fail-on {text}` is no rule", "for instance --fail-on slower:5%, dearer:5% or any:5%")
    return found[1], float(found[2]) / 100
