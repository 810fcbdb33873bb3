"""Whether turns give what windows without breaks give: rates and CPU per answer of the same servers, in turns of several lengths.

    bench/bias.py --workload db-ping --repeat 8 --keep results/bench-bias.jsonl --write docs/bias.md

All stacks are up at once. In each repetition every stack has one whole window, and all have a window in turns of each length; the
order changes. The table holds the geometric mean over repetitions of turns over whole windows, with its standard error: for each
stack, and for the stack's ratio to the first, which is what a run says. It measures, and asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairground import contract
from fairground.host import Keeper, build, machine
from fairground.inputs import manifest, seating
from fairground.lab import setup
from fairground.lab.places import Places
from fairground.measure import Bench
from fairground.measure.arm import StackArm, Window
from fairground.measure.schedule import Ask, Turns, Whole
from fairground.measure.session import Session
from fairground.model import Cell, Load, Settings, Topology

STACKS = (
    "go-nethttp:pgx",
    "node-fastify:cluster",
    "python-fastapi:asyncpg",
    "rust-actix:sqlx",
    "go-nethttp:pq",
    "node-express:pg",
    "rust-axum",
)
TURNS_S = (0.03, 0.1, 0.3, 1.0)
WHOLE = "whole"
ABOUT = """\
# Turns against windows without breaks

`bench/bias.py`: all stacks up at once; what a window in turns gives over what a whole window of the same repetition gives. 1 is
no bias; after ± stands one standard error. `ratio`: the stack's ratio to the first stack in turns, over the same ratio in whole
windows. That is the bias of what a run says.

| workload | stack | turns of | repetitions | goodput | goodput ratio | CPU per answer | CPU ratio |
|--|--|--:|--:|--:|--:|--:|--:|
"""


def main() -> None:
    """Measure one workload and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", default="db-ping")
    parser.add_argument("--stack", action="append", help="may be given several times; the first is the anchor")
    parser.add_argument("--connections", type=int, default=50)
    parser.add_argument("--repeat", type=int, default=6)
    parser.add_argument("--keep", type=Path, help="JSON lines: add each window, and count the earlier ones too")
    parser.add_argument("--write", type=Path, help="put the table into this Markdown file")
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.keep.read_text().splitlines()] if options.keep and options.keep.exists() else []
    began = time.time()
    rows += [row | {"began": began} for row in measure(options)]
    if options.keep:
        options.keep.parent.mkdir(parents=True, exist_ok=True)
        options.keep.write_text("".join(json.dumps(row) + "\n" for row in rows))
    text = ABOUT + "".join(f"{line}\n" for line in table(rows))
    print(text, end="")
    if options.write:
        options.write.write_text(text)


def measure(options: argparse.Namespace) -> Iterator[dict[str, object]]:
    """One session; a row for each window that the machine left alone."""
    places = Places.of(os.environ)
    known = places.load_servers()
    stacks = [manifest.find_stack(known, name)[0] for name in options.stack or STACKS]
    chosen = next(one for one in places.workloads() if one.id == options.workload)
    settings = seating.seated(Settings(), (Topology(),), seating.Wish(), setup.machine_seats(None))
    load = replace(Load(), connections=options.connections, warmup_min_s=0.5, warmup_max_s=0.5, window_s=1.0)
    workload = manifest.render(chosen, settings.scale)
    with ExitStack() as held:
        keeper = held.enter_context(Keeper(os.environ))
        for stack in stacks:
            build.build(keeper, stack.server, places.cache)
        database = held.enter_context(setup.database(keeper, places, None, settings.run))
        setup.keep_awake(held, keeper, places, lambda said: print(said, file=sys.stderr))
        bench = Bench(keeper, database, places.engine, contract.load(places.contract / "cases"), machine.cores())
        folder = Path(held.enter_context(tempfile.TemporaryDirectory()))
        arms = [StackArm(one.id, Cell(one.id, chosen.id, Topology(), load, settings), workload, 7, one) for one in stacks]
        with Session(bench, arms, folder) as session:
            session.load(Turns(tuple(arm.label for arm in arms), load, 0.5, 1.5, warm_up=True))
            for number in range(options.repeat):
                print(f"{chosen.id}: repetition {number + 1} of {options.repeat}", file=sys.stderr)
                for design, window in repetition(session, [arm.label for arm in arms], load, number):
                    if window.void is None and window.server_cpu_us is not None:
                        said = {"workload": chosen.id, "arm": window.arm, "repetition": number, "design": design}
                        yield said | {"rate": window.rate_per_s, "cost": window.server_cpu_us / window.ok}
        for label, ended in session.ended.items():
            for finding in ended.findings:
                print(f"{label}: {finding.severity} {finding.sentence}", file=sys.stderr)


def repetition(session: Session, labels: Sequence[str], load: Load, number: int) -> Iterator[tuple[str, Window]]:
    """Each design once; every other repetition goes through all of it backwards."""
    order = tuple(labels if number % 2 == 0 else labels[::-1])
    wholes: list[tuple[str, Ask]] = [(WHOLE, Whole(arm, load, 1 + number)) for arm in order]
    turns: list[tuple[str, Ask]] = [(f"{turn_s:g} s", Turns(order, load, turn_s, load.window_s)) for turn_s in TURNS_S]
    for design, ask in [*wholes, *turns] if number % 2 == 0 else [*turns[::-1], *wholes]:
        for window in session.load(ask):
            yield design, window


def table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A row for each workload, stack and length of turns."""
    of: dict[tuple[str, str, str], dict[tuple[float, int], dict[str, Any]]] = {}
    for row in rows:
        of.setdefault((row["workload"], row["arm"], row["design"]), {})[row["began"], row["repetition"]] = row
    first = rows[0]["arm"]
    for (workload, arm, design), some in sorted(of.items()):
        if design == WHOLE:
            continue
        cells = []
        for quantity in ("rate", "cost"):
            apart = ratios(some, of.get((workload, arm, WHOLE), {}), quantity)
            anchor = ratios(of.get((workload, first, design), {}), of.get((workload, first, WHOLE), {}), quantity)
            cells += [said(apart.values()), said([value - anchor[at] for at, value in apart.items() if at in anchor])]
        yield f"| {workload} | `{arm}` | {design} | {len(some)} | {' | '.join(cells)} |"


def ratios(some: Mapping[Any, dict[str, Any]], wholes: Mapping[Any, dict[str, Any]], quantity: str) -> dict[Any, float]:
    """Logarithms of turns over whole windows, by repetition."""
    return {at: math.log(row[quantity] / wholes[at][quantity]) for at, row in some.items() if at in wholes}


def said(logs: Iterable[float]) -> str:
    """`0.991 ± 0.006`, or a dash where nothing is known."""
    values = list(logs)
    if len(values) < 2:
        return "–"
    return f"{math.exp(statistics.fmean(values)):.3f} ± {statistics.stdev(values) / math.sqrt(len(values)):.3f}"


if __name__ == "__main__":
    main()
