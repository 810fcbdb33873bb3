"""The verbs of `./fairground`. Each is a thin hand-over: parse, call, print, exit code."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from fairground import build, check, contract, machine, manifest, store
from fairground.cli import lab, lists, measure, say, splice
from fairground.cli.attempt import try_
from fairground.cli.capacity import capacity_
from fairground.cli.compare import compare
from fairground.cli.cross_check import cross_check
from fairground.cli.replicate import replicate
from fairground.cli.run import BAD_ANSWER, NOTHING_MEASURED, DatabaseUrl, Json, Quiet, Results, Servers, measure_suite, run
from fairground.model import (
    Durability,
    LabError,
    Severity,
)
from fairground.report import boards, transfer

EXIT_CODES = (
    "Exit codes: 0 done · 1 measured, and the answer is bad · 2 wrong input · 3 nothing could be measured here · "
    "70 a fault of the lab itself · 130 interrupted, resumable."
)

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


@app.command()
def demo(as_json: Json = False, results: Results = None, database: DatabaseUrl = None, quiet: Quiet = False) -> None:
    """Everything in one go: build the servers, measure all workloads briefly, write report.html.

    Examples: ./fairground demo · ./fairground demo --json > demo.jsonl
    """
    places = lab.Places.of(os.environ, None, results)
    suite = manifest.load_suite(places.suites / "demo.toml")
    measure_suite(suite, places, "./fairground demo", database, quiet, as_json)


app.command()(run)
app.command(name="try")(try_)
app.command(name="capacity")(capacity_)
app.command(name="cross-check")(cross_check)
app.command()(compare)
app.command()(replicate)


@app.command(name="list")
def list_(
    what: Annotated[str, typer.Argument(help="stacks, workloads, topologies, suites or runs.")] = "stacks",
    as_json: Json = False,
    servers: Servers = None,
    results: Results = None,
) -> None:
    """What there is: stacks (and why one is not runnable here), workloads, topologies, suites, runs.

    Examples: ./fairground list · ./fairground list workloads · ./fairground list --json
    """
    places = lab.Places.of(os.environ, servers, results)
    rows = lists.rows(what, places)
    if as_json:
        say.document({what: rows})
        return
    for row in rows:
        say.out.print(
            "  ".join(("" if row[key] is None else str(row[key])).ljust(width) for key, width in lists.WIDTHS[what]).rstrip(),
            highlight=False,
            soft_wrap=True,
            markup=False,
        )
    if what == "stacks":
        ready = sum(row["state"] != "not here" for row in rows)
        say.talk.print(
            f"{len(rows)} stacks, {ready} runnable here · more: list workloads · list topologies · list suites · list runs",
            highlight=False,
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
    lines += [*lab.tool_checks(places), lab.awake_check(places), _engine_line(places)]
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
    transfers: Annotated[
        Path | None, typer.Option("--transfer", help="Put why `transfer` is slow into this Markdown file.")
    ] = None,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Write summary.csv, report.html and a page for each trial of a run again, from its stored data.

    Examples: ./fairground report · ./fairground report 2026-09-30-1412-demo · ./fairground report --transfer docs/transfer.md
    """
    places = lab.Places.of(os.environ, None, results)
    path, found = measure.report(store.find(places.results, run_name))
    if transfers is not None:
        shown = boards.boards(found)
        if not transfer.crossings(found, shown):
            raise LabError(f"run `{found.id}` has no number on `{transfer.CROSSING}`", "./fairground run suites/transfer.toml")
        splice.put(transfers, "transfer", transfer.markdown(found, shown), "Why transfer is slow")
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
        if line.state == "lacking" and line.fix and line.fix.split()[0] in ("apt-get", "sysctl", "env", "cargo"):
            if line.fix.startswith("apt-get"):
                subprocess.run(["apt-get", "update", "-q"], stdout=sys.stderr, check=False)
            say.talk.print(f"running: {line.fix}", highlight=False)
            subprocess.run(shlex.split(line.fix), stdout=sys.stderr, check=False)
    return [
        *machine.checks(places.cache, os.environ.get("PATH", "")),
        *lab.tool_checks(places),
        lab.awake_check(places),
        _engine_line(places),
    ]
