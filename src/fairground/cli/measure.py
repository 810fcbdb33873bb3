"""`run` and `demo`: from a plan to a run folder with a report."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from rich.console import Console

from fairground import contract, generators, limits, machine, manifest, plan, postgres, runner, store, topology
from fairground.build import Built, Unavailable
from fairground.cli import lab, say
from fairground.cli.screen import Screen, duration
from fairground.model import (
    Durability,
    LabError,
    Limit,
    Load,
    Plan,
    Run,
    Server,
    Settings,
    Stack,
    Suite,
    Trial,
    Verdict,
    Workload,
)
from fairground.postgres import Database
from fairground.process import Keeper
from fairground.report import charts, page, render, trial_page
from fairground.trial import Bench


@dataclass(frozen=True)
class Options:
    """How a run is to be carried out, apart from what it measures."""

    places: lab.Places
    database_url: str | None = None
    quiet: bool = False
    talk: Console = Console(stderr=True)
    on_trial: Callable[[Trial], None] = lambda _: None

    def say(self, sentence: str) -> None:
        """A sentence for the person who waits."""
        self.talk.print(sentence, highlight=False, soft_wrap=True, markup=False)


def dry_run(suite: Suite, command: str, options: Options) -> Plan:
    """The plan of a suite as it would be if everything could be built. LabError for a load that its generator cannot make."""
    workloads = options.places.workloads()
    planned = plan.of_suite(suite, options.places.load_servers(), workloads, command)
    rendered = {workload.id: manifest.render(workload, _scale(planned)) for workload in workloads}
    generators.check((slot.cell for slot in planned.slots), rendered)
    postgres.check(_class_of(planned)[1])
    for settings in dict.fromkeys(slot.cell.settings for slot in planned.slots):
        check_pins(settings, options.database_url)
    return planned


def fresh(suite: Suite, command: str, options: Options) -> Path:
    """Build what the suite needs, freeze its plan, measure it. The run's folder."""
    places, foreseen = options.places, dry_run(suite, command, options)
    absent = _absent(foreseen, options)
    with ExitStack() as held:
        keeper = held.enter_context(lab.keeping())
        servers, workloads = places.load_servers(), places.workloads()
        wanted = {slot.cell.stack for slot in foreseen.slots}
        builds = build(keeper, [server for server in servers if any(stack.id in wanted for stack in server.stacks)], options)
        lacking = {stack.id: _reason(builds[stack.server.id]) for stack in _stacks(servers)
                   if stack.id in wanted and isinstance(builds[stack.server.id], Unavailable)}  # fmt: skip
        if keeper.groups.version is None:
            absent["control slowed"] = "a planted slowdown needs cgroups, and none can be made here"
        frozen = plan.of_suite(suite, servers, workloads, command, absent | lacking)
        database = held.enter_context(lab.database(keeper, places, options.database_url, *_class_of(frozen)))
        options.talk.print("making the data …", highlight=False)
        database.prepare(_scale(frozen))
        chosen = [stack for stack in _stacks(servers) if stack.id in wanted]
        lab.keep_awake(held, keeper, places, options.say)
        folder = store.create(
            places.results,
            frozen,
            started_unix_s=time.time(),
            machine=machine.fingerprint(keeper.awake),
            versions=lab.versions(places, database) | lab.tool_versions(places, frozen) | lab.hop_versions(frozen),
            database_settings=database.settings(),
            stacks=lab.stack_infos(chosen, builds),
            workloads=_workload_texts(workloads, frozen),
        )
        _carry_out(keeper, database, frozen, folder, chosen, workloads, options)
    return folder


def resume(folder: Path, options: Options, budget_s: float | None = None) -> Path:
    """Go on with an interrupted run: its own plan, its own folder; finished trials stay as they are.

    A run that its budget ended goes on only with a larger one, `budget_s`, counted from its beginning.
    """
    run, places = store.load(folder), options.places
    left = [slot for slot in run.plan.slots if slot.number not in store.done_slots(run)]
    if not left or (run.finished and budget_s is None):
        return folder
    if budget_s is not None:
        if run.plan.budget_s is None:
            raise LabError(f"run `{run.id}` has no budget: it ends with its plan", "leave `--budget` out")
        run = replace(run, plan=replace(run.plan, budget_s=budget_s))
        store.reopen(folder)
    with ExitStack() as held:
        keeper = held.enter_context(lab.keeping())
        servers, wanted = places.load_servers(), {slot.cell.stack for slot in left}
        builds = build(keeper, [server for server in servers if any(stack.id in wanted for stack in server.stacks)], options)
        chosen = [stack for stack in _stacks(servers) if stack.id in wanted]
        _same_as_before(run, chosen, builds)
        database = held.enter_context(lab.database(keeper, places, options.database_url, *_class_of(run.plan)))
        runner.one_version(run, lab.versions(places, database) | lab.tool_versions(places, run.plan) | lab.hop_versions(run.plan))
        if run.machine.awake:
            lab.keep_awake(held, keeper, places, options.say, must=True)
        _carry_out(keeper, database, run.plan, folder, chosen, places.workloads(), options)
    return folder


def build(keeper: Keeper, servers: Sequence[Server], options: Options) -> dict[str, Built | Unavailable]:
    """Build servers and say so; what cannot be had is said with the sentence that mends it, and the rest goes on."""
    talk, began = options.talk, time.monotonic()

    def say(server: Server, command: str) -> None:
        talk.print(f"building {server.id}: {command}", highlight=False, soft_wrap=True)

    builds = lab.build_all(keeper, servers, options.places.cache, say)
    for made in builds.values():
        if isinstance(made, Unavailable):
            talk.print(
                f"not here: {made.server.id}, {made.reason}" + (f" → {made.hint}" if made.hint else ""),
                highlight=False,
                soft_wrap=True,
            )
    if time.monotonic() - began > 5:
        talk.print(f"built in {duration(time.monotonic() - began)}", highlight=False)
    return builds


def _absent(planned: Plan, options: Options) -> dict[str, str]:
    """`generator NAME` or `topology ID` → why its cells are left out; said as well, for the rest goes on."""
    absent = {}
    for one in dict.fromkeys(slot.cell.topology for slot in planned.slots):
        if lacking := topology.lacking(one, os.environ.get("PATH")):
            absent[f"topology {one.id}"] = " → ".join(lacking)
            options.talk.print(f"not here: topology {one.id}, {absent[f'topology {one.id}']}", highlight=False, soft_wrap=True)
    for name, tool in lab.tools(options.places, planned).items():
        if tool is None:
            absent[f"generator {name}"] = f"`{name}` is not installed → {lab.install_words(options.places, name)}"
            options.talk.print(f"not here: generator {name}, {absent[f'generator {name}']}", highlight=False, soft_wrap=True)
    return absent


def check_pins(settings: Settings, database_url: str | None) -> None:
    """LabError when a role is pinned to a core that this lab may not use, or a database that is not its own is pinned."""
    if database_url and settings.cores_of("database"):
        raise LabError("a given database cannot be pinned to cores", "pin it where it is started, or leave out `--database`")
    ours = os.sched_getaffinity(0)
    for role, cores in settings.pin:
        if missing := sorted(set(cores) - ours):
            there = ", ".join(map(str, sorted(ours)))
            raise LabError(f"`{role}` is to run on core {missing[0]}, which this machine has not for us", f"cores: {there}")


def report(folder: Path) -> tuple[Path, Run]:
    """Write summary.csv, report.html and a page for each trial of a run, finished or not; the path of report.html."""
    run = store.load(folder)
    store.write_summary(folder, page.summary_csv(run))
    path = folder / "report.html"
    path.write_text(page.html(run, render.svg(charts.specs(run))), encoding="utf-8")
    (folder / "trials").mkdir(exist_ok=True)
    for place, text in trial_page.pages(run):
        (folder / place).write_text(text, encoding="utf-8")
    return path, run


def _carry_out(
    keeper: Keeper,
    database: Database,
    frozen: Plan,
    folder: Path,
    stacks: Sequence[Stack],
    workloads: Sequence[Workload],
    options: Options,
) -> None:
    """Measure what is left of a plan under a screen."""
    known, talk, tools = store.load(folder), options.talk, lab.tools(options.places, frozen)
    for name, tool in tools.items():
        if tool is None:
            raise LabError(f"the load generator `{name}` is not here any more", lab.install_words(options.places, name), 3)
    left = plan.remaining_s(frozen, store.done_slots(known), None)
    talk.print(f"plan  {say.outline(frozen, left)} → {_near(folder)}", highlight=False, soft_wrap=True)
    rendered = {workload.id: manifest.render(workload, _scale(frozen)) for workload in workloads}
    ceiling = limits.Bench(keeper, database, options.places.engine, folder / "limits", machine.cores())
    _measure_limits(ceiling, known, rendered, talk)
    _qualify(ceiling, known, talk)
    live = talk.is_terminal and "CI" not in os.environ
    with Screen(frozen, known.everything, talk, live, options.quiet) as screen:
        bench = Bench(
            keeper,
            database,
            options.places.engine,
            contract.load(options.places.contract / "cases"),
            machine.cores(),
            screen.progress,
            tools={name: tool for name, tool in tools.items() if tool is not None},
        )
        for trial in runner.run(frozen, folder, {stack.id: stack for stack in stacks}, rendered, bench):
            screen.finished(trial)
            options.on_trial(trial)


def _measure_limits(bench: limits.Bench, run: Run, workloads: Mapping[str, Workload], talk: Console) -> None:
    """What this machine can do at most on each workload of the run, unless that is known from before an interruption."""
    known = {limit.workload for limit in run.limits}
    first = {slot.cell.workload: slot.cell for slot in reversed(run.plan.slots)}
    left = [cell for name, cell in first.items() if name not in known]
    if left:
        talk.print(f"measuring this machine's limits on {', '.join(cell.workload for cell in left)} …", highlight=False)
    http: dict[Load, Limit] = {}  # workloads that work in no database share one ceiling
    for cell in left:
        workload = workloads[cell.workload]
        try:
            found = http.get(cell.load) if workload.limit_sql is None else None
            found = found or limits.measure(bench, workload, cell.load, cell.settings)
            if workload.limit_sql is None:
                http[cell.load] = found
            store.append_limit(run.folder, replace(found, workload=workload.id))
        except LabError as error:
            talk.print(f"no limit for {cell.workload}: {error.message}", highlight=False, soft_wrap=True, markup=False)


def _qualify(bench: limits.Bench, run: Run, talk: Console) -> None:
    """Whether the engine can measure here, in runs that compare, unless that is known from before an interruption."""
    if run.plan.blocks < plan.COMPARING_BLOCKS or run.qualification is not None:
        return
    try:
        found = limits.qualify(bench)
    except LabError as error:
        talk.print(f"the engine could not be qualified: {error.message}", highlight=False, soft_wrap=True, markup=False)
        return
    store.qualify(run.folder, found)
    if not found.can_measure:
        missed = ", ".join(f"{check.name} {check.measured:.3g} {check.unit}" for check in found.checks if not check.holds)
        talk.print(f"the engine missed known numbers on this machine: {missed}", highlight=False, soft_wrap=True, markup=False)


def _same_as_before(run: Run, stacks: Sequence[Stack], builds: Mapping[str, Built | Unavailable]) -> None:
    """A run is of one version of every server: refuse to go on with others."""
    for stack in stacks:
        made, before = builds[stack.server.id], run.stacks[stack.id].content_hash
        if isinstance(made, Unavailable):
            raise LabError(f"`{stack.id}` cannot be had any more: {made.reason}", made.hint, exit_code=3)
        if made.content_hash != before:
            raise LabError(
                f"`{stack.server.id}` has changed since the run began, and a run holds one version of each server",
                "begin a new run, or bring the server's folder back to what it was",
            )


def _class_of(frozen: Plan) -> tuple[Durability, dict[str, str]]:
    """The durability and the PostgreSQL settings that a whole plan has."""
    settings = dict(cast(tuple[tuple[str, str], ...], runner.one_value(frozen, "postgres")))
    return Durability(str(runner.one_value(frozen, "durability"))), settings


def _scale(frozen: Plan) -> int:
    return int(str(runner.one_value(frozen, "scale")))


def _stacks(servers: Sequence[Server]) -> list[Stack]:
    return [stack for server in servers for stack in server.stacks]


def _reason(made: Built | Unavailable) -> str:
    return f"{made.reason}{f' → {made.hint}' if made.hint else ''}" if isinstance(made, Unavailable) else ""


def _workload_texts(workloads: Sequence[Workload], frozen: Plan) -> dict[str, dict[str, str]]:
    used = {slot.cell.workload for slot in frozen.slots}
    rendered = [manifest.render(workload, _scale(frozen)) for workload in workloads if workload.id in used]
    return {
        workload.id: {
            "title": workload.title,
            "why": " ".join(workload.why.split()),
            "request": f"{workload.method} {workload.path}" + (f" {workload.body}" if workload.body else ""),
            "limit_sql": workload.limit_sql or "",
        }
        for workload in rendered
    }


def _near(path: Path) -> Path:
    """Relative to where the person stands, when it is below."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def rejected(run: Run) -> int:
    """How many slots ended rejected."""
    return sum(trial.verdict is Verdict.REJECTED for trial in run.trials)


def measured(run: Run) -> int:
    """How many trials have a verdict other than void."""
    return sum(trial.verdict is not Verdict.VOID for trial in run.trials)


def with_overrides(suite: Suite, blocks: int | None, seed: int | None, **others: object) -> Suite:
    """The suite with what of these was said: blocks, seed, `anchor`, `controls`, `stream`, `budget_s`.

    With a budget and no number of blocks the budget alone says how many there are.
    """
    said = {name: value for name, value in others.items() if value is not None}
    few = blocks or (0 if "budget_s" in said else suite.blocks)
    return replace(suite, blocks=few, seed=suite.seed if seed is None else seed, **cast(Any, said))
