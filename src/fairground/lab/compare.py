"""Two stacks, or two revisions of one, side by side: rounds of pairs until the stopping rule ends them. And two runs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from fairground import contract
from fairground.host import machine
from fairground.host.build import Built, Unavailable
from fairground.inputs import manifest
from fairground.lab import building, measuring, revisions, setup
from fairground.lab.measuring import Began, Event, Inputs, Said
from fairground.lab.places import Places
from fairground.measure import Bench, schedule
from fairground.measure.rounds import Effort, Side, one_round
from fairground.model import Cell, LabError, Load, Run, Server, Settings, Stack, StackInfo, Workload, WorkloadEvent
from fairground.model.pair import Round
from fairground.model.record import ComparisonAsked, Kind
from fairground.report import comparison
from fairground.report.comparison import Line
from fairground.run import stopping
from fairground.stats import differences

TURN_S = Effort.turn_s
"""Of a turn, unless somebody says otherwise."""


@dataclass(frozen=True)
class Named:
    """Both sides of a comparison as they are named: labels, stacks, and the revisions of git, if any."""

    label_a: str
    label_b: str
    stack_a: str
    stack_b: str
    revisions: tuple[str, str] | None = None


def name(known: Sequence[Server], a: str | None, b: str | None, old_new: str | None) -> Named:
    """The sides that a person names: two stacks, or one with two revisions. LabError for what is not there."""
    if a is None or (b is None) == (old_new is None):
        raise LabError("name two stacks, or one stack and `--revisions`", "./fairground compare SERVER:ONE SERVER:TWO")
    if b is not None:
        one, other = (_stack(known, text).id for text in (a, b))
        return Named(one, other if other != one else f"{other} again", one, other)
    old, new = revisions.parse(str(old_new))
    stack = _stack(known, a).id
    return Named(f"{stack}@{old}", f"{stack}@{new}", stack, stack, (old, new))


def long_enough(places: Places, workload: str, settings: Settings, load: Load, turn_s: float) -> tuple[Load, float]:
    """The load and the turns of a comparison, in seconds, both as long as a CPU quota or a workload's deadlocks ask for."""
    shortest_s = schedule.shortest_turn_s(settings, WorkloadEvent.DEADLOCKS in _workload(places, workload).events)
    return replace(load, window_s=max(load.window_s, shortest_s)), max(turn_s, shortest_s)


def is_stack(known: Sequence[Server], text: str) -> bool:
    """Whether a word names a server or a stack."""
    return any(text in (server.id, *(stack.id for stack in server.stacks)) for server in known)


def compare(inputs: Inputs, asked: ComparisonAsked) -> Iterator[Event]:
    """Measure what is missing of a comparison. An arm that fails is a finding of its round, and ends it."""
    places = inputs.places
    workload = manifest.render(_workload(places, asked.workload), asked.settings.scale)
    arms = _arms(places, asked)
    if (warning := stopping.too_short(asked)) is not None:
        yield Said(warning)
    hops = building.programs(places, asked.topology)
    with ExitStack() as held:
        yield from map(Said, inputs.elsewhere.remarks)
        keeper = held.enter_context(setup.keeping(places, inputs.elsewhere.front))
        builds = yield from measuring.built(keeper, [arm.stack.server for arm in arms], places)
        infos = {arm.label: _info(arm, made) for arm, made in zip(arms, builds, strict=True)}
        version = asked.settings.postgres_version
        at = places, inputs.database_url, asked.settings.run, version, inputs.elsewhere.database
        database = held.enter_context(setup.database(keeper, *at))
        yield from map(Said, database.remarks)
        yield from measuring.kept_awake(held, keeper, inputs)
        versions = {**setup.versions(places, database), **hops, **inputs.elsewhere.versions}
        record = measuring.opened(inputs, keeper, Kind.COMPARISON, asked, versions, infos)
        yield Began(record)
        cases = contract.load(places.contract / "cases")
        there, disks = inputs.elsewhere, setup.disks(places, database)
        shared = (keeper, database, places.engine, cases, machine.cores())
        bench = Bench(*shared, disks=disks, elsewhere=there.generator, its_host=there.database)
        effort = Effort(workload, asked.load, asked.settings, asked.seed, asked.turn_s, asked.pairs, asked.topology)
        starts = Starts(functools.partial(one_round, bench, arms), effort, record.folder, asked, list(record.entries))
        yield from measuring.units(record, starts.make, stopping.comparison_end)


@dataclass
class Starts:
    """The starts of a comparison, each with as many pairs as its time allows after those that were `made`."""

    one_round: Callable[[Effort, Path, int], Round]
    effort: Effort
    folder: Path
    asked: ComparisonAsked
    made: list[Round]

    def make(self, number: int) -> Round:
        """The start of a number, from 1."""
        effort = replace(self.effort, pairs=stopping.pairs_of_next(self.made, self.asked))
        self.made.append(self.one_round(effort, self.folder, number))
        return self.made[-1]


def _arms(places: Places, asked: ComparisonAsked) -> tuple[Side, Side]:
    known = places.load_servers()
    stacks = [_stack(known, id) for id in (asked.stack_a, asked.stack_b)]
    if asked.revisions is not None:
        stacks = [revisions.checked_out(places, at, one) for at, one in zip(asked.revisions, stacks, strict=True)]
    return Side(asked.label_a, stacks[0]), Side(asked.label_b, stacks[1], asked.planted)


def _info(arm: Side, made: Built | Unavailable) -> StackInfo:
    """What the record says of an arm's stack. LabError where it cannot be had."""
    if isinstance(made, Unavailable):
        raise LabError(f"`{arm.stack.server.id}` cannot run here: {made.reason}", made.hint, exit_code=3)
    return setup.stack_infos([arm.stack], {arm.stack.server.id: made})[arm.stack.id]


def _workload(places: Places, id: str) -> Workload:
    chosen = {one.id: one for one in places.workloads()}
    if id not in chosen:
        raise LabError(f"there is no workload `{id}`", f"workloads: {', '.join(sorted(chosen))}")
    return chosen[id]


def _stack(known: Sequence[Server], text: str) -> Stack:
    found = manifest.find_stack(known, text)
    if len(found) > 1:
        raise LabError(f"`{text}` has {len(found)} stacks", f"name one: {', '.join(stack.id for stack in found)}")
    return found[0]


# ---------------------------------------------------------------- two runs


def of_runs(a: Run, b: Run) -> tuple[tuple[Line, ...], tuple[str, ...]]:
    """Cells that both runs have, and what is to be known beside them.

    A cell's trials of different runs are not paired, so the spread of both runs' blocks is counted.
    """
    cells = [
        cell for cell in dict.fromkeys(slot.cell for slot in a.plan.slots) if any(cell == slot.cell for slot in b.plan.slots)
    ]
    if not cells:
        raise LabError(f"the runs `{a.id}` and `{b.id}` have no cell in common", "compare runs of one suite")
    kept = [(cell, _levels(a, cell), _levels(b, cell)) for cell in cells]
    found = differences.table({cell.id: _crossed(one, other) for cell, one, other in kept if one and other})
    lines = [
        Line(
            cell.id, "goodput", "per second", comparison.mean(one), comparison.mean(other), found[cell.id], True,
            _crossed(one, other),
        )
        for cell, one, other in kept
        if cell.id in found
    ]  # fmt: skip
    notes = ["the runs were made at different times: what the machine did meanwhile is in the ratios"]
    if a.machine.hostname_hash != b.machine.hostname_hash:
        notes.append("the runs are of different machines")
    majors = (a.postgres_major, b.postgres_major)
    if None not in majors and majors[0] != majors[1]:
        notes.append(
            f"A was measured with PostgreSQL {majors[0]} and B with {majors[1]}: what the database changed is in the ratios"
        )
    if a.machine.awake != b.machine.awake:
        notes.append("the processors were kept from idling in one of the runs only, which alone changes rates and tails")
    return tuple(lines), tuple(notes)


def _crossed(a: Sequence[float], b: Sequence[float]) -> tuple[float, ...]:
    return tuple(differences.crossed(a, b))


def _levels(run: Run, cell: Cell) -> list[float]:
    return [trial.goodput_per_s for trial in run.trials if trial.cell == cell and trial.goodput_per_s]
