"""A counted measurement as text: what each arm needs for an answer, how two of them differ, and what that does not say. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from fairground.model import Cell, LabError, Load
from fairground.model.count import CountArm, CountAsked, CountedStart
from fairground.model.record import Record
from fairground.report import frame, where
from fairground.report.comparison import signed_percent
from fairground.report.text import words
from fairground.report.where import WhereTable
from fairground.run import counting
from fairground.stats import counts
from fairground.stats.counts import CountChange, CountWord
from fairground.stats.intervals import Interval, t_interval

INSTRUCTIONS, BETWEEN, CALLS = "instructions", "instructions between collections", "system calls"
QUANTITIES: Mapping[str, Callable[[Sequence[Sequence[CountedStart]]], list[list[float]]]] = {
    INSTRUCTIONS: lambda sides: [counting.values(one) for one in sides],
    BETWEEN: lambda sides: counts.at_equal_reads(*sides),
    CALLS: lambda sides: [counting.values(one, counts.calls) for one in sides],
}
"""What is told of a start → each start's values of one or two sides."""
MOST_NAMES = 10
"""This many system calls are told by name, those that are asked for most first."""
LEAST_OF_NAME = 0.005
"""Fewer calls of a kind per answer are not told: they are those of a start, or of a timer."""
WHOLE = 1000
"""From this many on a count for an answer is told without a fraction."""
NOT_TIME = (
    "instructions are those of the server's own code in user space, under an emulation: they are no time. What the kernel and the"
    " database do for an answer is not among them, and caches, memory and branches cost nothing here"
)
BY_PROCESSOR = (
    "instructions are those of the server's own code in user space, as its processor's counters have them: they are no time."
    " What the kernel and the database do for an answer is not among them, and nobody counted system calls"
)


@dataclass(frozen=True)
class CountRow:
    """The needs of an arm for an answer on a workload. None: no start of it has a number; `why` says so."""

    arm: str
    workload: str
    starts: int
    requests: int
    instructions: float | None
    interval: Interval | None
    spread: float | None
    between: float | None
    """Instructions between collections, and their spread."""
    between_spread: float | None
    empty_reads: float | None
    """Reads that found nothing, for an answer."""
    calls: float | None
    names: Mapping[str, float]
    """System call → how often for an answer, the most frequent first."""
    unsettled: int
    """Starts whose warm-up did not settle."""
    why: str | None = None


@dataclass(frozen=True)
class CountLine:
    """One counted quantity of two arms on a workload."""

    workload: str
    quantity: str
    a: float
    b: float
    change: CountChange


@dataclass(frozen=True)
class CountReport:
    """The content of a counted measurement, whatever it is shown as."""

    title: str
    rows: tuple[CountRow, ...]
    lines: tuple[CountLine, ...]
    sentences: tuple[str, ...]
    notes: tuple[str, ...]
    rejected: bool
    where: tuple[WhereTable, ...] = ()
    """The functions and system calls that differ most, where somebody asked."""

    @property
    def is_measured(self) -> bool:
        """True if there is a number."""
        return any(row.instructions is not None for row in self.rows)


def report(asked: CountAsked, made: Sequence[CountedStart]) -> CountReport:
    """Say what the starts so far show."""
    rows = tuple(row for workload in asked.workloads for row in _rows(asked, workload, made))
    lines = tuple(line for workload in asked.workloads for line in _lines(asked, workload, made)) if asked.compared else ()
    title = f"{asked.arms[1].label} against {asked.arms[0].label}" if asked.compared else _title(asked)
    lost = tuple(f"{row.workload}: {row.why}" for row in rows if row.why is not None)
    a, b = asked.arms[0].label, asked.arms[-1].label
    levels = tuple(_level(row) for row in rows if row.why is None)
    said = tuple(_sentence(a, b, line, asked.floor) for line in lines) if asked.compared else levels
    tables = tuple(
        table
        for workload in asked.workloads
        if asked.compared
        for table in where.tables(workload, *(counting.starts_of(made, workload, arm) for arm in asked.arms))
    )
    unlevelled = tuple(
        f"{workload}: reads find nothing more often on one side than on the other: the comparison has what they cost"
        for workload in asked.workloads
        if asked.compared and counts.reads_differ(*(counting.starts_of(made, workload, arm) for arm in asked.arms))
    )
    notes = (*unlevelled, *_notes(asked, rows), *where.notes(made))
    return CountReport(title, rows, lines, (*lost, *said), notes, any(one.rejected for one in made), tables)


def between(one: Record[CountAsked, CountedStart], other: Record[CountAsked, CountedStart]) -> CountReport:
    """Hold one record's counts against another's, for each stack and workload that both have. LabError where there is none."""
    floor, lost, said, lines, tables = one.head.asked.floor, list[str](), list[str](), list[CountLine](), list[WhereTable]()
    rejected = False
    for workload, arm, twin in _common(one.head.asked, other.head.asked):
        cells = [lasting_cell_of(record.head.asked, same, workload) for record, same in ((one, arm), (other, twin))]
        if differing := _differing(*cells):
            lost.append(f"{workload}: {arm.label} is not compared: the records differ in {differing}")
            continue
        sides = [counting.starts_of(record.entries, workload, arm) for record in (one, other)]
        rejected = rejected or any(start.rejected for start in sides[1])
        whys = [(record.id, _why(arm, starts)) for record, starts in zip((one, other), sides, strict=True)]
        if unnumbered := [f"{workload}: {arm.label} in {id}: {why}" for id, why in whys if why is not None]:
            lost += unnumbered
            continue
        found = _compared(workload, sides, floor)
        lines += found
        tables += where.tables(workload, *sides)
        said += [_sentence(f"{arm.label} in {one.id}", f"{arm.label} in {other.id}", line, floor) for line in found]
    title = f"{other.id} against {one.id}"
    return CountReport(title, (), tuple(lines), (*lost, *said), _notes_between(one, other), rejected, tuple(tables))


def _common(one: CountAsked, other: CountAsked) -> list[tuple[str, CountArm, CountArm]]:
    """The workloads and arms that two records have both. LabError where there is none."""
    twins = {arm.label: arm for arm in other.arms}
    workloads = [id for id in one.workloads if id in other.workloads]
    found = [(id, arm, twins[arm.label]) for id in workloads for arm in one.arms if arm.label in twins]
    if not found:
        sides = " and ".join(_title(asked) for asked in (one, other))
        raise LabError(f"the two records have no stack on the same workload in common: {sides}", "count one stack in both")
    return found


def lasting_cell_of(asked: CountAsked, arm: CountArm, workload: str) -> Cell:
    """The cell without what another machine has otherwise: the cores of its roles, and the generator's threads."""
    load = replace(Load(), connections=asked.load.connections)
    return Cell(arm.stack, workload, asked.topology, load, replace(asked.settings, pin=()))


def _differing(one: Cell, other: Cell) -> str:
    """Name what two cells were counted with; nothing where it is the same."""
    a, b = (
        {"stack": cell.stack, "connections": cell.load.connections, "path": cell.topology, **vars(cell.settings)}
        for cell in (one, other)
    )
    return ", ".join(
        f"{name.replace('_', ' ')} ({a[name]} and {b[name]})" if isinstance(a[name], int | str) else name.replace("_", " ")
        for name in a
        if a[name] != b[name]
    )


def _notes_between(one: Record[CountAsked, CountedStart], other: Record[CountAsked, CountedStart]) -> tuple[str, ...]:
    """Say what else of two records differs, and what their numbers do not say."""
    before, after = ({**record.head.versions, "CPU": record.head.machine.cpu_model or "unknown"} for record in (one, other))
    changed = [f"{name} {before.get(name, 'none')} and {after.get(name, 'none')}" for name in sorted({*before, *after})
               if before.get(name) != after.get(name)]  # fmt: skip
    notes = (f"the records differ in {', '.join(changed)}",) if changed else ()
    said = dict.fromkeys(BY_PROCESSOR if record.head.asked.counters else NOT_TIME for record in (one, other))
    return (*notes, *where.notes((*one.entries, *other.entries)), *said)


def _title(asked: CountAsked) -> str:
    return f"{', '.join(arm.label for arm in asked.arms)} on {', '.join(asked.workloads)}"


def _rows(asked: CountAsked, workload: str, made: Sequence[CountedStart]) -> Iterator[CountRow]:
    """The rows of a workload's arms. Two that are compared are levelled together, as in their line."""
    sides = [counting.starts_of(made, workload, arm) for arm in asked.arms]
    together = counts.at_equal_reads(*sides) if asked.compared else [counts.at_equal_reads(side)[0] for side in sides]
    for arm, starts, between in zip(asked.arms, sides, together, strict=True):
        yield _row(arm, workload, starts, between)


def _row(arm: CountArm, workload: str, starts: Sequence[CountedStart], between: Sequence[float]) -> CountRow:
    sound = [one for one in starts if one.counted]
    values = counting.values(sound)
    names: dict[str, list[float]] = {}
    for one in sound:
        for name, times in counts.calls_by_name(one).items():
            names.setdefault(name, []).append(times)
    means = {name: sum(every) / len(sound) for name, every in names.items()}
    return CountRow(
        arm.label,
        workload,
        len(sound),
        max((one.requests for one in sound), default=0),
        statistics.fmean(values) if values else None,
        t_interval(values),
        counts.spread(values),
        _mean(between),
        counts.spread(between),
        _mean([counts.empty_reads(one) for one in sound]),
        _mean([counts.calls(one) for one in sound]),
        dict(sorted(((n, m) for n, m in means.items() if m >= LEAST_OF_NAME), key=lambda one: -one[1])),
        sum(not one.settled for one in sound),
        _why(arm, starts),
    )


def _why(arm: CountArm, starts: Sequence[CountedStart]) -> str | None:
    """Say why an arm has no number; None where it has one."""
    rejected = next((one.rejected for one in starts if one.rejected), None)
    if rejected or any(one.counted for one in starts):
        return rejected
    return next((f"`{arm.label}` has no number: {one.void}" for one in starts), "it was not started")


def _lines(asked: CountAsked, workload: str, made: Sequence[CountedStart]) -> list[CountLine]:
    """All quantities of a workload; none where an arm has no number."""
    return _compared(workload, [counting.starts_of(made, workload, arm) for arm in asked.arms], asked.floor)


def _compared(workload: str, sides: Sequence[Sequence[CountedStart]], floor: float) -> list[CountLine]:
    found = list[CountLine]()
    for quantity, values in QUANTITIES.items():
        a, b = values(sides)
        if a and b:
            found.append(CountLine(workload, quantity, statistics.fmean(a), statistics.fmean(b), counts.change(a, b, floor)))
    return found


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean; None where there is none, or where one of them is unknown."""
    known = [one for one in values if one is not None]
    return statistics.fmean(known) if known and len(known) == len(values) else None


def _sentence(a: str, b: str, line: CountLine, floor: float) -> str:
    """Say how B's work compares with A's."""
    ratio, what = line.change.ratio, f"{line.workload}: "
    if ratio is None:
        return f"{what}too few starts to compare the {line.quantity} of {b} and {a}"
    middle, low, high = (signed_percent(one - 1, 2) for one in (ratio.middle, ratio.low, ratio.high))
    amount = f"{middle} ({low} to {high}, 95 % CI)"
    match line.change.word:
        case CountWord.MORE | CountWord.LESS as word:
            return f"{what}{b} needs {word} {line.quantity} for an answer than {a}: {amount}"
        case CountWord.ALIKE:
            return f"{what}{b} and {a} need the same {line.quantity} within ± {_hundredths(floor)}: {amount}"
        case _:
            return f"{what}no difference in {line.quantity} is told between {b} and {a}: {amount}"


def _level(row: CountRow) -> str:
    scatter = "" if row.spread is None else f" ± {_hundredths(row.spread)} from start to start"
    calls = "" if row.calls is None else f", and {amount(row.calls)} system calls"
    needs = f"{amount(row.instructions)} instructions{scatter}{calls}"
    return f"{row.workload}: {row.arm} needs {needs} for an answer"


def _notes(asked: CountAsked, rows: Sequence[CountRow]) -> tuple[str, ...]:
    """Say how the numbers were made, and what they do not say."""
    found = [
        f"{row.workload}, {row.arm}: {words.plural(row.starts, 'start')} of {row.requests:,} requests,"
        f" {'spread unknown' if row.spread is None else f'spread {_hundredths(row.spread)}'}{_between(row)}"
        for row in rows
        if row.starts
    ]
    found += [
        f"{row.workload}, {row.arm}: the warm-up of {words.plural(row.unsettled, 'start')} did not settle, and its count may fall"
        for row in rows
        if row.unsettled
    ]
    workers = asked.settings.workers
    how = (
        f"closed loop of {asked.load.connections} connections, {words.plural(workers, 'worker')}, the same requests at each start"
    )
    return (*found, how, BY_PROCESSOR if asked.counters else NOT_TIME)


def _between(row: CountRow) -> str:
    """The spread between collections, in brackets."""
    return "" if row.between_spread is None else f" ({_hundredths(row.between_spread)} between collections)"


def amount(value: float | None) -> str:
    """A count for an answer, to as many digits as repeat: `54,343` and `34.42`."""
    return words.NO_NUMBER if value is None else f"{value:,.0f}" if value >= WHOLE else f"{value:,.2f}"


def _hundredths(share: float) -> str:
    return f"{share:.2%}".replace("%", " %")


def document(found: CountReport) -> dict[str, object]:
    """The document for `--json`."""
    rows = [
        {
            "stack": row.arm,
            "workload": row.workload,
            "starts": row.starts,
            "requests": row.requests,
            "instructions_per_answer": row.instructions,
            "spread": row.spread,
            "instructions_between_collections": row.between,
            "spread_between_collections": row.between_spread,
            "empty_reads_per_answer": row.empty_reads,
            "system_calls_per_answer": row.calls,
            "system_calls": dict(row.names),
            "unsettled_starts": row.unsettled,
            "why": row.why,
        }
        for row in found.rows
    ]
    lines = [
        {
            "workload": line.workload,
            "quantity": line.quantity,
            "a": line.a,
            "b": line.b,
            "change": None if (ratio := line.change.ratio) is None else ratio.middle - 1,
            "change_low": None if ratio is None else ratio.low - 1,
            "change_high": None if ratio is None else ratio.high - 1,
            "verdict": str(line.change.word),
        }
        for line in found.lines
    ]
    return {
        "counted": rows,
        "lines": lines,
        "where": where.document(found.where),
        "sentences": list(found.sentences),
        "notes": list(found.notes),
    }


def markdown(found: CountReport) -> str:
    """A summary for a pull request."""
    table = ["| workload | quantity (per answer) | A | B | B against A | 95 % CI | verdict |", "|--|--|--:|--:|--:|--|--|"]
    for line in found.lines:
        ratio = line.change.ratio
        amounts = ("—", "—") if ratio is None else (
            signed_percent(ratio.middle - 1, 2),
            f"{signed_percent(ratio.low - 1, 2)} … {signed_percent(ratio.high - 1, 2)}",
        )  # fmt: skip
        cells = (line.workload, line.quantity, amount(line.a), amount(line.b), *amounts, str(line.change.word))
        table.append("| " + " | ".join(map(words.cell, cells)) + " |")
    told = [f"- {words.prose(one)}" for one in (*found.sentences, *found.notes)]
    levels = [*_levels(found.rows), ""] if found.rows else []
    compared = [*table, ""] if found.lines else []
    return "\n".join([f"## {words.prose(found.title)}", "", *compared, *where.markdown(found.where), *levels, *told, ""])


def _levels(rows: Sequence[CountRow]) -> list[str]:
    """The table of what each arm needs for an answer."""
    head = ["| workload | stack | instructions | spread | system calls | starts | requests |", "|--|--|--:|--:|--:|--:|--:|"]
    for row in rows:
        spread = words.NO_NUMBER if row.spread is None else _hundredths(row.spread)
        numbers = (amount(row.instructions), spread, amount(row.calls), str(row.starts), f"{row.requests:,}")
        head.append("| " + " | ".join(map(words.cell, (row.workload, row.arm, *numbers))) + " |")
    return head


def html(found: CountReport, facts: Sequence[str], foot: str, home: str | None = None) -> str:
    """The measurement as a page. `facts` are one line about the machine."""
    return frame.frame_page(
        "count.html",
        f"counted · {found.title}",
        found.sentences or (found.title,),
        facts=facts,
        rows=found.rows,
        lines=found.lines,
        where=found.where,
        names=[(row, list(row.names.items())[:MOST_NAMES]) for row in found.rows if row.names],
        notes=found.notes,
        amount=amount,
        signed=partial(signed_percent, decimals=2),
        share=_hundredths,
        foot=foot,
        home=home,
    )
