"""`capacity`: the highest rate that keeps an objective, confirmed on fresh trials, with the load curve around it."""

from __future__ import annotations

import math
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from fairground.capacity import objective, search
from fairground.capacity.search import Capacity
from fairground.cli import recorded, say
from fairground.cli.arguments import also_takes
from fairground.cli.options import BAD_ANSWER, NOTHING_MEASURED, DatabaseUrl, Json, Quiet, Results, Servers
from fairground.cli.screen import duration
from fairground.cli.seats import seated
from fairground.inputs import numbers, options
from fairground.inputs.options import Given
from fairground.lab import capacity as capacities
from fairground.lab import pages
from fairground.lab.measuring import Inputs, UnitDone
from fairground.lab.places import Places
from fairground.model import LabError, Load
from fairground.model.record import CapacityAsked, Kind
from fairground.report import capacity as words

LEAST_TIMEOUT_MS, MOST_TIMEOUT_MS = 2_000, 10_000


@also_takes(*options.some("threads", "workers", "pool_size", "pool_wait_ms", "durable", "scale", "pin", "seats"))
def capacity_(
    stack: Annotated[
        list[str] | None, typer.Option("--stack", "-s", help="A stack, or a server for all of its stacks; repeatable.")
    ] = None,
    workload: Annotated[
        list[str] | None, typer.Option("--workload", "-w", help="A workload; repeatable (default: ping).")
    ] = None,
    slo: Annotated[str, typer.Option("--slo", help="What must be kept: pNN<TIME and errors<N%, joined by commas.")] = (
        objective.DEFAULT
    ),
    budget: Annotated[str, typer.Option(help="Most time to spend on all of it, such as 90s or 20m; builds do not count.")] = "5m",
    width: Annotated[float, typer.Option(help="How narrow the bracket should be, in percent.")] = 5.0,
    connections: Annotated[int, typer.Option(help="The most connections to open.")] = 1000,
    given: Given = options.NOTHING,
    seed: Annotated[int, typer.Option(help="Seed of the requests.")] = 1,
    resume: Annotated[
        str | None, typer.Option("--resume", metavar="RECORD", help="Go on with an interrupted capacity: its id, or `latest`.")
    ] = None,
    database: DatabaseUrl = None,
    servers: Servers = None,
    results: Results = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """The highest rate that keeps an objective, confirmed on fresh trials. With the load curve and an overload.

    Examples: ./fairground capacity -s SERVER:VARIANT · ./fairground capacity -s SERVER:VARIANT -w tx --slo 'p99<20ms,errors<0.1%'
    --budget 15m
    """
    places = Places.of(os.environ, servers, results)
    if resume is not None:
        recorded.refuse_beside_resume(**{"--stack": stack, "--workload": workload})
        record = recorded.resumed(places, resume, Kind.CAPACITY)
        inputs, asked = Inputs(places, record.head.command, database, record), record.head.asked
    else:
        kept = objective.parse(slo)
        cells = capacities.cells(places, stack or [], workload or ["ping"])
        timeout_ms = min(max(LEAST_TIMEOUT_MS, round(4 * (kept.deadline_us or 0) / 1000)), MOST_TIMEOUT_MS)
        load = Load(numbers.positive("--connections", connections), model="open", timeout_ms=timeout_ms)
        settings, load = seated(given, load, database)
        asked = CapacityAsked(
            cells, kept.text, _share(budget, len(cells)), numbers.positive("--width", width) / 100, load, settings, seed,
        )  # fmt: skip
        inputs = Inputs(places, "./fairground " + shlex.join(sys.argv[1:]), database)
    record = recorded.follow(capacities.capacity(inputs, asked), "capacity", _tell, quiet)
    page, found = pages.write(record), capacities.found(record)
    _say(page, found, as_json)
    if any(one.confirmed_per_s is None for one in found):
        raise typer.Exit(BAD_ANSWER if any(one.measured for one in found) else NOTHING_MEASURED)


def _share(budget: str, cells: int) -> float:
    """The seconds of each cell. LabError where they are too few."""
    budget_s = numbers.seconds("--budget", budget) / cells
    if budget_s < search.LEAST_BUDGET_S:
        least = math.ceil(search.LEAST_BUDGET_S * cells / 60)
        raise LabError(
            f"`--budget {budget}` leaves {budget_s:.0f} s for each of {cells} cells, and one needs 60", f"--budget {least}m"
        )
    return budget_s


def _tell(event: UnitDone) -> None:
    """A line for each step of the part that is finished."""
    part, asked = event.record.entries[-1], event.record.head.asked
    if part.number == 1 and part.phase == "search":
        stack, workload = asked.cells[part.cell - 1]
        say.note(f"{stack} on {workload}: {asked.objective}")
    for line in words.part_lines(part):
        say.note(f"{line}   {duration(event.left_s or 0.0)} left")


def _say(page: Path, found: Sequence[Capacity], as_json: bool) -> None:
    if as_json:
        say.document({"capacities": [words.rows(one) for one in found], "folder": str(page.parent)})
        return
    for one in found:
        for line in (*words.sentences(one), *words.text_curve(one.curve), *one.notes):
            say.line(line)
    say.line(f"page  {page}")
