"""Two stacks, or two revisions of one, side by side: rounds of pairs until the stopping rule ends them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fairground.host import build
from fairground.inputs import revisions, workload_files
from fairground.inputs.asked import one_stack
from fairground.lab.events import Event, Said, Sink, unheard
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs, prepare
from fairground.lab.recording import open_record, record_units, until_over
from fairground.measure import schedule
from fairground.measure.rounds import RoundsEffort, Side, one_round
from fairground.model import Cell, CellSettings, LabError, Load, Server, WorkloadEvent
from fairground.model.pair import Round
from fairground.model.record import ComparisonAsked, Record, RecordKind
from fairground.run import stopping

TURN_S = RoundsEffort.turn_s
"""Seconds of a turn, unless somebody says otherwise."""


@dataclass(frozen=True)
class Named:
    """Both sides of a comparison as they are named: labels, stacks, and the revisions of git, if any."""

    label_a: str
    label_b: str
    stack_a: str
    stack_b: str
    revisions: tuple[str, str] | None = None


def name_sides(known: Sequence[Server], a: str | None, b: str | None, old_new: str | None, sql: str | None = None) -> Named:
    """The sides that a person names: two stacks, one with two revisions, or one without and with a file of SQL.

    LabError for what is not there.
    """
    if a is None or sum(one is not None for one in (b, old_new, sql)) != 1:
        others = "or one stack and `--revisions` or `--sql-before`"
        raise LabError(f"name two stacks, {others}", "./fairground compare SERVER:ONE SERVER:TWO")
    if b is not None:
        one, other = (one_stack(known, text).id for text in (a, b))
        return Named(one, other if other != one else f"{other} again", one, other)
    stack = one_stack(known, a).id
    if sql is not None:
        return Named(stack, f"{stack} with {Path(sql).name}", stack, stack)
    old, new = revisions.parse(str(old_new))
    return Named(f"{stack}@{old}", f"{stack}@{new}", stack, stack, (old, new))


def workload_of(places: Places, known: Sequence[Server], named: Named, text: str | None, contract: str | None) -> str:
    """The id of the workload that is meant for both sides. None: their contract's default.

    LabError where it is not theirs, or where one of them does not serve it.
    """
    stacks = [one_stack(known, id) for id in dict.fromkeys((named.stack_a, named.stack_b))]
    (found,) = places.workloads_of(() if text is None else (text,), stacks, contract)
    for stack in stacks:
        if found.id in stack.skip:
            raise LabError(f"`{stack.id}` has no `{found.id}`: {stack.skip[found.id]}", "choose another workload: -w WORKLOAD")
    return found.id


def long_enough(places: Places, workload: str, settings: CellSettings, load: Load, turn_s: float) -> tuple[Load, float]:
    """Return the load and the seconds of a turn of a comparison, both made long enough.

    A CPU quota or a workload's deadlocks ask for longer ones.
    """
    shortest_s = schedule.shortest_turn_s(settings, WorkloadEvent.DEADLOCKS in places.workload(workload).events)
    return replace(load, window_s=max(load.window_s, shortest_s)), max(turn_s, shortest_s)


def is_stack(known: Sequence[Server], text: str) -> bool:
    """True if a word names a server or a stack."""
    return any(text in (server.id, *(stack.id for stack in server.stacks)) for server in known)


def compare_stacks(inputs: Inputs, asked: ComparisonAsked, sink: Sink = unheard) -> Iterator[Event]:
    """Measure what is missing of a comparison. An arm that fails is a finding of its round, and ends it."""
    workload = workload_files.render(inputs.places.workload(asked.workload), asked.settings.scale)
    arms = _arms(inputs.places, asked)
    if (warning := stopping.too_short(asked)) is not None:
        yield Said(warning)
    stacks = [arm.stack for arm in arms]
    cells = [
        Cell(arm.stack.id, workload.id, asked.topology, asked.load, replace(asked.settings, sql_before=arm.sql_before))
        for arm in arms
    ]
    with prepare(inputs, cells, stacks, sink, least=len(cells)) as testbed:
        infos = {arm.label: build.stack_infos([arm.stack], testbed.builds)[arm.stack.id] for arm in arms}
        record = open_record(inputs, RecordKind.COMPARISON, asked, testbed, infos)
        effort = RoundsEffort(workload, asked.load, asked.settings, asked.seed, asked.turn_s, asked.pairs, asked.topology)
        start = functools.partial(next_start, functools.partial(one_round, testbed.bench, arms), effort, record)
        yield from record_units(record, until_over(record, start, stopping.comparison_end))


def next_start(
    one: Callable[[RoundsEffort, Path, int], Round],
    effort: RoundsEffort,
    record: Record[ComparisonAsked, Round],
    made: Sequence[Round],
) -> Round:
    """Make the start after those that were `made`, with as many pairs as its time allows."""
    pairs = stopping.pairs_of_next(made, record.head.asked)
    return one(replace(effort, pairs=pairs), record.folder, len(made) + 1)


def _arms(places: Places, asked: ComparisonAsked) -> tuple[Side, Side]:
    known = places.load_servers()
    stacks = [one_stack(known, id) for id in (asked.stack_a, asked.stack_b)]
    if asked.revisions is not None:
        stacks = [
            revisions.checked_out(places.cache, places.contracts(), at, one)
            for at, one in zip(asked.revisions, stacks, strict=True)
        ]
    return Side(asked.label_a, stacks[0]), Side(asked.label_b, stacks[1], asked.planted, asked.settings.sql_before)
