"""The table at the end of a run, in as many columns as the terminal has: no number ever loses a digit.

It has the lines of the page's tables: one for each cell. What gives way where it is narrow: the bar first, then the words behind
the numbers (those that do not fit get a line of their own), then the ids, and last the columns: numbers stand below their id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions
from rich.padding import Padding
from rich.text import Text

from fairground.model import Severity, Trial, Verdict, foreign
from fairground.report import boards
from fairground.report.boards import Board
from fairground.report.run import mixes
from fairground.report.text import words
from fairground.report.text.rows import diagnosis_text, half_text, letters, percentile_text

MARK = {Verdict.VALID: "✓", Verdict.WARNED: "!", Verdict.VOID: "○", Verdict.REJECTED: "✗"}
STYLE = {Verdict.VALID: "blue", Verdict.WARNED: "yellow", Verdict.VOID: "dim", Verdict.REJECTED: "red"}
HEADS = ("goodput", "95 %", "p50", "p99", "server", "database")
UNITS = ("/s", "CI", "ms", "ms", "µs", "µs")
SUSPECTED = "suspected"
TIED = "Letters before the stacks: those that share one cannot be told apart."
GAP = "  "
MOST_BAR, LEAST_BAR, LEAST_ID = 16, 4, 8
ROLES = ("server", "database")
"""Roles whose CPU per good answer has a column."""


@dataclass(frozen=True)
class BoardLine:
    """One cell: its numbers as text (none without a goodput), and words on the rest."""

    verdict: Verdict
    stack: str
    numbers: tuple[str, ...]
    words: str
    share: float = 0.0
    """The share of the best number of its board."""
    tier: str = ""
    """The letters of its groups; empty where nothing is ranked."""


@dataclass(frozen=True)
class Widths:
    """The columns of a terminal that each part has. `bar` 0: there is none.

    Words that are longer than `words` stand on a line of their own; None: all of them do. `tier` 0: nothing is ranked. Without
    `numbers` those, too, stand on lines of their own.
    """

    tier: int
    id: int
    bar: int
    numbers: tuple[int, ...]
    words: int | None


class Table:
    """The boards of the page in its order, each under its workload and what sets it apart: a line for each cell."""

    def __init__(self, shown: Sequence[Board], tried: Mapping[tuple[str, str], str] | None = None) -> None:
        """`tried`: a cell's id and a reason → what an experiment made of it."""
        self._boards = [(_head(board, shown), _rows(board, tried or {}), [*_mixed(board), *_untried(board)]) for board in shown]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text | Padding]:
        there = [row for _, rows, _ in self._boards for row in rows]
        if not there:
            return
        widths = fit_widths(there, options.max_width)
        if widths.numbers:
            yield _line("", BoardLine(Verdict.VALID, "stack", HEADS, SUSPECTED if widths.words else ""), widths)
            yield _line("", BoardLine(Verdict.VALID, "", UNITS, ""), widths)
        for head, rows, notes in self._boards:
            yield Text(GAP + head, style="bold")
            for row in rows:
                yield from _shown(row, widths)
            for note in notes:
                yield Padding(Text(note, style="dim"), (0, 0, 0, 4))
        if widths.tier:
            yield Text(TIED, style="dim")


def _head(board: Board, shown: Sequence[Board]) -> str:
    """`WORKLOAD · direct · PostgreSQL 17`: the workload, and what sets the board apart from others of it."""
    return " · ".join([board.workload, *boards.distinction_of(board, shown)])


def fit_widths(rows: Sequence[BoardLine], width: int) -> Widths:
    """The widths of all parts, of rows that must fit into `width` columns."""
    ids = max(cell_len(row.stack) for row in rows)
    numbers = tuple(
        max(cell_len(head), *(cell_len(row.numbers[at]) for row in rows if row.numbers), 0) for at, head in enumerate(HEADS)
    )
    told = [cell_len(row.words) for row in rows if row.numbers and row.words]
    longest = max(len(SUSPECTED), *told) if told else 0
    tier = max(cell_len(row.tier) for row in rows)
    fixed = 2 + tier + bool(tier) + sum(len(GAP) + one for one in numbers)
    room = width - fixed - ids - len(GAP)
    bar = min(MOST_BAR, room - longest - len(GAP))
    if bar >= LEAST_BAR:
        return Widths(tier, ids, bar, numbers, longest)
    if told and room >= max(len(SUSPECTED), min(told)):
        return Widths(tier, ids, 0, numbers, min(room, longest))
    if width - fixed < min(ids, LEAST_ID):
        return Widths(tier, max(1, min(ids, width - 2 - tier - bool(tier))), 0, (), None)
    return Widths(tier, min(ids, width - fixed), 0, numbers, None)


def _shown(row: BoardLine, widths: Widths) -> Iterator[Text | Padding]:
    mark = MARK[row.verdict]
    if not row.numbers:
        yield _line(mark, replace(row, numbers=(words.NO_NUMBER,), words=""), widths)
        yield Padding(Text(row.words), (0, 0, 0, 4))
        return
    if not widths.numbers:
        told = zip(HEADS, row.numbers, UNITS, strict=True)
        said = [number if unit == "CI" else f"{head} {number} {unit}" for head, number, unit in told if number]
        yield _line(mark, replace(row, words=""), widths)
        yield Padding(Text(", ".join(said)), (0, 0, 0, 4))
        if row.words:
            yield Padding(Text(row.words, style="dim"), (0, 0, 0, 4))
        return
    beside = widths.words is not None and cell_len(row.words) <= widths.words
    yield _line(mark, row if beside else replace(row, words=""), widths)
    if not beside and row.words:
        yield Padding(Text(row.words, style="dim"), (0, 0, 0, 4))


def _line(mark: str, row: BoardLine, widths: Widths) -> Text:
    """One line with its mark in colour; the head of the table has no mark, and is dim."""
    style = "" if mark else "dim"
    name = row.stack if cell_len(row.stack) <= widths.id else set_cell_size(row.stack, widths.id - 1) + "…"
    line = Text.assemble((f"{mark:<1} ", STYLE[row.verdict]), no_wrap=True)
    if widths.tier:
        line.append(set_cell_size(row.tier, widths.tier) + " ", style)
    line.append(set_cell_size(name, widths.id), style)
    if widths.bar:
        filled = max(1, round(row.share * widths.bar)) if row.share else 0
        line.append(GAP).append("█" * filled, "blue").append(" " * (widths.bar - filled))
    for text, size in zip(row.numbers, widths.numbers, strict=False):
        line.append(GAP + " " * (size - cell_len(text)) + text, style)
    if row.words:
        line.append(GAP + row.words, style)
    line.rstrip()
    return line


def _rows(board: Board, tried: Mapping[tuple[str, str], str]) -> list[BoardLine]:
    best = max((row.middle or 0.0 for row in board.rows), default=0.0)
    tiers = {} if board.goodput is None else words.group_names(board.goodput)
    made = [_row(row, row.verdict, best, tried) for row in board.rows if row.verdict is not None]
    return [replace(row, tier=letters(tiers.get(row.stack, ""))) if row.numbers else row for row in made]


def _row(row: boards.BoardRow, verdict: Verdict, best: float, tried: Mapping[tuple[str, str], str]) -> BoardLine:
    if row.middle is None:
        return BoardLine(verdict, row.stack, (), f"{verdict}: {words.why_no_number(row)}")
    numbers = (
        words.number(row.middle),
        half_text(row.interval),
        percentile_text(row, 0.5),
        percentile_text(row, 0.99),
        *(words.number(row.cpu_us(role)) for role in ROLES),
    )
    limit = [diagnosis_text(row, tried)] if row.diagnoses else []
    said = ", ".join([*limit, *_not_ok(row), *_not_valid(row)])
    return BoardLine(verdict, row.stack, numbers, said, row.middle / best if best else 0.0)


def _not_ok(row: boards.BoardRow) -> list[str]:
    """The share of the requests of all its windows that got no good answer."""
    total = sum(trial.result.window.total for trial in row.numbered if trial.result)
    bad = boards.count_unanswered(row.numbered)
    return [f"{words.percent(bad / total)} not ok"] if bad else []


def _not_valid(row: boards.BoardRow) -> list[str]:
    """`1 of 2 warned`; nothing of a single trial, of which the mark says it."""
    if len(row.trials) < 2:
        return []
    tally = row.verdicts
    return [
        f"{tally[verdict]} of {len(row.trials)} {verdict}"
        for verdict in (Verdict.WARNED, Verdict.VOID, Verdict.REJECTED)
        if tally[verdict]
    ]


def _mixed(board: Board) -> list[str]:
    """Tell what each request of a mix got, in a line for each stack: `SERVER:ONE: page 4,210/s, p99 3.1 ms; create …`."""
    found: dict[str, list[str]] = {}
    for row in mixes.mix_rows(board):
        bad = f", {row.not_ok:,} not ok" if row.not_ok else ""
        told = f"{row.request} {words.number(row.goodput_per_s)}/s, p99 {row.p99} ms{bad}"
        found.setdefault(row.stack, []).append(told)
    return [f"{stack}: {'; '.join(told)}" for stack, told in found.items()]


def _untried(board: Board) -> list[str]:
    """Name the cells that the run did not come to, on one line: an interrupted run may have hundreds."""
    left = [row for row in board.rows if not row.trials]
    return [f"{words.join_names([row.stack for row in left])}: {words.why_no_number(left[0])}"] if left else []


def reason(trial: Trial) -> str:
    """The gravest finding's sentence, on one line."""
    order = (Severity.REJECT, Severity.VOID, Severity.WARN)
    worst = next((finding for severity in order for finding in trial.findings if finding.severity is severity), None)
    return "" if worst is None else foreign.line(worst.sentence)
