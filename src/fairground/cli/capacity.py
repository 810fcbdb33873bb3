"""`capacity`: the highest rate that keeps an objective, confirmed on fresh trials, with the load curve around it."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import typer

from fairground.capacity import objective, search
from fairground.capacity.cells import capacities_of
from fairground.capacity.objective import Objective
from fairground.capacity.search import LEAST_WIDTH, Capacity
from fairground.cli import attempt, placed, say, typed
from fairground.cli.arguments import refuse_beside_resume, takes
from fairground.cli.follow import Voice, finish, record_to_resume
from fairground.cli.options import BAD_ANSWER, NOTHING_MEASURED
from fairground.cli.screen import duration
from fairground.cli.seats import seat_verb
from fairground.inputs import numbers, options, placing
from fairground.inputs.asked import path
from fairground.inputs.options import Given, Option
from fairground.lab import capacity, elsewhere, pages
from fairground.lab.events import UnitDone
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.model import LabError, Load, secret
from fairground.model.record import CapacityAsked, RecordKind
from fairground.report.capacity import part_lines, rows, sentences, text_curve

LEAST_TIMEOUT_MS = 2_000
OF_A_SERVICE = (
    "method", "body", "header", "requests", "at_least", "timeout_ms", "expect_status", "any_body", "follow", "mine", "ca",
    "insecure",
)  # fmt: skip
"""Options of `try` that say what a service is asked, and how."""

CONFIRMATIONS, STEP_S = 3, 5
DATABASE = (
    "With a stack: this PostgreSQL in place of the embedded one; with a URL: the service's own, read meanwhile;"
    " @FILE holds its URL."
)


def _with_a_url(option: Option) -> Option:
    """The option of `try`, whose help says what it goes with unless it names a URL itself."""
    is_told = "URL" in option.help or option.help.startswith("https")
    return option if is_told else replace(option, help=f"With a URL: {option.help[0].lower()}{option.help[1:]}")


OPTIONS = (
    Option(
        "url",
        "A service's URL, in place of a stack: the rate that `try` tells, confirmed.",
        str | None,
        None,
        argument=True,
        metavar="[URL]",
    ),
    *map(_with_a_url, options.some(*OF_A_SERVICE, among=attempt.OPTIONS)),
    options.STACK,
    Option(
        "workload",
        "With a stack: a workload, or several separated by commas (default: the contract's).",
        list[str] | None,
        None,
        short="-w",
        separated=True,
    ),
    options.CONTRACT,
    Option("slo", "What must be kept: pNN<TIME and errors<N%, joined by commas.", str, objective.DEFAULT),
    Option("budget", "With a stack: most time to spend on all of it, such as 90s or 20m; builds do not count.", str, "5m"),
    Option("width", "With a stack: how narrow the bracket should be, in percent.", float, 5.0),
    Option("connections", "The most connections to open.", int, 1000),
    *options.some("threads", "workers", "pool_size", "pool_wait_ms", "no_prepared", "durable", "scale", "pin", "sql_before"),
    options.ONE_VERSION,
    options.SEATS,
    *options.ONE_PATH,
    options.PLACE_OTHERS,
    *options.some("hosts", "tls"),
    Option("seed", "Seed of the requests.", int, 1),
    Option("resume", "Go on with an interrupted capacity: its id, or `latest`.", str | None, None, metavar="RECORD"),
    *(replace(one, help=DATABASE) if one.name == "database" else one for one in options.SHARED),
)


@takes(*OPTIONS)
def capacity_(context: typer.Context, given: Given) -> None:
    """The highest rate that keeps an objective, confirmed on fresh trials. With the load curve and an overload.

    Examples: ./fairground capacity -s SERVER:VARIANT · capacity -s SERVER:VARIANT -w WORKLOAD --slo 'p99<20ms,errors<0.1%'
    --budget 15m · capacity http://127.0.0.1:3000/x --slo 'p99<50ms'
    · capacity http://127.0.0.1:3000/ --requests calls.toml
    """
    if given["url"] is not None:
        _of_service(given)
        return
    for option in options.some(*OF_A_SERVICE, among=attempt.OPTIONS):
        if given[option.name] not in (option.default, []):
            raise LabError(
                f"`{option.spelling}` is of a service, and no URL is given", f"./fairground capacity URL {option.spelling} …"
            )
    places = Places.of(os.environ, given["servers"], given["results"])
    if given["hosts"] is not None and not placed.placed_roles(given):
        raise LabError("`--hosts` goes with `--place`: a capacity is one server's, on one machine", "add --place generator=HOST")
    if given["resume"] is not None:
        refuse_beside_resume(context, ("hosts", "tls", "place"), "capacity")
        record = record_to_resume(places.results, given["resume"], RecordKind.CAPACITY)
        inputs, asked = Inputs(places, record.head.command, given["database"], record), record.head.asked
        elsewhere.same(record.folder.name, asked.settings.place, placed.placed_roles(given))
    else:
        inputs, asked = Inputs(places, typed.command(), given["database"]), _asked(given, places)
    placed.not_the_server(asked.settings.place, "capacity")
    elsewhere.check_load(asked.load, asked.settings.place)
    with placed.hosts_of(given, asked.settings.place) as there:
        voice = Voice(given["quiet"], tell=_tell)
        record = finish(lambda sink: capacity.capacity(replace(inputs, elsewhere=there), asked, sink), voice)
    page, found = pages.write(record), capacities_of(record)
    _say(page, found, given["as_json"])
    if any(one.confirmed_per_s is None for one in found):
        raise typer.Exit(BAD_ANSWER if any(one.measured for one in found) else NOTHING_MEASURED)


def _of_service(given: Given) -> None:
    """Measure the capacity of a service that runs: a try whose rate is confirmed. LabError for what is of stacks alone."""
    own = {"url", "slo", "connections", "threads", "results", "database", "quiet", "as_json", *OF_A_SERVICE}
    for option in OPTIONS:
        if option.name not in own and given[option.name] not in (option.default, None, [], ()):
            url = secret.redact(given["url"])
            raise LabError(f"`{option.spelling}` is of stacks, and `{url}` is a service", f"./fairground capacity {url}")
    usual = {option.name: option.default for option in attempt.OPTIONS}
    said = {name: given[name] for name in own - {"url"} if given[name] is not None}
    attempt.run(usual | said | {"what": [given["url"]], "seconds": STEP_S}, CONFIRMATIONS)


def _asked(given: Given, places: Places) -> CapacityAsked:
    """Read what is searched, and how, from the command line. LabError for what cannot be meant."""
    kept = objective.parse(given["slo"])
    cells = capacity.capacity_cells(places, given["stack"] or [], given["workload"] or (), given["contract"])
    load = Load(numbers.positive("--connections", given["connections"]), model="open", timeout_ms=timeout_of(kept))
    settings, load = seat_verb(given, load, given["database"])
    settings = placing.settings(settings, placed.placed_roles(given))
    width = numbers.positive("--width", given["width"]) / 100
    if width < LEAST_WIDTH:
        raise LabError(f"`--width {given['width']}` should be {100 * LEAST_WIDTH:g} at least, for rates have four digits")
    return CapacityAsked(cells, kept.text, _share(given["budget"], len(cells)), width, load, settings, given["seed"], path(given))


def timeout_of(kept: Objective) -> int:
    """The longest wait for an answer, in ms. It cuts off no answer for which a deadline has time."""
    return kept.wait_ms(Load.timeout_ms if kept.longest_us is None else LEAST_TIMEOUT_MS)


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
    for line in part_lines(part):
        say.note(f"{line}   at most {duration(event.left_s or 0.0)} left")


def _say(page: Path, found: Sequence[Capacity], as_json: bool) -> None:
    if as_json:
        say.document({"capacities": [rows(one) for one in found], "folder": str(page.parent)})
        return
    for one in found:
        for line in (*sentences(one), *text_curve(one.curve), *one.notes):
            say.line(line)
    say.line(f"page  {page}")
