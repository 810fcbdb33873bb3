"""Two runs side by side: what their cells in common say, and what the machine may have done between them."""

from __future__ import annotations

from collections.abc import Sequence

from fairground.model import Cell, LabError, Run
from fairground.report.comparison import ComparisonLine, geometric_mean_of, number_note
from fairground.stats import differences


def compare_runs(a: Run, b: Run) -> tuple[tuple[ComparisonLine, ...], tuple[str, ...]]:
    """Compare the cells that both runs have: a line for each, and sentences on what else is in the ratios.

    A cell's trials of different runs are not paired, so the spread of both runs' blocks is counted.
    """
    there = {slot.cell for slot in b.plan.slots}
    cells = [cell for cell in dict.fromkeys(slot.cell for slot in a.plan.slots) if cell in there]
    if not cells:
        raise LabError(f"the runs `{a.id}` and `{b.id}` have no cell in common", "compare runs of one suite")
    both = [(cell, _levels(a, cell), _levels(b, cell)) for cell in cells]
    kept = [(cell, one[: len(other)], other[: len(one)]) for cell, one, other in both]  # means are of what the ratios are of
    found = differences.table({cell.id: _crossed(one, other) for cell, one, other in kept if one and other})
    tested = sum(one.ratio is not None for one in found.values())
    lines = [
        ComparisonLine(
            cell.id, "goodput", "per second", geometric_mean_of(one), geometric_mean_of(other), found[cell.id], True,
            _crossed(one, other), tested=tested,
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
    return tuple(lines), (*notes, *number_note(tested))


def _crossed(a: Sequence[float], b: Sequence[float]) -> tuple[float, ...]:
    return tuple(differences.cross_ratios(a, b))


def _levels(run: Run, cell: Cell) -> list[float]:
    return [trial.goodput_per_s for trial in run.trials if trial.cell == cell and trial.goodput_per_s]
