"""The grid of a run as Markdown, for a manual: one line for each stack, one column for each board. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from fairground.model import Run, foreign
from fairground.report.boards import Board
from fairground.report.frame import minute
from fairground.report.run.crossing import crossings
from fairground.report.run.grid import GridCell, GridLine, grid, meaning
from fairground.report.run.story import story
from fairground.report.text import seats, words
from fairground.report.text.rows import half_text, half_width, letters
from fairground.stats import time_use
from fairground.stats.differences import DifferenceWord
from fairground.stats.intervals import Interval

TITLE = "Every stack on every workload"
SIGNS = {"rejected": "✗", "void": "void", "absent": words.NO_NUMBER}
"""What stands where a cell has no number."""


def markdown(run: Run, boards: Sequence[Board]) -> str:
    """Write down a run: what was measured and where, what it says, how precise it is, the table, and why cells have no number."""
    found = grid(run, boards)
    heads = ("stack", "approach", *map(_head, boards))
    lines = [source_text(run), "", *(f"- {words.prose(said)}" for said in story(boards, crossings(run, boards)))]
    lines += [f"- {said}" for said in precision(run, boards)]
    lines += ["", f"| {' | '.join(map(words.cell, heads))} |", "|--|--|" + "--|" * len(boards)]
    for line in found.lines:
        cells = (line.stack, str(line.approach or words.UNKNOWN), *map(cell, line.cells))
        lines.append(f"| {' | '.join(map(words.cell, cells))} |")
    if found.reasons:
        lines += ["", "What the reasons mean:", ""]
        lines += [f"- {words.code(reason)}: {words.prose(meaning(reason))}" for reason in found.reasons]
    if missing := _missing(found.lines):
        lines += ["", "Cells without a number:", "", *missing]
    return foreign.clean("\n".join(lines)) + "\n"


def precision(run: Run, boards: Sequence[Board]) -> tuple[str, ...]:
    """Say how much was measured in what time, how wide the intervals are, and how many comparisons they decide."""
    numbered = [row for board in boards for row in board.numbered]
    total = sum(len(board.rows) for board in boards)
    said = [f"{len(numbered):,} of {words.plural(total, 'cell')} have a number, from {words.plural(len(run.trials), 'trial')}"]
    last = max((trial.started_unix_s + trial.duration_s for trial in run.everything), default=run.started_unix_s)
    use = time_use.of(run.everything)
    said[0] += f" in {words.seconds(last - run.started_unix_s)}."
    if use.overhead_share is not None:
        said.append(f"{words.percent(use.overhead_share)} of the trials' time gave no number: starts, warm-up, checks, audits.")
    rates = _half_widths(row.interval for row in numbered)
    if rates:
        said.append(f"Half of a cell's 95 % interval of goodput is {words.percent(statistics.median(rates))} (median).")
    held = [row.difference for board in boards if board.goodput is not None for row in board.goodput.rows]
    ratios = _half_widths(one.ratio for one in held)
    if ratios:
        decided = sum(one.word is not DifferenceWord.INCONCLUSIVE for one in held)
        wide = words.percent(statistics.median(ratios))
        said.append(f"Half of a 95 % interval against the anchor is {wide} (median); {decided} of {len(held)} are decided.")
    return tuple(said)


def cell(one: GridCell) -> str:
    """`12,300 ±2.1 % A deadlock`: goodput per second, half of its interval, its groups, and what limits it."""
    if one.row is None or one.mark != "number":
        return SIGNS[one.mark]
    parts = (
        words.number(one.row.middle),
        half_text(one.row.interval).replace(" ", "", 1),
        letters(one.goodput.letters),
        one.reason,
    )
    return " ".join(part for part in parts if part)


def _half_widths(found: Iterable[Interval | None]) -> list[float]:
    return [half for one in found if (half := half_width(one)) is not None]


def _head(board: Board) -> str:
    return f"{board.workload} ({board.condition})" if board.condition else board.workload


def _missing(lines: Iterable[GridLine]) -> list[str]:
    """Say why cells have no number: a line for each stack and reason, with the workloads where it is so."""
    where: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        for one in line.cells:
            if one.mark != "number":
                where.setdefault((line.stack, one.why), []).append(words.code(_head(one.board)))
    return [f"- {words.code(stack)} on {words.join_names(on, len(on))}: {words.prose(why)}" for (stack, why), on in where.items()]


def source_text(run: Run) -> str:
    """Say which run it is, when and where it was made, and by which command."""
    machine = f"{run.machine.cpu_model or 'unknown CPU'}, {seats.of_run(run)}"
    return f"Run `{run.id}`, {minute(run.started_unix_s)}, {words.prose(machine)}: {words.code(run.plan.command)}"
