"""Whether turns give what windows without breaks give: rates and CPU per answer of the same servers, in turns as runs have them.

    bench/bias.py --repeat 12 --keep results/bench-bias.jsonl --write docs/evidence.md

All stacks are up at once. In each repetition every stack has one whole window, all have one in turns of the lengths that a run
would choose, and one in turns of a second; the order changes. The table holds the geometric mean over repetitions of turns over
whole windows, with its 95 % interval: for each stack, and for its ratio to the first, which is what a run says. It measures, and
asserts nothing.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import frame
import stack_sessions
from fairground.measure.arm import ArmWindow
from fairground.measure.schedule import SideBySide, Turns, Whole
from fairground.measure.session import ArmSession
from fairground.model import Load
from fairground.stats.intervals import t_interval

STACKS = (
    "go-nethttp:documented",
    "node-fastify:documented",
    "python-fastapi:documented",
    "rust-actix:documented-deadpool",
    "java-webflux:documented",
    "cpp-epoll:libpq",
)
WORKLOADS = ("ping", "db-ping", "users", "tx")
WHOLE, OWN, LONG = "whole", "a run's", "1 s"
LONG_TURN_S = 1.0
MARGIN = 0.02
"""How far the ratio of two stacks may be off."""
ABOUT = """\
# Turns against windows without breaks

`bench/bias.py` has six stacks of six languages up at once. In each repetition every stack has a whole window. All have one
in turns as a run would choose them, and one in turns of a second. *Turns over whole* is the mean of what a window in turns
gives over what a whole window of the same repetition gives: 1 is no bias. *Ratio* is the same of the stack's ratio to the
first stack, which is what a run says. After ± stands half of a 95 % interval of the logarithm.

"""
HEAD = """\
| workload | stack | turns | repetitions | goodput, turns over whole | ratio | CPU per answer, turns over whole | ratio |
|--|--|--|--:|--:|--:|--:|--:|
"""


def main() -> None:
    """Measure some workloads and print or write the table."""
    parser = frame.parser(__doc__, keep=True)
    parser.add_argument("--workload", action="append", help="may be given several times")
    parser.add_argument("--stack", action="append", help="may be given several times; the first is the anchor")
    parser.add_argument("--connections", type=int, default=50)
    parser.add_argument("--repeat", type=int, default=12, help="0: only write the table of what was kept")
    options = parser.parse_args()
    rows = frame.load_rows(options.keep)
    began = time.time()
    for workload in options.workload or WORKLOADS if options.repeat else ():
        found = [row | {"began": began} for row in measure(options, workload)]
        frame.append_rows(options.keep, found)
        rows += found
    if not rows:
        parser.error("there is no window to tell of: give --repeat, or --keep a file that has some")
    text = page(rows)
    frame.publish(text, options.write, "bias")


def measure(options: argparse.Namespace, name: str) -> Iterator[dict[str, object]]:
    """One session of a workload; a row for each window that the machine left alone."""
    load = replace(Load(), connections=options.connections, warmup_min_s=0.5, warmup_max_s=0.5, window_s=1.0)
    asked = [(stack, name) for stack in options.stack or STACKS]
    with stack_sessions.session(asked, load, lambda cell: cell.stack) as (session, labels):
        wholes: list[ArmWindow] = []
        for number in range(options.repeat):
            frame.tell(f"{name}: repetition {number + 1} of {options.repeat}")
            for design, window in repetition(session, labels, load, number, wholes):
                if window.void is not None:
                    frame.tell(f"{window.arm}, {design}: left out, {window.void}")
                elif window.server_cpu_us is not None:
                    said = {"workload": name, "arm": window.arm, "repetition": number, "design": design}
                    yield said | {"rate": window.rate_per_s, "cost": window.server_cpu_us / window.ok}
    for label, ended in session.ended.items():
        for finding in ended.findings:
            frame.tell(f"{label}: {finding.severity} {finding.sentence}")


def repetition(
    session: ArmSession, labels: Sequence[str], load: Load, number: int, wholes: list[ArmWindow]
) -> Iterator[tuple[str, ArmWindow]]:
    """Each design once; every other repetition goes through all of it backwards.

    `wholes`: whole windows so far, which decide on the lengths of turns as they do in a run. It grows.
    """
    order = tuple(labels if number % 2 == 0 else labels[::-1])
    for part in (_whole, _in_turns) if number % 2 == 0 else (_in_turns, _whole):
        yield from part(session, order, load, number, wholes)


def _whole(
    session: ArmSession, order: tuple[str, ...], load: Load, number: int, wholes: list[ArmWindow]
) -> Iterator[tuple[str, ArmWindow]]:
    for arm in order:
        for window in session.load(Whole(arm, load, 1 + number)):
            wholes.append(window)
            yield WHOLE, window


def _in_turns(
    session: ArmSession, order: tuple[str, ...], load: Load, number: int, wholes: Sequence[ArmWindow]
) -> Iterator[tuple[str, ArmWindow]]:
    """A run's warm-ups in turns, and then both designs; only the long turns where answers are too slow for those of a run."""
    schedule, windows = SideBySide(order, load, 1 + number, first=number), list(wholes)
    while isinstance(ask := schedule.next(windows, session.failed), Turns) and ask.warm_up:
        windows += session.load(ask)
    asks: list[tuple[str, Turns]] = [(OWN, ask)] if isinstance(ask, Turns) else []
    asks.append((LONG, Turns(order, load, LONG_TURN_S, load.window_s)))
    for design, turns in asks if number % 2 == 0 else asks[::-1]:
        for window in session.load(turns):
            yield design, window


@dataclass(frozen=True)
class Row:
    """One line of the table. `off`: how many of its ratios, of goodput and of CPU, are off; `halves` of their intervals."""

    workload: str
    arm: str
    design: str
    line: str
    off: int
    halves: tuple[float, ...]


def page(rows: Sequence[dict[str, Any]]) -> str:
    """The whole page as Markdown."""
    made = list(table(rows))
    halves = [one for row in made for one in row.halves]
    where = ", ".join(f"`{row.arm}` on {row.workload} in turns of {row.design}" for row in made if row.off)
    count = sum(row.off for row in made)
    off = f"{count} of {len(halves)} ratios are off by more than {MARGIN * 100:.0f} % with an interval that excludes 1"
    sure = (
        f" Half of an interval is {100 * statistics.median(halves):.0f} % (median): a smaller bias would not be seen."
        if halves
        else ""
    )
    return ABOUT + f"{off}{': ' if where else ''}{where}.{sure}\n\n" + HEAD + "".join(f"{row.line}\n" for row in made)


def table(rows: Sequence[dict[str, Any]]) -> Iterator[Row]:
    """A row for each workload, stack and length of turns."""
    of: dict[tuple[str, str, str], dict[tuple[float, int], dict[str, Any]]] = {}
    for row in rows:
        of.setdefault((row["workload"], row["arm"], row["design"]), {})[row["began"], row["repetition"]] = row
    first = rows[0]["arm"]
    for (workload, arm, design), some in sorted(of.items()):
        if design == WHOLE:
            continue
        cells, off, halves = [], 0, list[float]()
        for quantity in ("rate", "cost"):
            apart = ratios(some, of.get((workload, arm, WHOLE), {}), quantity)
            anchor = ratios(of.get((workload, first, design), {}), of.get((workload, first, WHOLE), {}), quantity)
            against = [value - anchor[at] for at, value in apart.items() if at in anchor]
            cells += [said(list(apart.values())), "–" if arm == first else said(against)]
            off += arm != first and is_off(against)
            halves += [half(against)] if arm != first and len(against) > 1 else []
        yield Row(
            workload, arm, design, f"| {workload} | `{arm}` | {design} | {len(some)} | {' | '.join(cells)} |", off, tuple(halves)
        )


def ratios(some: Mapping[Any, dict[str, Any]], wholes: Mapping[Any, dict[str, Any]], quantity: str) -> dict[Any, float]:
    """Logarithms of turns over whole windows, by repetition."""
    return {at: math.log(row[quantity] / wholes[at][quantity]) for at, row in some.items() if at in wholes}


def said(logs: Sequence[float]) -> str:
    """`0.991 ± 0.6 %`, or a dash where nothing is known."""
    found = t_interval(logs)
    return "–" if found is None else f"{math.exp(found.middle):.3f} ± {100 * half(logs):.1f} %"


def half(logs: Sequence[float]) -> float:
    """Half of the 95 % interval of the mean of two values or more."""
    found = t_interval(logs)
    assert found is not None, "one value has no spread"
    return (found.high - found.low) / 2


def is_off(logs: Sequence[float]) -> bool:
    """Whether the ratio of two stacks is another in turns: by more than the margin, and not by chance alone."""
    found = t_interval(logs)
    return found is not None and abs(found.middle) > MARGIN and not found.low <= 0 <= found.high


if __name__ == "__main__":
    main()
