"""The file in the cache that remembers what runs scattered by: one list, each run in it once, the newest of each machine.

It is no record, and no page is made of it: a run keeps the part that it is judged with in its own plan. So a file that is lost or
damaged costs what was remembered, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fairground.model import LabError, Plan, Run, foreign
from fairground.model.error import make_folder
from fairground.model.memory import RememberedSpread, SeenSpread
from fairground.records import journal
from fairground.stats import comparisons, memory
from fairground.stats.comparisons import Quantity

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FILE, VERSION = "memory.json", 1
MOST_RUNS = 30
"""This many runs of a machine are remembered; what is older is forgotten."""


@dataclass(frozen=True)
class RunSpreads:
    """The variances of one run, on a group of machines."""

    run: str
    started_unix_s: float
    machine: str
    seen: tuple[SeenSpread, ...]


@dataclass(frozen=True)
class MachineMemory:
    """All that is remembered, oldest run first."""

    version: int = VERSION
    runs: tuple[RunSpreads, ...] = ()


def load_memory(cache: Path) -> MachineMemory:
    """Read what is remembered; nothing where there is no file. LabError for one that is damaged, or of another version."""
    path = cache / FILE
    if not path.exists() and not path.is_symlink():
        return MachineMemory()
    from pydantic import ValidationError

    try:
        journal.require_no_link(path)
        found = _adapter().validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise LabError(f"what earlier runs scattered by is not known: `{path}` is damaged", "remove it") from error
    numbers = [number for run in found.runs for one in run.seen for number in (one.variance, one.freedom)]
    if not all(0 < number < math.inf for number in numbers):
        raise LabError(f"what earlier runs scattered by is not known: `{path}` holds a variance that is none", "remove it")
    if found.version != VERSION:
        raise LabError(f"what earlier runs scattered by is not known: `{path}` is of version {found.version}", "remove it")
    return found


def foretell(known: MachineMemory, machine: str, planned: Plan) -> tuple[RememberedSpread, ...]:
    """The memory of each quantity and way that a plan needs, for its own workloads and stacks alone."""
    runs = [one.seen for one in known.runs if one.machine == machine]
    ways = dict.fromkeys(comparisons.way_of(cell) for cell in planned.cells)
    workloads, stacks = {cell.workload for cell in planned.cells}, {cell.stack for cell in planned.cells}
    made = [memory.remember(runs, quantity, in_turns, way) for way in ways for quantity in Quantity for in_turns in (True, False)]
    return tuple(
        RememberedSpread(
            one.quantity, one.in_turns, one.way, one.variance, one.freedom, one.runs,
            _only(one.workloads, workloads), _only(one.stacks, stacks),
        )
        for one in made
    )  # fmt: skip


def _only(shares: Mapping[str, float], names: set[str]) -> dict[str, float]:
    return {name: share for name, share in shares.items() if name in names}


def add_run(cache: Path, run: Run) -> None:
    """Remember what a run scattered by, once. A file that cannot be read is begun anew."""
    ours = RunSpreads(run.id, run.started_unix_s, run.machine.group, comparisons.seen_spreads(run.trials))
    if not ours.seen:
        return
    try:
        before = load_memory(cache).runs
    except LabError:
        before = ()
    others = [one for one in before if (one.run, one.started_unix_s) != (ours.run, ours.started_unix_s)]
    make_folder(cache)
    journal.replace(cache / FILE, foreign.json_of(_adapter(), MachineMemory(runs=_newest([*others, ours]))) + b"\n")


def _newest(runs: Sequence[RunSpreads]) -> tuple[RunSpreads, ...]:
    """The MOST_RUNS newest of each machine, oldest first."""
    ordered = sorted(runs, key=lambda one: one.started_unix_s)
    return tuple(
        one
        for place, one in enumerate(ordered)
        if sum(later.machine == one.machine for later in ordered[place + 1 :]) < MOST_RUNS
    )


def _adapter() -> TypeAdapter[MachineMemory]:
    from pydantic import TypeAdapter

    return TypeAdapter(MachineMemory)
