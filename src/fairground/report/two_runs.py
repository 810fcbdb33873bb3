"""Two runs side by side: what their cells in common say, and what the machine may have done between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fairground.model import Cell, LabError, Run, Severity, Trial, Verdict
from fairground.model.plural import plural
from fairground.report.comparison import ComparisonLine, geometric_mean_of, number_note
from fairground.report.text.words import reason
from fairground.stats import differences
from fairground.stats.differences import DifferenceWord


def compare_runs(a: Run, b: Run) -> tuple[tuple[ComparisonLine, ...], tuple[str, ...]]:
    """Compare the cells that both runs have: a line for each, and sentences on what else is in the ratios.

    A cell's trials of different runs are not paired, so the spread of both runs' blocks is counted. A cell that was rejected in
    some block is called nothing: the blocks that are left are not like the others.
    """
    there = {slot.cell for slot in b.plan.slots}
    cells = [cell for cell in dict.fromkeys(slot.cell for slot in a.plan.slots) if cell in there]
    if not cells:
        raise LabError(f"the runs `{a.id}` and `{b.id}` have no cell in common", "compare runs of one suite")
    both = [(cell, _levels(a, cell), _levels(b, cell)) for cell in cells]
    kept = [(cell, one[: len(other)], other[: len(one)]) for cell, one, other in both]  # means are of what the ratios are of
    found = differences.table({cell.id: _crossed(one, other) for cell, one, other in kept if one and other})
    failed = {id for id in found if _rejected(a, id) or _rejected(b, id)}
    found |= {id: replace(found[id], word=DifferenceWord.INCONCLUSIVE) for id in failed}
    tested = sum(one.ratio is not None for one in found.values())
    lines = [
        ComparisonLine(
            cell.id, "goodput", "per second", geometric_mean_of(one), geometric_mean_of(other), found[cell.id], True,
            _crossed(one, other), tested=tested, failed=cell.id in failed,
        )
        for cell, one, other in kept
        if cell.id in found
    ]  # fmt: skip
    notes = [*_without_number(a, b, cells), *_elsewhere(a, b, cells)]
    notes += ["the runs were made at different times: what the machine did meanwhile is in the ratios"] if lines else []
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


def regression(a: Run, b: Run) -> str | None:
    """Say which cell of B is rejected, and has a number in A; None where there is none."""
    for slot in a.plan.slots:
        if _levels(a, slot.cell) and not _rejected(a, slot.cell.id) and (wrong := _rejected(b, slot.cell.id)):
            return f"{slot.cell.id} is rejected in B: {reason(wrong[0], Severity.REJECT)}"
    return None


def _rejected(run: Run, cell_id: str) -> list[Trial]:
    return [trial for trial in run.trials if trial.cell.id == cell_id and trial.verdict is Verdict.REJECTED]


def _without_number(a: Run, b: Run, cells: Sequence[Cell]) -> Iterator[str]:
    """Say of each cell in which blocks of a run it has no number, and why."""
    for cell in cells:
        for name, run in (("A", a), ("B", b)):
            tried = [trial for trial in run.trials if trial.cell == cell]
            blocks = {trial.block for trial in tried} - {trial.block for trial in tried if trial.goodput_per_s}
            if rejected := _rejected(run, cell.id):
                share = f"{len({trial.block for trial in rejected})} of {plural(len({trial.block for trial in tried}), 'block')}"
                yield f"{cell.id}: {name} is rejected in {share}, so nothing is called: {reason(rejected[0], Severity.REJECT)}"
            elif not tried:
                yield f"{cell.id}: {name} ended before its turn"
            elif blocks:
                void = next((trial for trial in tried if trial.verdict is Verdict.VOID), tried[0])
                yield f"{cell.id}: {name} has no number in {plural(len(blocks), 'block')}: {reason(void, Severity.VOID)}"


def _elsewhere(a: Run, b: Run, cells: Sequence[Cell]) -> Iterator[str]:
    """Say how many cells only one of the runs has."""
    for name, run in (("A", a), ("B", b)):
        others = {slot.cell for slot in run.plan.slots} - set(cells)
        if others:
            yield f"{plural(len(others), 'cell')} of {name} alone: nothing is compared of them"


def _crossed(a: Sequence[float], b: Sequence[float]) -> tuple[float, ...]:
    return tuple(differences.cross_ratios(a, b))


def _levels(run: Run, cell: Cell) -> list[float]:
    return [trial.goodput_per_s for trial in run.trials if trial.cell == cell and trial.goodput_per_s]
