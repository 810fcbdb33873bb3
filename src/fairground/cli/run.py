"""`run`, the verb that measures what one names, and what every measuring verb does: measure, report, exit code."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fairground import conditions, generators, manifest, store
from fairground.cli import lab, measure, numbers, say
from fairground.model import SCHEMA_VERSION, Durability, LabError, Load, PoolScope, Settings, Suite, SuiteGroup, Topology, Trial

BAD_ANSWER, NOTHING_MEASURED = 1, 3

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]
Servers = Annotated[Path | None, typer.Option("--servers", metavar="DIR", help="Read servers from another folder.")]
Results = Annotated[Path | None, typer.Option("--results", metavar="DIR", help="Where runs are kept (default: results).")]
DatabaseUrl = Annotated[
    str | None, typer.Option("--database", metavar="URL", help="Use this PostgreSQL instead of the embedded one.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but the summary.")]


def run(
    context: typer.Context,
    suite: Annotated[Path | None, typer.Argument(help="A suite, such as suites/demo.toml.")] = None,
    stack: Annotated[
        list[str] | None, typer.Option("--stack", "-s", help="A stack, or a server for all of its stacks; repeatable.")
    ] = None,
    workload: Annotated[list[str] | None, typer.Option("--workload", "-w", help="A workload; repeatable (default: all).")] = None,
    connections: Annotated[str, typer.Option(help="Connections at once, one or several: 10,100.")] = "100",
    close: Annotated[bool, typer.Option("--close", help="A new connection for each request.")] = False,
    window: Annotated[float, typer.Option(help="Seconds measured.")] = 5.0,
    warmup: Annotated[str, typer.Option(help="Least and most seconds of warm-up.")] = "2,20",
    timeout_ms: Annotated[int, typer.Option(help="Longest wait for an answer.")] = 10_000,
    generator: Annotated[str, typer.Option(help="Load generators, one or several: engine,wrk,ab,hey,k6,vegeta,oha.")] = "engine",
    threads: Annotated[int, typer.Option(help="Threads of the generator.")] = 1,
    rate: Annotated[float | None, typer.Option(help="Open loop: requests per second; --connections is then the most.")] = None,
    arrivals: Annotated[str, typer.Option(help="How the requests of a rate are spaced: poisson or constant.")] = "poisson",
    requests: Annotated[int | None, typer.Option(help="Send so many requests instead of measuring a window.")] = None,
    proxy: Annotated[str, typer.Option(help="Before the server, one or several: none,nginx,nginx-close.")] = "none",
    pooler: Annotated[
        str, typer.Option(help="Behind it: none, pgbouncer-session, pgbouncer-tx, pgcat-session or pgcat-tx, one or several.")
    ] = "none",
    pooler_size: Annotated[int, typer.Option(help="Connections of the pooler to the database.")] = Topology.pooler_size,
    pooler_clients: Annotated[int, typer.Option(help="Connections that the pooler accepts.")] = Topology.pooler_clients,
    workers: Annotated[int, typer.Option(help="Processes or threads of each server.")] = 2,
    pool_size: Annotated[int, typer.Option(help="Connections to the database, over all workers.")] = 25,
    pool_per_worker: Annotated[bool, typer.Option("--pool-per-worker", help="So many for each worker instead.")] = False,
    pool_wait_ms: Annotated[int | None, typer.Option(help="Longest wait for a connection; 0: none (default: no limit).")] = None,
    no_prepared: Annotated[bool, typer.Option("--no-prepared", help="No named prepared statements.")] = False,
    durable: Annotated[bool, typer.Option("--durable", help="fsync and synchronous_commit on.")] = False,
    scale: Annotated[int, typer.Option(help="pgbench scale of the data.")] = 10,
    cpus: Annotated[float | None, typer.Option(help="Processors that the server may use, such as 1.5 (default: all).")] = None,
    memory_mb: Annotated[int | None, typer.Option(help="Memory that the server may use, in MB (default: all).")] = None,
    pin: Annotated[
        list[str] | None, typer.Option(metavar="ROLE=CORES", help="Cores of a role: server=0, database=1-3; repeatable.")
    ] = None,
    postgres: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A setting of PostgreSQL: work_mem=8MB; repeatable.")
    ] = None,
    profile: Annotated[str | None, typer.Option(help="A profile of the suite, such as full.")] = None,
    blocks: Annotated[int | None, typer.Option(help="How often everything is measured (default: the suite's, or 1).")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of order and requests (default: the suite's, or 1).")] = None,
    stream: Annotated[int | None, typer.Option(help="Seed of the requests alone, as a trial's page names it.")] = None,
    budget: Annotated[str | None, typer.Option(help="Add blocks until intervals are narrow or the time is up: 20m.")] = None,
    anchor: Annotated[str | None, typer.Option(help="The stack that the others are held against (default: the first).")] = None,
    controls: Annotated[bool | None, typer.Option(help="Anchor again and slowed (default: 2 stacks, 3 blocks on).")] = None,
    resume: Annotated[
        str | None, typer.Option("--resume", metavar="RUN", help="Go on with an interrupted run: its id, or `latest`.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and its time; measure nothing.")] = False,
    database: DatabaseUrl = None,
    servers: Servers = None,
    results: Results = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure a suite, or the stacks and workloads you name.

    Examples: ./fairground run suites/matrix.toml · ./fairground run -s SERVER:VARIANT -w tx --connections 10,100 --blocks 3
    """
    places = lab.Places.of(os.environ, servers, results)
    if resume is not None:
        options = options_of(places, database, quiet, as_json)
        folder = store.find(places.results, resume)
        _finish(lambda: measure.resume(folder, options, numbers.seconds("--budget", budget) if budget else None), as_json)
        return
    if (suite is None) == (stack is None):
        raise LabError(
            "name either a suite or at least one `--stack`", "./fairground run suites/demo.toml, or: run --stack SERVER"
        )
    if profile is not None and suite is None:
        raise LabError(f"`--profile {profile}` goes with a suite", "./fairground run suites/matrix.toml --profile full")
    if suite is not None:
        _refuse_with_suite(context)
        chosen = manifest.load_suite(suite, profile)
    else:
        durability = Durability.DURABLE if durable else Durability.RELAXED
        sizes = (numbers.positive("--workers", workers), numbers.positive("--pool-size", pool_size))
        scale = numbers.positive("--scale", scale)
        scope = PoolScope.PER_WORKER if pool_per_worker else PoolScope.TOTAL
        settings = conditions.check(
            Settings(*sizes, numbers.wait(pool_wait_ms), not no_prepared, durability, scale, scope, cpus, memory_mb,
                     numbers.pins("--pin", pin or []), numbers.assignments("--postgres", postgres or []))
        )  # fmt: skip
        hops = (numbers.names(proxy), numbers.names(pooler))
        hop_sizes = (numbers.positive("--pooler-size", pooler_size), numbers.positive("--pooler-clients", pooler_clients))
        topologies = conditions.topologies(*hops, *hop_sizes)
        window = numbers.positive("--window", window)
        times = (window, *numbers.span("--warmup", warmup), numbers.positive("--timeout-ms", timeout_ms))
        shapes = shapes_of(generator, threads, rate, arrivals, requests)
        loads = [replace(shape, connections=count, keep_alive=not close, window_s=times[0], warmup_min_s=times[1],
                         warmup_max_s=times[2], timeout_ms=times[3])
                 for shape in shapes for count in numbers.counts("--connections", connections)]  # fmt: skip
        group = SuiteGroup((), tuple(workload or ["all"]), tuple(loads), settings, topologies)
        chosen = _suite_of(places, stack or [], group)
    chosen = measure.with_overrides(
        chosen, None if blocks is None else numbers.positive("--blocks", blocks), seed, controls=controls, stream=stream,
        anchor=None if anchor is None else _one_stack(places, anchor),
        budget_s=None if budget is None else numbers.seconds("--budget", budget),
    )  # fmt: skip
    command = "./fairground " + shlex.join(sys.argv[1:])
    if dry_run:
        say.the_plan(measure.dry_run(chosen, command, options_of(places, database, quiet, as_json)), as_json)
    else:
        measure_suite(chosen, places, command, database, quiet, as_json)


SUITE_HAS_ITS_OWN = (
    "workload", "connections", "close", "window", "warmup", "timeout_ms", "workers", "pool_size", "pool_wait_ms", "no_prepared",
    "durable", "scale", "proxy", "pooler", "pooler_size", "pooler_clients", "pool_per_worker", "cpus", "memory_mb", "pin",
    "postgres", "generator", "threads", "rate", "arrivals", "requests",
)  # fmt: skip


def shapes_of(generators_named: str, threads: int, rate: float | None, arrivals: str, requests: int | None) -> list[Load]:
    """One load for each generator, of any number of connections and any times."""
    if arrivals not in ("poisson", "constant"):
        raise LabError(f"`--arrivals {arrivals}` should be `poisson` or `constant`")
    if rate is not None and requests is not None:
        raise LabError("`--rate` and `--requests` exclude each other", "a rate is kept for a window, `--window`")
    return [
        Load(
            model="closed" if rate is None else "open",
            rate_per_s=None if rate is None else numbers.positive("--rate", rate),
            generator=generators.known(name.strip()),
            threads=numbers.positive("--threads", threads),
            arrivals=arrivals if rate is not None else Load.arrivals,
            requests=None if requests is None else numbers.positive("--requests", requests),
        )
        for name in generators_named.split(",")
    ]


def _refuse_with_suite(context: typer.Context) -> None:
    """A suite says itself what is measured and how: an option that would be passed over is an error."""
    for name in SUITE_HAS_ITS_OWN:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = "--" + name.replace("_", "-")
            raise LabError(f"`{option}` goes with `--stack`: a suite says its own", "leave it out, or edit a copy of the suite")


def _suite_of(places: lab.Places, stacks: list[str], group: SuiteGroup) -> Suite:
    """A suite of what the command line names: one group, of these stacks."""
    known = places.load_servers()
    named = [one.id for name in stacks for one in manifest.find_stack(known, name)]
    return Suite("run", _title(stacks), "", 1, 1, (replace(group, stacks=tuple(named)),))


def _one_stack(places: lab.Places, name: str) -> str:
    found = manifest.find_stack(places.load_servers(), name)
    if len(found) > 1:
        raise LabError(f"`{name}` has {len(found)} stacks", f"name one: {', '.join(stack.id for stack in found)}")
    return found[0].id


def measure_suite(suite: Suite, places: lab.Places, command: str, database: str | None, quiet: bool, as_json: bool) -> None:
    options = options_of(places, database, quiet, as_json)
    _finish(lambda: measure.fresh(suite, command, options), as_json)


def options_of(places: lab.Places, database: str | None, quiet: bool, as_json: bool) -> measure.Options:
    """How a measuring verb carries out its plan; with `as_json` each trial is a line on stdout."""

    def print_trial(trial: Trial) -> None:
        print(json.dumps({"schema": SCHEMA_VERSION, "event": "trial", **say.plain(trial)}), flush=True)

    return measure.Options(places, database, quiet, say.talk, print_trial if as_json else lambda _: None)


def _finish(work: Callable[[], Path], as_json: bool) -> None:
    """Measure, then report; an interruption keeps what is finished and says how to go on."""
    try:
        folder = work()
    except KeyboardInterrupt:
        say.talk.print(
            "interrupted; finished trials are kept. Go on with: ./fairground run --resume latest", highlight=False, soft_wrap=True
        )
        raise
    path, found = measure.report(folder)
    say.the_summary(found, path, as_json)
    if not measure.measured(found):
        raise typer.Exit(NOTHING_MEASURED)
    if measure.rejected(found):
        raise typer.Exit(BAD_ANSWER)


def _title(stacks: Sequence[str]) -> str:
    return " ".join(stacks[:3]) + (" and more" if len(stacks) > 3 else "")
