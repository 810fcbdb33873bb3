"""The verbs of `./fairground`. Each is a thin hand-over: parse, call, print, exit code."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from fairground import build, check, contract, machine, manifest, store
from fairground.cli import lab, lists, measure, numbers, say
from fairground.model import (
    SCHEMA_VERSION,
    Durability,
    LabError,
    Load,
    Settings,
    Severity,
    Suite,
    SuiteGroup,
    Trial,
)

EXIT_CODES = (
    "Exit codes: 0 done · 1 measured, and the answer is bad · 2 wrong input · 3 nothing could be measured here · "
    "70 a fault of the lab itself · 130 interrupted, resumable."
)
BAD_ANSWER, NOTHING_MEASURED = 1, 3

app = typer.Typer(
    name="fairground",
    help="Measure web servers backed by PostgreSQL: proves the answers right, and says what limited each number.\n\n"
    "Examples:\n\n  ./fairground demo\n\n  ./fairground run --stack SERVER --workload tx --connections 100\n\n" + EXIT_CODES,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _print_version(asked: bool) -> None:
    if asked:
        say.out.print(f"fairground {lab.lab_version()}", highlight=False)
        raise typer.Exit


@app.callback()
def fairground(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Measure web servers backed by PostgreSQL: proves the answers right, and says what limited each number."""


Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]
Servers = Annotated[Path | None, typer.Option("--servers", metavar="DIR", help="Read servers from another folder.")]
Results = Annotated[Path | None, typer.Option("--results", metavar="DIR", help="Where runs are kept (default: results).")]
DatabaseUrl = Annotated[
    str | None, typer.Option("--database", metavar="URL", help="Use this PostgreSQL instead of the embedded one.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but the summary.")]


@app.command()
def demo(as_json: Json = False, results: Results = None, database: DatabaseUrl = None, quiet: Quiet = False) -> None:
    """Everything in one go: build the servers, measure all workloads briefly, write report.html.

    Examples: ./fairground demo · ./fairground demo --json > demo.jsonl
    """
    places = lab.Places.of(os.environ, None, results)
    suite = manifest.load_suite(places.suites / "demo.toml")
    _measure(suite, places, "./fairground demo", database, quiet, as_json)


@app.command()
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
    workers: Annotated[int, typer.Option(help="Processes or threads of each server.")] = 2,
    pool_size: Annotated[int, typer.Option(help="Connections to the database, over all workers.")] = 25,
    pool_wait_ms: Annotated[int | None, typer.Option(help="Longest wait for a connection; 0: none (default: no limit).")] = None,
    no_prepared: Annotated[bool, typer.Option("--no-prepared", help="No named prepared statements.")] = False,
    durable: Annotated[bool, typer.Option("--durable", help="fsync and synchronous_commit on.")] = False,
    scale: Annotated[int, typer.Option(help="pgbench scale of the data.")] = 10,
    blocks: Annotated[int | None, typer.Option(help="How often everything is measured (default: the suite's, or 1).")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of order and requests (default: the suite's, or 1).")] = None,
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
        options = _options(places, database, quiet, as_json)
        folder = store.find(places.results, resume)
        _finish(lambda: measure.resume(folder, options), as_json)
        return
    if (suite is None) == (stack is None):
        raise LabError(
            "name either a suite or at least one `--stack`", "./fairground run suites/demo.toml, or: run --stack SERVER"
        )
    if suite is not None:
        _refuse_with_suite(context)
        chosen = manifest.load_suite(suite)
    else:
        durability = Durability.DURABLE if durable else Durability.RELAXED
        sizes = (numbers.positive("--workers", workers), numbers.positive("--pool-size", pool_size))
        scale = numbers.positive("--scale", scale)
        settings = Settings(*sizes, numbers.wait(pool_wait_ms), not no_prepared, durability, scale)
        window = numbers.positive("--window", window)
        times = (window, *numbers.span("--warmup", warmup), numbers.positive("--timeout-ms", timeout_ms))
        loads = [Load(count, not close, *times) for count in numbers.counts("--connections", connections)]
        chosen = _suite_of(places, stack or [], workload or ["all"], loads, settings)
    chosen = measure.with_overrides(chosen, None if blocks is None else numbers.positive("--blocks", blocks), seed)
    command = "./fairground " + shlex.join(sys.argv[1:])
    if dry_run:
        say.the_plan(measure.dry_run(chosen, command, _options(places, database, quiet, as_json)), as_json)
    else:
        _measure(chosen, places, command, database, quiet, as_json)


@app.command(name="list")
def list_(
    what: Annotated[str, typer.Argument(help="stacks, workloads, suites or runs.")] = "stacks",
    as_json: Json = False,
    servers: Servers = None,
    results: Results = None,
) -> None:
    """What there is: stacks (and why one is not runnable here), workloads, suites, runs.

    Examples: ./fairground list · ./fairground list workloads · ./fairground list --json
    """
    places = lab.Places.of(os.environ, servers, results)
    rows = lists.rows(what, places)
    if as_json:
        say.document({what: rows})
        return
    for row in rows:
        say.out.print(
            "  ".join(str(row[key]).ljust(width) for key, width in lists.WIDTHS[what]).rstrip(),
            highlight=False,
            soft_wrap=True,
            markup=False,
        )
    if what == "stacks":
        ready = sum(row["state"] != "not here" for row in rows)
        say.talk.print(
            f"{len(rows)} stacks, {ready} runnable here · more: list workloads · list suites · list runs", highlight=False
        )


@app.command()
def doctor(
    install: Annotated[bool, typer.Option("--install", help="Run the commands that fix what is lacking (as root).")] = False,
    as_json: Json = False,
) -> None:
    """What this machine lacks or does that matters to a measurement, with the command that fixes it.

    Examples: ./fairground doctor · ./fairground doctor --install
    """
    places = lab.Places.of(os.environ)
    lines = list(machine.checks(places.cache, os.environ.get("PATH", "")))
    lines.append(_engine_line(places))
    if install:
        lines = _install(lines, places)
    if as_json:
        say.document({"checks": [asdict(line) for line in lines]})
    else:
        for line in lines:
            mark = {"ok": "✓", "note": "!", "lacking": "✗"}[line.state]
            say.out.print(
                f"{mark} {line.sentence}" + (f"\n    fix: {line.fix}" if line.fix else ""),
                highlight=False,
                soft_wrap=True,
                markup=False,
            )
        lacking = sum(line.state == "lacking" for line in lines)
        say.out.print("ready" if not lacking else f"{lacking} things are lacking: what needs them is left out", highlight=False)
    if any(line.id == "engine" and line.state == "lacking" for line in lines):
        raise typer.Exit(NOTHING_MEASURED)


@app.command(name="check")
def check_(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[STACK]...", help="Stacks, or servers for all of their stacks.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All stacks.")] = False,
    only: Annotated[list[str] | None, typer.Option("--case", help="Only this case; repeatable.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print passed cases too.")] = False,
    database: DatabaseUrl = None,
    servers: Servers = None,
    as_json: Json = False,
) -> None:
    """Does a server fulfil the contract? Builds it, starts it, tries every case.

    Examples: ./fairground check SERVER · ./fairground check --all · ./fairground check SERVER:VARIANT --case users -v
    """
    places = lab.Places.of(os.environ, servers)
    known = places.load_servers()
    if not names and not every:
        raise LabError("name a stack, or say `--all`", "./fairground check SERVER")
    chosen = [stack for name in names or [] for stack in manifest.find_stack(known, name)]
    chosen = chosen or [stack for server in known for stack in server.stacks]
    cases = contract.load(places.contract / "cases")
    verdicts: dict[str, Any] = {}
    with lab.keeping() as keeper, lab.database(keeper, places, database, Durability.RELAXED) as found:
        options = measure.Options(places, database, talk=say.talk)
        builds = measure.build(keeper, list({stack.server.id: stack.server for stack in chosen}.values()), options)
        for stack in chosen:
            made = builds[stack.server.id]
            if isinstance(made, build.Unavailable):
                verdicts[stack.id] = {"state": "not here", "reason": made.reason, "findings": []}
                continue
            log = places.cache / "logs" / f"check-{stack.id.replace(':', '-')}.log"
            findings = check.check(keeper, found, stack, cases, log, only).findings
            failed = [finding for finding in findings if finding.severity is Severity.REJECT]
            verdicts[stack.id] = {
                "state": "failed" if failed else "passed",
                "findings": [asdict(finding) for finding in findings],
            }
            if not as_json:
                say.the_check(stack.id, findings, verbose, log)
    if as_json:
        say.document({"stacks": verdicts})
    states = [verdict["state"] for verdict in verdicts.values()]
    if "failed" in states:
        raise typer.Exit(BAD_ANSWER)
    if "passed" not in states:
        raise typer.Exit(NOTHING_MEASURED)


@app.command()
def report(
    run_name: Annotated[
        str, typer.Argument(metavar="RUN", help="Its id, the beginning of it, its folder, or `latest`.")
    ] = "latest",
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Write summary.csv and report.html of a run again, from its stored data.

    Examples: ./fairground report · ./fairground report 2026-09-30-1412-demo
    """
    places = lab.Places.of(os.environ, None, results)
    path, found = measure.report(store.find(places.results, run_name))
    say.the_summary(found, path, as_json)


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="The new server's id: a–z, 0–9, -.")],
    source: Annotated[str, typer.Option("--from", help="The server whose folder is copied.")] = "",
    servers: Servers = None,
    as_json: Json = False,
) -> None:
    """Begin a server as a copy of another: its sources, without what was built.

    Example: ./fairground new my-server --from SERVER
    """
    places = lab.Places.of(os.environ, servers)
    known = {server.id: server for server in places.load_servers()}
    if source not in known:
        raise LabError(
            f"there is no server `{source}` to copy" if source else "say which server to copy", f"--from {'|'.join(known)}"
        )
    if not manifest.NAME.fullmatch(name):
        raise LabError(f"`{name}` is no id for a server", "use a–z, 0–9 and -")
    target = places.servers / name
    if target.exists():
        raise LabError(f"`{target}` exists already", "choose another id")
    build.copy_sources(known[source].folder, target)
    if as_json:
        say.document({"id": name, "folder": str(target)})
    else:
        say.out.print(
            f"{target} is a copy of {source}. Edit it, then: ./fairground check {name}", highlight=False, soft_wrap=True
        )


@app.command()
def clean(
    builds: Annotated[bool, typer.Option("--builds", help="Forget builds: the next use builds again.")] = False,
    databases: Annotated[bool, typer.Option("--databases", help="Remove the embedded databases.")] = False,
    runs: Annotated[bool, typer.Option("--runs", help="Remove all runs.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Really do it; without it the sizes are shown.")] = False,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Show what takes space, and remove it when told twice.

    Examples: ./fairground clean · ./fairground clean --databases --yes
    """
    places = lab.Places.of(os.environ, None, results)
    folders = {"builds": places.cache / "builds", "databases": places.cache / "postgres", "runs": places.results}
    asked = {name for name, said in (("builds", builds), ("databases", databases), ("runs", runs)) if said}
    if yes and not asked:
        raise LabError("say what to remove", "--builds, --databases, --runs")
    rows = [
        {
            "what": name,
            "folder": str(folder),
            "bytes": store.size(folder) if folder.exists() else 0,
            "removed": yes and name in asked,
        }
        for name, folder in folders.items()
    ]
    for name in asked if yes else ():
        shutil.rmtree(folders[name], ignore_errors=True)
    if as_json:
        say.document({"folders": rows})
        return
    for row in rows:
        state = "removed" if row["removed"] else f"./fairground clean --{row['what']} --yes"
        say.out.print(
            f"{row['what']:<10} {int(str(row['bytes'])) / 1e6:>9,.1f} MB  {row['folder']}  {state}",
            highlight=False,
            soft_wrap=True,
        )


# ---------------------------------------------------------------- measuring


SUITE_HAS_ITS_OWN = (
    "workload", "connections", "close", "window", "warmup", "timeout_ms", "workers", "pool_size", "pool_wait_ms", "no_prepared",
    "durable", "scale",
)  # fmt: skip


def _refuse_with_suite(context: typer.Context) -> None:
    """A suite says itself what is measured and how: an option that would be passed over is an error."""
    for name in SUITE_HAS_ITS_OWN:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = "--" + name.replace("_", "-")
            raise LabError(f"`{option}` goes with `--stack`: a suite says its own", "leave it out, or edit a copy of the suite")


def _suite_of(places: lab.Places, stacks: list[str], workloads: list[str], loads: list[Load], settings: Settings) -> Suite:
    """A suite of what the command line names."""
    known = places.load_servers()
    named = [one.id for name in stacks for one in manifest.find_stack(known, name)]
    return Suite("run", _title(stacks), "", 1, 1, (SuiteGroup(tuple(named), tuple(workloads), tuple(loads), settings),))


def _measure(suite: Suite, places: lab.Places, command: str, database: str | None, quiet: bool, as_json: bool) -> None:
    options = _options(places, database, quiet, as_json)
    _finish(lambda: measure.fresh(suite, command, options), as_json)


def _options(places: lab.Places, database: str | None, quiet: bool, as_json: bool) -> measure.Options:
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


# ---------------------------------------------------------------- small things


def _engine_line(places: lab.Places) -> machine.Check:
    try:
        words = subprocess.run([str(places.engine), "--version"], capture_output=True, text=True, check=True).stdout.strip()
        return machine.Check("engine", "ok", f"load engine: {words}")
    except (LabError, OSError, subprocess.CalledProcessError):
        return machine.Check("engine", "lacking", "the load engine is not built: nothing can be measured", "make setup")


def _install(lines: Sequence[machine.Check], places: lab.Places) -> list[machine.Check]:
    """Run the fixes that are commands of one program with its words; others are for the person to do."""
    for line in lines:
        if line.state == "lacking" and line.fix and line.fix.split()[0] in ("apt-get", "sysctl"):
            if line.fix.startswith("apt-get"):
                subprocess.run(["apt-get", "update", "-q"], stdout=sys.stderr, check=False)
            say.talk.print(f"running: {line.fix}", highlight=False)
            subprocess.run(shlex.split(line.fix), stdout=sys.stderr, check=False)
    return [*machine.checks(places.cache, os.environ.get("PATH", "")), _engine_line(places)]


def _title(stacks: Sequence[str]) -> str:
    return " ".join(stacks[:3]) + (" and more" if len(stacks) > 3 else "")
