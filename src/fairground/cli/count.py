"""`--count` of `run` and `compare`: instructions and system calls for an answer, in place of time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import typer

from fairground import records
from fairground.cli import say, typed
from fairground.cli.arguments import options_of, refuse_beside_resume, refuse_others
from fairground.cli.follow import Voice, finish
from fairground.cli.options import BAD_ANSWER, NOTHING_MEASURED
from fairground.cli.seats import seat_verb
from fairground.inputs import asked, manifest, numbers, options
from fairground.inputs.options import Given
from fairground.lab import count, pages
from fairground.lab.compare import is_stack, name_sides, workload_of
from fairground.lab.events import UnitDone
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.model import CellSettings, LabError, Load, Stack, Workload, storing
from fairground.model.count import CountArm, CountAsked, CountedStart
from fairground.model.record import Record, RecordKind
from fairground.report import counts, fail_on, where
from fairground.report.counts import CountReport
from fairground.report.fail_on import Rule
from fairground.report.rendering import counts_of
from fairground.stats.counts import FLOOR, calls, instructions

CONNECTIONS = 16
"""Connections of a counted load, where nobody says how many: a server of one core is busy with fewer."""
BUDGET_S = 600.0
"""Most seconds of a counted run, where nobody says how many; two starts of each arm are made in any case."""
WARMUP_S = 60.0
"""A warm-up that has not settled by then is told."""
OF_RECORDS = "goes with what is measured, and two records are compared as they are"
"""Why an option that says how to measure says nothing beside two records."""
MAY = frozenset({
    "a", "b", "budget", "connections", "contract", "count", "counters", "durable", "fail_on", "markdown", "memory_mb",
    "no_prepared", "pin", "pool_per_worker", "pool_size", "pool_wait_ms", "postgres", "postgres_version", "requests",
    "resume", "revisions", "scale", "seats", "seed", "stack", "threads", "timeout_ms", "where", "width", "workers", "workload",
    *(one.name for one in (*options.SHARED, *options.ONE_PATH)),
})  # fmt: skip
"""Options that go with `--count`; all others are about time, or about another way to measure."""


def compare(context: typer.Context, given: Given, places: Places) -> None:
    """Count two stacks or two revisions, or hold two counted records against each other."""
    _refuse_others(context, given)
    rule = None if given["fail_on"] is None else fail_on.parse_counted(given["fail_on"])
    known, a, b = places.load_servers(), given["a"], given["b"]
    _refuse_urls([text for text in (a, b) if text is not None])
    if given["resume"] is not None:
        record = _resumed(places, given)
    elif a is not None and b is not None and not is_stack(known, a) and not is_stack(known, b):
        found = counts.between(*(records.load(records.find(places.results, text, RecordKind.COUNT)) for text in (a, b)))
        if given["where"] and not found.where:
            raise LabError("the two records do not say where: they were counted without `--where`", "count both again with it")
        refuse_others(context, ("a", "b", "count", "where", "fail_on", "markdown"), OF_RECORDS)
        _say(found, None, given["markdown"], given["as_json"], rule)
        return
    else:
        named = name_sides(known, a, b, given["revisions"])
        workload = workload_of(places, known, named, given["workload"], given["contract"])
        arms, width = count.arms_of(named), numbers.positive("--width", given["width"]) / 100
        budget_s = numbers.seconds("--budget", given["budget"])
        record = _count(places, given, _asked(context, given, arms, (workload,), True, width, budget_s))
    _tell(record, given["markdown"], given["as_json"], rule)


def run(context: typer.Context, given: Given, places: Places) -> None:
    """Count stacks on workloads."""
    _refuse_others(context, given)
    if given["suite"] is not None:
        raise LabError(
            "`--count` goes with `--stack`: a suite says how time is measured", "./fairground run --count --stack SERVER"
        )
    if given["resume"] is not None:
        record = _resumed(places, given)
    else:
        if not given["stack"]:
            raise LabError(
                "name at least one `--stack` to be counted", "./fairground run --count --stack SERVER --workload WORKLOAD"
            )
        _refuse_urls(given["stack"])
        known = places.load_servers()
        stacks = list({one.id: one for name in given["stack"] for one in manifest.find_stack(known, name)}.values())
        workloads = places.workloads_of(given["workload"] or (), stacks, given["contract"])
        arms = [CountArm(one.id, one.id) for one in stacks]
        budget_s = BUDGET_S if given["budget"] is None else numbers.seconds("--budget", given["budget"])
        names = _common(stacks, workloads)
        record = _count(places, given, _asked(context, given, arms, names, False, FLOOR, budget_s))
    _tell(record, None, given["as_json"], None)


def _common(stacks: Sequence[Stack], workloads: Sequence[Workload]) -> list[str]:
    """The workloads that all of the stacks have; the others are told. LabError where none is left."""
    whys = {one.id: f"`{stack.id}` has no `{one.id}`: {stack.skip[one.id]}" for one in workloads for stack in stacks
            if one.id in stack.skip}  # fmt: skip
    names = [one.id for one in workloads if one.id not in whys]
    if not names:
        raise LabError(f"the stacks have no workload in common: {next(iter(whys.values()))}", "count them one after the other")
    for id, why in whys.items():
        say.note(f"{id} is not counted: {why}")
    return names


def refuse_without(given: Given) -> None:
    """LabError where `--counters` is asked for without `--count`."""
    if given["counters"]:
        raise LabError("`--counters` goes with `--count`: it says how work is counted", "leave it out, or add --count")


def _refuse_others(context: typer.Context, given: Given) -> None:
    """LabError for an option that says how time is measured, or what a new count is where one goes on."""
    for name, spelling in options_of(context).items():
        if name not in MAY and name != "suite":
            raise LabError(
                f"`{spelling}` cannot be combined with `--count`, which counts work and measures no time",
                f"leave `{spelling}` out",
            )
    if given["resume"] is not None:
        refuse_beside_resume(context, ("count", "fail_on", "markdown"), "count")


def _refuse_urls(names: Collection[str]) -> None:
    for name in names:
        if "://" in name:
            raise LabError(
                f"`{name}` is a URL, and `--count` counts in a process that the lab starts",
                "name a stack: ./fairground run --count --stack SERVER",
            )


def _asked(
    context: typer.Context,
    given: Given,
    arms: Sequence[CountArm],
    workloads: Sequence[str],
    compared: bool,
    width: float,
    budget_s: float,
) -> CountAsked:
    """Read how it is counted: on one core, with one worker and few connections, unless somebody says otherwise."""
    said, many = options_of(context), given["connections"]
    if isinstance(many, str):
        found = numbers.counts("--connections", many)
        if len(found) > 1:
            raise LabError(f"`--connections {many}` names several loads, and one is counted", "name one of them")
        many = found[0]
    connections = numbers.positive("--connections", many) if "connections" in said else CONNECTIONS
    load = Load(connections, warmup_max_s=WARMUP_S, timeout_ms=given.get("timeout_ms", Load.timeout_ms))
    settings, load = seat_verb(given, load, given["database"])
    settings = _on_one_core(settings, said)
    requests = None if given["requests"] is None else numbers.positive("--requests", given["requests"])
    load = load if "threads" in said else replace(load, threads=1)
    path, where, natively = asked.path(given), bool(given.get("where")), bool(given.get("counters"))
    if where and natively:
        raise LabError(
            "`--where` cannot be combined with `--counters`: functions are told under the emulation alone",
            "leave one of them out",
        )
    return CountAsked(
        tuple(arms),
        tuple(workloads),
        compared,
        load,
        settings,
        seed=1 if given["seed"] is None else given["seed"],
        budget_s=budget_s,
        floor=FLOOR,
        requests=requests,
        topology=path,
        where=where,
        counters=natively,
        width=width,
    )


def _on_one_core(settings: CellSettings, said: Collection[str]) -> CellSettings:
    """Put the server on one core with one worker, unless a person says something of either."""
    if "workers" not in said:
        settings = replace(settings, workers=1)
    server = settings.cores_of("server")
    if {"pin", "seats", "workers"} & set(said) or not server:
        return settings
    return replace(settings, pin=numbers.by_role({**dict(settings.pin), "server": server[:1]}))


def _count(places: Places, given: Given, asked: CountAsked) -> Record[CountAsked, CountedStart]:
    return _followed(Inputs(places, typed.command(), given["database"]), asked, given)


def _resumed(places: Places, given: Given) -> Record[CountAsked, CountedStart]:
    record = records.load(records.find(places.results, given["resume"], RecordKind.COUNT))
    return _followed(Inputs(places, record.head.command, given["database"], record), record.head.asked, given)


def _followed(inputs: Inputs, asked: CountAsked, given: Given) -> Record[CountAsked, CountedStart]:
    """Count under lines of progress, and write the page."""
    voice = Voice(given["quiet"], tell=_progress)
    record = finish(lambda sink: count.count_stacks(inputs, asked, sink), voice)
    pages.write(record)
    return record


def _progress(event: UnitDone) -> None:
    """One line for each start."""
    one: CountedStart = event.record.entries[-1]
    value, where = instructions(one), f"start {one.number} of {one.arm} on {one.workload}"
    if value is None:
        say.note(f"{where}: no number: {one.rejected or one.void}")
        return
    unsettled, called = "" if one.settled else ", not settled", calls(one)
    beside = "" if called is None else f" and {called:.2f} system calls"
    say.note(f"{where}: {value:,.0f} instructions{beside} for an answer{unsettled}")


def _tell(record: Record[CountAsked, CountedStart], markdown: Path | None, as_json: bool, rule: Rule | None) -> None:
    _say(counts_of(record), record.folder, markdown, as_json, rule)


def _say(found: CountReport, folder: Path | None, markdown: Path | None, as_json: bool, rule: Rule | None) -> None:
    if markdown is not None:
        with storing(markdown):
            markdown.write_text(counts.markdown(found), encoding="utf-8")
    if as_json:
        say.document(counts.document(found) | {"folder": None if folder is None else str(folder)})
    else:
        for line in (*found.sentences, *where.sentences(found.where), *found.notes):
            say.line(line)
        if folder is not None:
            say.line(f"page  {folder / records.SHAPES[RecordKind.COUNT].page}")
    _exit(found, rule)


def _exit(found: CountReport, rule: Rule | None) -> None:
    """Exit code 1 where an arm is rejected or the rule is broken, 3 without a number."""
    if found.rejected:
        raise typer.Exit(BAD_ANSWER)
    if not (found.is_measured or found.lines) or (rule is not None and not fail_on.is_counted(found.lines, rule)):
        raise typer.Exit(NOTHING_MEASURED)
    sentences = () if rule is None else fail_on.broken_counts(found.lines, rule)
    for sentence in sentences:
        say.note(f"failed: {sentence}")
    if sentences:
        raise typer.Exit(BAD_ANSWER)
