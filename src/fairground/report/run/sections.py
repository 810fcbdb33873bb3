"""The page's tables as rows of values: what came back, the audit's arithmetic, the checks, the trials. No marks, little text.

Each has a short form for runs so large that the whole would make the page slow; it says what it leaves out.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairground.model import AuditLine, Finding, Outcomes, Run, Severity, Trial, foreign
from fairground.model.window import sum_of
from fairground.report.boards import ROLES, Board
from fairground.report.charts.figures import cpu_rows, cpu_total_us, most_blocks, most_windows, steadiness_rows
from fairground.report.charts.percentiles import latency_rows
from fairground.report.charts.svg import MOST_STACKS, WIDTHS_PX
from fairground.report.text import words
from fairground.report.text.rows import percentile_text, percentile_us

MOST_ROWS = 120
"""Rows of one kind of table on a whole page; beyond, what is as expected is added up into one row."""
MOST_COMPARED = 8
"""Stacks that each table of comparisons of a large run holds against the anchor."""

SEVERITIES = (Severity.REJECT, Severity.VOID, Severity.WARN, Severity.NOTE)
KINDS = (
    ("ok", "good"),
    ("shed", "503"),
    ("other", "other status"),
    ("wrong_body", "wrong body"),
    ("timeout", "timeout"),
    ("connect", "connect"),
    ("reset", "reset"),
    ("malformed", "malformed"),
    ("unsent", "unsent"),
    ("in_flight", "in flight"),
)


@dataclass(frozen=True)
class OutcomeRow:
    """Requests sent inside the windows of all trials of a stack, by what became of them; None: the generator cannot tell."""

    stack: str
    counts: tuple[int | None, ...]
    total: int

    @property
    def bad(self) -> int:
        return self.total - (self.counts[0] or 0)

    @property
    def parts(self) -> tuple[tuple[str, float], ...]:
        """(kind, share) of what came, for the bar."""
        return tuple((kind, amount / self.total) for (kind, _), amount in zip(KINDS, self.counts, strict=True) if amount)


@dataclass(frozen=True)
class AuditRow:
    """One line of a trial's arithmetic, or the sum of many that hold."""

    who: str
    trial: str
    page: str
    sentence: str
    acknowledged: int | None
    unknown: int | None
    line: AuditLine | None
    holds: bool | None


@dataclass(frozen=True)
class AuditTable:
    """The audit of one board: its rows by line, how many trials were audited, and how many lines hold of how many."""

    groups: tuple[tuple[str, tuple[AuditRow, ...]], ...]
    """What must hold → its rows."""
    audited: int
    lines: int
    held: int
    unchecked: int

    @property
    def parts(self) -> tuple[tuple[bool, tuple[tuple[str, tuple[AuditRow, ...]], ...]], ...]:
        """The rows that do not hold or could not be checked, then (True) those that hold. Empty parts are left out."""
        return tuple((holds, found) for holds in (False, True) if (found := self._where(holds)))

    def _where(self, holds: bool) -> tuple[tuple[str, tuple[AuditRow, ...]], ...]:
        kept = ((sentence, tuple(row for row in rows if (row.holds is True) is holds)) for sentence, rows in self.groups)
        return tuple((sentence, rows) for sentence, rows in kept if rows)


@dataclass(frozen=True)
class FindingGroup:
    """The same check with the same severity on the same workload and stack, over its trials."""

    finding: Finding
    stack: str
    workload: str
    trials: tuple[Trial, ...]


def outcome_rows(board: Board, *, short: bool) -> tuple[OutcomeRow, ...]:
    """One row per stack with trials; in the short form stacks with nothing but good answers are one row."""
    rows = [_outcomes(row.stack, [trial.result.window for trial in row.trials if trial.result]) for row in board.rows]
    kept = [row for row in rows if row is not None]
    clean = [row for row in kept if not row.bad]
    if not short or len(clean) < 2:
        return tuple(kept)
    good = sum(row.total for row in clean)
    together = OutcomeRow(words.plural(len(clean), "other stack"), (good, *(0 for _ in KINDS[1:])), good)
    return (*(row for row in kept if row.bad), together)


def _outcomes(stack: str, windows: Sequence[Outcomes]) -> OutcomeRow | None:
    if not windows:
        return None
    counts = tuple(sum_of([getattr(window, kind) for window in windows]) for kind, _ in KINDS)
    return OutcomeRow(stack, counts, sum(window.total for window in windows))


def audit_table(board: Board, *, short: bool) -> AuditTable | None:
    """The audit's arithmetic of a board; None when nothing of it is to be audited."""
    trials = [trial for row in board.rows for trial in row.trials]
    lines = [(trial, line) for trial in trials for line in trial.audit]
    if not lines:
        return None
    missing = [trial for trial in trials if not trial.audit]
    if short:
        rows = [_line_row(trial, line) for trial, line in lines if not line.holds] + _added(
            [pair for pair in lines if pair[1].holds]
        )
    else:
        rows = [_line_row(trial, line) for trial, line in lines] + [_missing_row(trial) for trial in missing]
    held = sum(line.holds for _, line in lines)
    unchecked = sum(_unchecked(line) for _, line in lines)
    grouped: dict[str, list[AuditRow]] = {}
    for row in rows:
        grouped.setdefault(row.sentence, []).append(row)
    return AuditTable(
        tuple((sentence, tuple(members)) for sentence, members in grouped.items()),
        len(trials) - len(missing),
        len(lines),
        held,
        unchecked,
    )


def _line_row(trial: Trial, line: AuditLine) -> AuditRow:
    life = (trial.result.life or trial.result.window) if trial.result else None  # what the audit itself reckons with
    holds = None if _unchecked(line) else line.holds
    return AuditRow(
        trial.cell.stack,
        _name(trial),
        words.trial_page(trial),
        foreign.line(line.sentence),
        trial.result.done if trial.result else None,
        life.unknown if life else None,
        line,
        holds,
    )


def _unchecked(line: AuditLine) -> bool:
    """Nothing was expected and nothing looked for; a line that was looked for in vain does not hold."""
    return line.found is None and line.expected_min is None


def _missing_row(trial: Trial) -> AuditRow:
    return AuditRow(trial.cell.stack, _name(trial), words.trial_page(trial), "not audited", None, None, None, None)


def _added(pairs: Sequence[tuple[Trial, AuditLine]]) -> list[AuditRow]:
    """One row per line of the audit, summed over the trials in which it holds."""
    grouped: dict[tuple[str, str], list[tuple[Trial, AuditLine]]] = {}
    for trial, line in pairs:
        grouped.setdefault((line.id, foreign.line(line.sentence)), []).append((trial, line))
    rows = []
    for (name, sentence), members in grouped.items():
        results = [trial.result for trial, _ in members if trial.result]
        bounds = [[getattr(line, field) for _, line in members] for field in ("found", "expected_min", "expected_max")]
        total = AuditLine(name, sentence, *(None if None in values else sum(values) for values in bounds))
        stacks = len({trial.cell.stack for trial, _ in members})
        rows.append(
            AuditRow(
                words.plural(stacks, "stack"),
                words.plural(len(members), "trial"),
                "",
                sentence,
                sum(result.done for result in results),
                sum((result.life or result.window).unknown for result in results),
                total,
                True,
            )
        )
    return rows


def _name(trial: Trial) -> str:
    attempt = f", attempt {trial.attempt}" if trial.attempt > 1 else ""
    return f"{trial.number} (block {trial.block}{attempt})"


def finding_groups(run: Run) -> tuple[FindingGroup, ...]:
    """All findings but those of passed checks, gravest first, equal ones of one stack and workload together."""
    grouped: dict[tuple[Severity, str, str, str], list[tuple[Finding, Trial]]] = {}
    for trial in run.trials:
        for finding in trial.findings:
            grouped.setdefault((finding.severity, finding.id, trial.cell.workload, trial.cell.stack), []).append((finding, trial))
    ordered = sorted(grouped.items(), key=lambda item: (SEVERITIES.index(item[0][0]), item[0][1:]))
    return tuple(FindingGroup(found[0][0], key[3], key[2], tuple(trial for _, trial in found)) for key, found in ordered)


def check_counts(run: Run) -> Mapping[str, tuple[int, ...]]:
    """Check id → in how many trials it fired, by severity in the order of SEVERITIES."""
    counts: dict[str, list[int]] = {}
    for trial in run.trials:
        for identity, severity in {(finding.id, finding.severity) for finding in trial.findings}:
            counts.setdefault(identity, [0] * len(SEVERITIES))[SEVERITIES.index(severity)] += 1
    return {identity: tuple(tally) for identity, tally in sorted(counts.items())}


def held_roles(run: Run) -> tuple[tuple[str, str], ...]:
    """List how roles were held to what they may use: (role, in words), each once."""
    found = {
        (role, f"{name}: {how}") for trial in run.trials for role, use in trial.roles.items() for name, how in use.bounds.items()
    }
    return tuple(sorted(found))


def steady_boards(shown: Sequence[Board]) -> tuple[Board, ...]:
    """The boards with a window of two seconds or more: of shorter ones a chart would show nothing."""
    return tuple(
        board for board in shown if any(_spread(trial) is not None for row in steadiness_rows(board) for trial in row.numbered)
    )


def latency_caption(board: Board) -> str:
    """Say what the percentile curves show, as a range and not as an order."""
    rows = latency_rows(board)
    known = sorted((us, percentile_text(row, 0.99)) for row in rows if (us := percentile_us(row, 0.99)) is not None)
    told = [text for _, text in known if text != words.NO_NUMBER]
    if not told:
        return "No stack has enough good answers for a 99th percentile."
    span = told[0] if len(told) == 1 else f"{told[0]} to {told[-1]}"
    undrawn = _undrawn(len(board.numbered) - len(rows), "a histogram", len(rows) - MOST_STACKS)
    return f"The 99th percentile of good answers is {span} ms.{undrawn}"


def cpu_caption(board: Board) -> str:
    """Say how much CPU a good answer costs, and how much of it is the server's."""
    rows = cpu_rows(board)
    totals = [cpu_total_us(row) for row in rows]
    shares = [(row.cpu_us("server") or 0.0) / total for row, total in zip(rows, totals, strict=True) if total]
    if not shares:
        return "CPU was not measured."
    cost = words.number(totals[0]) if len(totals) == 1 else f"{words.number(min(totals))} to {words.number(max(totals))}"
    part = (
        words.percent(shares[0])
        if len(shares) == 1
        else f"{words.percent(min(shares)).removesuffix(' %')}–{words.percent(max(shares))}"
    )
    others = [role for role in ROLES if any(row.cpu_us(role) for row in rows)]
    server = f", {part} of it the server's own" if len(others) > 1 else ""
    undrawn = _undrawn(len(board.numbered) - len(rows), "CPU readings", len(rows) - MOST_STACKS)
    return f"A good answer costs {cost} µs of CPU{server}.{undrawn}"


def steadiness_caption(board: Board) -> str:
    """The least steady window, in the words of its spread."""
    rows = steadiness_rows(board)
    spreads = [
        (spread, row.stack, trial.block) for row in rows for trial in row.numbered if (spread := _spread(trial)) is not None
    ]
    if not spreads:
        return "No window has two seconds to compare."
    spread, stack, block = max(spreads)
    where = f"widest in {stack}, block {block}"
    undrawn = _undrawn(len(board.rows) - len(rows), "numbers per second", len(rows) - most_windows(rows))
    blocks = len({trial.block for row in rows for trial in row.trials})
    wide, narrow = map(most_blocks, WIDTHS_PX)
    if blocks > narrow:
        undrawn += f" Of {blocks} blocks the last {min(blocks, wide)} are drawn, and the last {narrow} on a narrow page."
    return f"Seconds differ from their window's mean by {words.percent(spread)} at most ({where}).{undrawn}"


def _spread(trial: Trial) -> float | None:
    values = [second.ok for second in trial.result.seconds] if trial.result else []
    if len(values) < 2 or not any(values):
        return None
    mean = statistics.fmean(values)
    return max(abs(value - mean) for value in values) / mean


def roles_on(board: Board) -> tuple[str, ...]:
    """The roles that any trial of the board has, in the order of the request's path, the generator last."""
    there = {role for row in board.rows for trial in row.trials for role in trial.roles}
    return tuple(role for role in (*ROLES, "generator") if role in there)


def _undrawn(lacking: int, what: str, crowded: int) -> str:
    said = (
        f" {words.plural(lacking, 'stack')} {'is' if lacking == 1 else 'are'} missing here for lack of {what}." if lacking else ""
    )
    return said + (
        f" {words.plural(crowded, 'more stack')} would crowd the chart; their numbers are in the tables." if crowded > 0 else ""
    )
