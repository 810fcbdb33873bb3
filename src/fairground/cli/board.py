"""The table at the end of a run, in as many columns as the terminal has: no number ever loses a digit.

What gives way where it is narrow: the bar first, then the words behind the numbers (they get a line of their own), last the ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions
from rich.padding import Padding
from rich.text import Text

from fairground.model import OWN_MAJOR, Cell, Severity, Trial, Verdict, foreign
from fairground.stats.intervals import significant

MARK = {Verdict.VALID: "✓", Verdict.WARNED: "!", Verdict.VOID: "○", Verdict.REJECTED: "✗"}
STYLE = {Verdict.VALID: "blue", Verdict.WARNED: "yellow", Verdict.VOID: "dim", Verdict.REJECTED: "red"}
HEADS = ("goodput/s", "p50 ms", "p99 ms", "server µs", "database µs")
GAP = "  "
MOST_BAR, LEAST_BAR, LEAST_ID = 16, 4, 8
UNKNOWN = "—"


@dataclass(frozen=True)
class Row:
    """One stack on one workload: its numbers as text (none without a goodput), and words on the rest."""

    verdict: Verdict
    stack: str
    numbers: tuple[str, ...]
    words: str
    share: float
    """Of the best of the workload."""


@dataclass(frozen=True)
class Widths:
    """How many columns of a terminal each part has. `bar` 0: there is none; `words` None: they stand on their own line."""

    id: int
    bar: int
    numbers: tuple[int, ...]
    words: int | None


class Table:
    """The last attempt of each slot: workloads in this order, each under each of its conditions, the stacks by goodput."""

    def __init__(
        self, trials: Sequence[Trial], workloads: Iterable[str] = (), tried: Mapping[tuple[str, str], str] | None = None
    ) -> None:
        """`tried`: a cell's id and a reason → what an experiment made of it."""
        named = dict.fromkeys([*workloads, *(trial.cell.workload for trial in trials)])
        self._rows = {
            head: _rows(some, tried or {})
            for name in named
            for head, some in _apart(name, [trial for trial in trials if trial.cell.workload == name]).items()
        }

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text | Padding]:
        there = [row for rows in self._rows.values() for row in rows]
        if not there:
            return
        widths = fitted(there, options.max_width)
        yield _line("", "stack", 0.0, HEADS, "suspected" if widths.words else "", widths, "dim")
        for name, rows in self._rows.items():
            if rows:
                yield Text(GAP + name, style="bold")
            for row in rows:
                yield from _shown(row, widths)


def _apart(workload: str, trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    """The trials of a workload by what is not the same for all of them, as its head says: path, load, version of PostgreSQL."""
    parts = [_conditions(trial.cell) for trial in trials]
    varies = [len(set(some)) > 1 for some in zip(*parts, strict=True)]
    found: dict[str, list[Trial]] = {}
    for trial, mine in zip(trials, parts, strict=True):
        head = " ".join([workload, *(part for part, told in zip(mine, varies, strict=True) if told)])
        found.setdefault(head, []).append(trial)
    return found


def _conditions(cell: Cell) -> tuple[str, ...]:
    return cell.topology.id, cell.load.id, f"PostgreSQL {cell.settings.postgres_version or OWN_MAJOR}"


def fitted(rows: Sequence[Row], width: int) -> Widths:
    """The widths of all parts, of rows that must fit into `width` columns."""
    ids = max(cell_len(row.stack) for row in rows)
    numbers = tuple(
        max(cell_len(head), *(cell_len(row.numbers[at]) for row in rows if row.numbers), 0) for at, head in enumerate(HEADS)
    )
    words = max((cell_len(row.words) for row in rows if row.numbers), default=0)
    fixed = 2 + sum(len(GAP) + one for one in numbers)
    left = width - fixed - ids - len(GAP) - words
    bar = min(MOST_BAR, left - len(GAP))
    if bar >= LEAST_BAR:
        return Widths(ids, bar, numbers, words)
    if left >= 0:
        return Widths(ids, 0, numbers, words)
    return Widths(max(LEAST_ID, min(ids, width - fixed)), 0, numbers, None)


def _shown(row: Row, widths: Widths) -> Iterator[Text | Padding]:
    if not row.numbers:
        yield _line(MARK[row.verdict], row.stack, 0.0, (UNKNOWN,), "", widths, STYLE[row.verdict])
        yield Padding(Text(row.words), (0, 0, 0, 4))
        return
    yield _line(MARK[row.verdict], row.stack, row.share, row.numbers, row.words, widths, STYLE[row.verdict])
    if widths.words is None and row.words:
        yield Padding(Text(row.words, style="dim"), (0, 0, 0, 4))


def _line(mark: str, id: str, share: float, numbers: Sequence[str], words: str, widths: Widths, style: str) -> Text:
    """One line: its mark in `style`; the head of the table, which has no mark, wholly so."""
    name = id if cell_len(id) <= widths.id else set_cell_size(id, widths.id - 1) + "…"
    line = Text.assemble((f"{mark:<1} ", style), (set_cell_size(name, widths.id), "" if mark else style), no_wrap=True)
    if widths.bar:
        filled = max(1, round(share * widths.bar)) if share else 0
        line.append(GAP).append("█" * filled, "blue").append(" " * (widths.bar - filled))
    for text, size in zip(numbers, widths.numbers, strict=False):
        line.append(GAP + " " * (size - cell_len(text)) + text, "" if mark else style)
    if widths.words is not None and words:
        line.append(GAP + words, "" if mark else style)
    line.rstrip()
    return line


def _rows(trials: Sequence[Trial], tried: Mapping[tuple[str, str], str]) -> list[Row]:
    last = list({trial.number: trial for trial in trials}.values())
    best = max((trial.goodput_per_s or 0.0 for trial in last), default=0.0)
    return [
        _row(trial, best, tried)
        for trial in sorted(last, key=lambda trial: (trial.goodput_per_s is None, -(trial.goodput_per_s or 0)))
    ]


def _row(trial: Trial, best: float, tried: Mapping[tuple[str, str], str]) -> Row:
    if trial.goodput_per_s is None or trial.result is None:
        return Row(trial.verdict, trial.cell.stack, (), f"{trial.verdict}: {reason(trial)}", 0.0)
    latency, window = trial.result.latency_ok, trial.result.window
    tails = [None if us is None else us / 1000 for us in (latency.p50_us, latency.p99_us)] if latency else [None, None]
    cpu = [trial.cpu_us_per_answer(role) for role in ("server", "database")]
    numbers = tuple("–" if value is None else significant(value) for value in (trial.goodput_per_s, *tails, *cpu))
    bad = [f"{window.not_ok / window.total:.2%} not ok"] if window.not_ok else []
    share = trial.goodput_per_s / best if best else 0.0
    limit = (
        [] if trial.diagnosis is None else [" ".join((trial.diagnosis, tried.get((trial.cell.id, trial.diagnosis), ""))).strip()]
    )
    return Row(trial.verdict, trial.cell.stack, numbers, ", ".join([*limit, *bad]), share)


def reason(trial: Trial) -> str:
    """The gravest finding's sentence, on one line."""
    order = (Severity.REJECT, Severity.VOID, Severity.WARN)
    worst = next((finding for severity in order for finding in trial.findings if finding.severity is severity), None)
    return "" if worst is None else foreign.line(worst.sentence)
