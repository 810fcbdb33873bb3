"""Say what a run was judged with beside its own numbers: what earlier runs scattered by, and which blocks count for less."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairground.model import Run
from fairground.report.text import words
from fairground.stats import comparisons
from fairground.stats.comparisons import Quantity
from fairground.stats.intervals import significant
from fairground.stats.memory import MemoryReading


@dataclass(frozen=True)
class Scatter:
    """A run's scatter from start to start: what was foretold, whether today is like it, and the spoilt blocks by quantity."""

    readings: tuple[MemoryReading, ...]
    spoilt: Mapping[str, Mapping[int, float]]
    in_turns: bool

    @classmethod
    def of(cls, run: Run) -> Scatter:
        known, trials = run.plan.memory, [*run.trials, *run.controls]
        spoilt = {str(one): comparisons.spoilt_blocks(trials, known, one) for one in Quantity}
        readings = comparisons.memory_readings(trials, known)
        return cls(readings, {one: blocks for one, blocks in spoilt.items() if blocks}, any(one.turns for one in run.trials))

    @property
    def shown(self) -> tuple[MemoryReading, ...]:
        """The readings of what was measured: those of which today has a variance."""
        return tuple(one for one in self.readings if one.today is not None)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Say of goodput what memory did, and of each quantity which block was bad."""
        ours = [one for one in self.shown if (one.memory.quantity, one.memory.in_turns) == (Quantity.GOODPUT, self.in_turns)]
        said = [memory_sentence(one) for one in ours[:1]]
        return (*said, *(spoilt_sentence(quantity, blocks) for quantity, blocks in self.spoilt.items()))

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The table of the readings that are shown, in words."""
        return tuple(
            (
                one.memory.quantity,
                f"{'turns' if one.memory.in_turns else 'whole windows'}, {one.memory.way}",
                str(one.memory.runs) if one.memory.runs else "none: the weak prior",
                words.percent(math.sqrt(one.memory.variance)),
                significant(one.memory.freedom, 2),
                significant(math.sqrt(one.today or 0.0), 2),
                "yes" if one.used else "no: judged by itself",
            )
            for one in self.shown
        )

    @property
    def document(self) -> dict[str, Any]:
        """The same for machines: standard deviations, of logarithms."""
        foretold = [
            {
                "quantity": one.memory.quantity,
                "in_turns": one.memory.in_turns,
                "way": one.memory.way,
                "runs": one.memory.runs,
                "foretold_sd": math.sqrt(one.memory.variance),
                "freedom": one.memory.freedom,
                "times_seen": None if one.today is None else math.sqrt(one.today),
                "used": one.used,
            }
            for one in self.shown
        ]
        return {"prior": foretold, "spoilt_blocks": {quantity: dict(blocks) for quantity, blocks in self.spoilt.items()}}


def memory_sentence(found: MemoryReading) -> str:
    """Say whether memory counts: `Intervals lean on what 5 earlier runs on this machine scattered by`."""
    memory, times = found.memory, math.sqrt(found.today or 0.0)
    earlier = f"{words.plural(memory.runs, 'earlier run')} on this machine" if memory.runs else "the weak prior of a first run"
    if found.little:
        return f"Too few starts tell whether today is like {earlier}: this run is judged by itself"
    if not found.used:
        verb = "foretells" if memory.runs < 2 else "foretell"
        return f"Starts scatter {significant(times, 2)} times as much as {earlier} {verb}: this run is judged by itself"
    worth = f"worth {significant(memory.freedom, 2)} degrees of freedom"
    if not memory.runs:
        return f"Intervals lean on {earlier} on a machine ({worth}); `--no-prior` leaves it out"
    return f"Intervals lean on what {earlier} scattered by ({worth}); `--no-prior` leaves that out"


def spoilt_sentence(quantity: str, blocks: Mapping[int, float]) -> str:
    """`In block 3 goodput scattered 2.9 times as much as in the others: it counts for less`."""
    times = [significant(math.sqrt(one), 2) for one in blocks.values()]
    named = words.join_names([str(number) for number in blocks])
    what = "In block" if len(blocks) == 1 else "In blocks"
    return f"{what} {named} {quantity} scattered {words.join_names(times)} times as much as in the others: counted for less"
