"""`cross-check`: the same cell under two or more load generators, in turns, and whether they agree within their noise."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated

import typer

from fairground import generators, manifest, stats, store
from fairground.cli import lab, measure, numbers, say
from fairground.cli.run import BAD_ANSWER, NOTHING_MEASURED, DatabaseUrl, Json, Quiet, Results, Servers, shapes_of
from fairground.model import LabError, Load, Settings, Suite, SuiteGroup, Trial

MEASURES: Mapping[str, Callable[[Trial], float | None]] = {
    "goodput": lambda trial: trial.goodput_per_s,
    "median latency": lambda trial: trial.result.latency_ok.p50_us if trial.result and trial.result.latency_ok else None,
    "server CPU per answer": lambda trial: trial.cpu_us_per_answer("server"),
}
"""What generators must agree in when they load the same server in the same way."""
FAMILY = 0.95
"""Confidence of all comparisons together: so seldom does one call a difference where there is none."""


@dataclass(frozen=True)
class Comparison:
    """One number of one generator beside the first one's; `ratio` is None where fewer than two rounds have both."""

    measure: str
    reference: str
    other: str
    ratio: stats.Interval | None
    agrees: bool | None

    @property
    def sentence(self) -> str:
        """What came of it, in words."""
        if self.ratio is None:
            return f"{self.measure}: fewer than two rounds have a number of both {self.reference} and {self.other}"
        amount, low, high = (f"{(value - 1) * 100:+.1f}".replace("-", "−") for value in (
            self.ratio.middle, self.ratio.low, self.ratio.high))  # fmt: skip
        word = "agree" if self.agrees else "differ beyond their noise"
        return (
            f"{self.measure}: {self.reference} and {self.other} {word}, {amount} % ({low} to {high} %, {self.ratio.count} rounds)"
        )


def compare(trials: Sequence[Trial], names: Sequence[str]) -> tuple[Comparison, ...]:
    """Every measure of every generator but the first against the first, by rounds that have both. Pure."""
    pairs = [(name, other) for other in names[1:] for name in MEASURES]
    confidence = 1 - (1 - FAMILY) / max(1, len(pairs))
    found = []
    for name, other in pairs:
        ours, theirs = (_by_round(trials, generator, MEASURES[name]) for generator in (names[0], other))
        rounds = sorted(set(ours) & set(theirs))
        said = stats.agreement([ours[at] for at in rounds], [theirs[at] for at in rounds], confidence=confidence)
        found.append(Comparison(name, names[0], other, said.ratio if said else None, said.agrees if said else None))
    return tuple(found)


def _by_round(trials: Sequence[Trial], name: str, value_of: Callable[[Trial], float | None]) -> dict[int, float]:
    """Round → value, of trials that have a number above zero; of a repeated trial the last."""
    known = {trial.block: value_of(trial) for trial in trials
             if trial.cell.load.generator == name and trial.goodput_per_s is not None}  # fmt: skip
    return {at: value for at, value in known.items() if value}


def cross_check(
    stack: Annotated[str, typer.Option("--stack", "-s", help="The stack that is loaded.")],
    named: Annotated[str, typer.Option("--generators", help="Two or more; the first is what the others are held against.")] = (
        "engine,wrk"
    ),
    workload: Annotated[str, typer.Option("--workload", "-w", help="The workload.")] = "ping",
    rounds: Annotated[int, typer.Option(help="How often each of them measures, in turns.")] = 5,
    connections: Annotated[int, typer.Option(help="Connections at once.")] = 50,
    window: Annotated[float, typer.Option(help="Seconds of each measurement.")] = 2.0,
    warmup: Annotated[float, typer.Option(help="Seconds of warm-up before each.")] = 1.0,
    rate: Annotated[float | None, typer.Option(help="Open loop: requests per second, evenly spaced.")] = None,
    database: DatabaseUrl = None,
    servers: Servers = None,
    results: Results = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Do several load generators find the same? Exit code 1: they differ beyond their noise.

    Examples: ./fairground cross-check -s SERVER:VARIANT --generators engine,wrk,oha · cross-check -s SERVER:VARIANT --rate 500
    --generators engine,k6
    """
    places = lab.Places.of(os.environ, servers, results)
    chosen = manifest.find_stack(places.load_servers(), stack)
    if len(chosen) > 1:
        raise LabError(f"`{stack}` has {len(chosen)} stacks, and one is cross-checked", f"--stack {chosen[0].id}")
    shapes = shapes_of(named, 1, rate, "constant", None)
    names = [shape.generator for shape in shapes]
    if len(set(names)) < 2:
        raise LabError("a cross-check needs two different generators", f"--generators engine,{next(iter(generators.TOOLS))}")
    count, window = numbers.positive("--connections", connections), numbers.positive("--window", window)
    loads = [replace(shape, connections=count, window_s=window, warmup_min_s=warmup, warmup_max_s=warmup) for shape in shapes]
    suite = _suite(chosen[0].id, workload, loads, numbers.positive("--rounds", rounds))
    options = measure.Options(places, database, quiet, say.talk)
    folder = measure.fresh(suite, "./fairground " + shlex.join(sys.argv[1:]), options)
    path, found = measure.report(folder)
    here = [name for name in names if any(trial.cell.load.generator == name for trial in found.trials)]
    comparisons = compare(store.load(folder).trials, here)
    if as_json:
        say.document({"run": found.id, "report": str(path), "comparisons": [asdict(one) for one in comparisons]})
    else:
        for one in comparisons:
            mark = {True: "✓", False: "✗", None: "–"}[one.agrees]
            say.out.print(f"{mark} {one.sentence}", highlight=False, soft_wrap=True)
        say.out.print(f"report  {path}", highlight=False, soft_wrap=True)
    if any(one.agrees is False for one in comparisons):
        raise typer.Exit(BAD_ANSWER)
    if not any(one.agrees for one in comparisons):
        raise typer.Exit(NOTHING_MEASURED)


def _suite(stack: str, workload: str, loads: Sequence[Load], rounds: int) -> Suite:
    group = SuiteGroup((stack,), (workload,), tuple(loads), Settings())
    return Suite("cross-check", f"cross-check {stack}", "", rounds, 1, (group,))
