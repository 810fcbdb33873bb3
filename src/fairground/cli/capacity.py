"""`capacity`: the highest rate that keeps an objective, confirmed on fresh trials, with the load curve around it."""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from fairground import build, capacity, contract, machine, manifest, objective
from fairground.capacity import Capacity
from fairground.cli import lab, measure, numbers, say
from fairground.cli.run import BAD_ANSWER, NOTHING_MEASURED, DatabaseUrl, Json, Quiet, Results, Servers
from fairground.cli.screen import duration
from fairground.climb import Climb
from fairground.model import SCHEMA_VERSION, Cell, Durability, LabError, Load, Machine, Settings, Stack, Topology, Workload
from fairground.objective import Objective
from fairground.report import capacity as words
from fairground.report import render
from fairground.trial import Bench

LEAST_TIMEOUT_MS, MOST_TIMEOUT_MS = 2_000, 10_000
TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h)")


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
    workers: Annotated[int, typer.Option(help="Processes or threads of each server.")] = 2,
    pool_size: Annotated[int, typer.Option(help="Connections to the database, over all workers.")] = 25,
    pool_wait_ms: Annotated[int | None, typer.Option(help="Longest wait for a connection; 0: none (default: no limit).")] = None,
    durable: Annotated[bool, typer.Option("--durable", help="fsync and synchronous_commit on.")] = False,
    scale: Annotated[int, typer.Option(help="pgbench scale of the data.")] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the requests.")] = 1,
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
    kept, places = objective.parse(slo), lab.Places.of(os.environ, servers, results)
    settings = Settings(
        numbers.positive("--workers", workers),
        numbers.positive("--pool-size", pool_size),
        numbers.wait(pool_wait_ms),
        durability=Durability.DURABLE if durable else Durability.RELAXED,
        scale=numbers.positive("--scale", scale),
    )
    cells = _cells(places, stack or [], workload or ["ping"])
    budget_s = seconds_of("--budget", budget) / len(cells)
    if budget_s < capacity.LEAST_BUDGET_S:
        least = math.ceil(capacity.LEAST_BUDGET_S * len(cells) / 60)
        raise LabError(
            f"`--budget {budget}` leaves {budget_s:.0f} s for each of {len(cells)} cells, and one needs 60", f"--budget {least}m"
        )
    timeout_ms = min(max(LEAST_TIMEOUT_MS, round(4 * (kept.deadline_us or 0) / 1000)), MOST_TIMEOUT_MS)
    load = Load(numbers.positive("--connections", connections), model="open", timeout_ms=timeout_ms)
    wish = Wish(kept, budget_s, numbers.positive("--width", width) / 100, load, settings, seed, quiet)
    folder, found = _measured(places, cells, wish, database)
    _say(folder, found, as_json)
    if any(one.confirmed_per_s is None for one in found):
        raise typer.Exit(BAD_ANSWER if any(one.measured for one in found) else NOTHING_MEASURED)


@dataclass(frozen=True)
class Wish:
    """What is asked for, the same for each cell."""

    objective: Objective
    budget_s: float
    width: float
    load: Load
    settings: Settings
    seed: int
    quiet: bool


def seconds_of(option: str, text: str) -> float:
    """`90s`, `5m` or `1h` in seconds. LabError for anything else."""
    found = TIME.fullmatch(text.strip())
    if found is None or float(found[1]) <= 0:
        raise LabError(f"`{option} {text}` should be a time", f"for instance {option} 90s, 5m or 1h")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]


def new_folder(places: lab.Places, word: str) -> Path:
    """The folder of what is to be measured, named by the moment and the verb."""
    folder = places.results / f"{time.strftime('%Y-%m-%d-%H%M%S', time.gmtime())}-{word}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise LabError(f"`{folder}` cannot be made ({error.strerror})", "choose another folder with --results") from error
    return folder


def _cells(places: lab.Places, stacks: Sequence[str], workloads: Sequence[str]) -> list[tuple[Stack, Workload]]:
    """Every named stack on every named workload that its server does not skip."""
    if not stacks:
        raise LabError("name at least one `--stack`", "./fairground capacity --stack SERVER:VARIANT")
    servers, known = places.load_servers(), {one.id: one for one in places.workloads()}
    for name in workloads:
        if name not in known:
            raise LabError(f"there is no workload `{name}`", f"workloads: {', '.join(sorted(known))}")
    chosen = dict.fromkeys(one.id for name in stacks for one in manifest.find_stack(servers, name))
    by_id = {one.id: one for server in servers for one in server.stacks}
    cells = [(by_id[id], known[name]) for id in chosen for name in dict.fromkeys(workloads) if name not in by_id[id].server.skip]
    if not cells:
        raise LabError("none of these stacks does any of these workloads", "`./fairground list workloads` shows them all")
    return cells


def _measured(
    places: lab.Places, cells: Sequence[tuple[Stack, Workload]], wish: Wish, url: str | None
) -> tuple[Path, list[Capacity]]:
    """One climb after the other; the documents are written after each, so that an interruption keeps what is finished."""
    found: list[Capacity] = []
    with ExitStack() as held:
        keeper = held.enter_context(lab.keeping())
        options = measure.Options(places, url, wish.quiet, say.talk)
        builds = measure.build(keeper, list({one.server.id: one.server for one, _ in cells}.values()), options)
        here = [(one, asked) for one, asked in cells if not isinstance(builds[one.server.id], build.Unavailable)]
        if not here:
            raise LabError("none of these stacks can be had here", "./fairground doctor", exit_code=3)
        database = held.enter_context(lab.database(keeper, places, url, wish.settings.durability))
        say.talk.print("making the data …", highlight=False)
        database.prepare(wish.settings.scale)
        lab.keep_awake(held, keeper, places, say.note)
        folder = new_folder(places, "capacity")
        cases = contract.load(places.contract / "cases")
        bench = Bench(keeper, database, places.engine, cases, machine.cores())
        versions = lab.versions(places, database)
        pace = capacity.pace(wish.budget_s, wish.objective.least_requests, wish.width)
        for number, (one, asked) in enumerate(here, 1):
            cell = Cell(one.id, asked.id, Topology(), wish.load, wish.settings)
            _tell(f"{one.id} on {asked.id}: {wish.objective.text}", wish.budget_s * (len(here) - number + 1), wish.quiet)
            climb = Climb(
                bench, cell, one, manifest.render(asked, wish.settings.scale), wish.objective, pace, wish.budget_s,
                folder / f"{number:02}", wish.seed, lambda line, left_s: _tell(line, left_s, wish.quiet),
            )  # fmt: skip
            found.append(climb.run())
            _write(folder, found, wish, versions, machine.fingerprint(keeper.awake))
    return folder, found


def _write(folder: Path, found: Sequence[Capacity], wish: Wish, versions: dict[str, str], measured_on: Machine) -> None:
    """capacity.json and capacity.html of what is finished."""
    document = {
        "schema": SCHEMA_VERSION,
        "capacities": [words.rows(one) for one in found],
        "settings": say.plain(wish.settings),
        "load": say.plain(wish.load),
        "seed": wish.seed,
        "machine": say.plain(measured_on),
        "versions": versions,
    }
    (folder / "capacity.json").write_text(json.dumps(document, indent=2), encoding="utf-8")
    facts = (
        measured_on.cpu_model or "unknown CPU",
        f"{measured_on.cores} cores shared with the generator{', kept from idling' if measured_on.awake else ''}",
        f"PostgreSQL {versions.get('PostgreSQL', 'unknown')}, {wish.settings.durability} durability",
        f"{wish.settings.workers} worker{'s' if wish.settings.workers > 1 else ''}, pool of {wish.settings.pool_size}",
    )
    charts = render.svg(words.specs(found))
    page = words.html(found, charts, facts, f"Fairground {versions['fairground']}")
    (folder / "capacity.html").write_text(page, encoding="utf-8")


def _tell(line: str, left_s: float, quiet: bool) -> None:
    if not quiet:
        say.talk.print(f"{line}   {duration(left_s)} left", highlight=False, soft_wrap=True, markup=False)


def _say(folder: Path, found: Sequence[Capacity], as_json: bool) -> None:
    if as_json:
        say.document({"capacities": [words.rows(one) for one in found], "folder": str(folder)})
        return
    for one in found:
        for line in (*words.sentences(one), *words.text_curve(one.curve), *one.notes):
            say.out.print(line, highlight=False, soft_wrap=True, markup=False)
    say.out.print(f"page  {folder / 'capacity.html'}", highlight=False, soft_wrap=True)
