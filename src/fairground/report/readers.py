"""Answer what readers of a replication ask, as far as its run measured it: the cost of a step, of a pool, and of refusing. Pure.

A question that no cell answers says so: there is no number that nobody measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fairground.claims.cells import Untestable, cell_of
from fairground.claims.numbers import share_or_count
from fairground.claims.statement import Term
from fairground.model import Cell, Suite, Topology, Trial, Verdict
from fairground.model.plan import ROLES
from fairground.report.boards import add_histograms
from fairground.report.text import words
from fairground.stats import intervals
from fairground.stats.intervals import Interval

NOT_MEASURED = "not measured"
CLOSED = "a connection for each request"


@dataclass(frozen=True)
class StepCost:
    """The µs of CPU that one thing adds to an answer, of all roles but the generator.

    All is by blocks that have both, where there are any. `added_us`: None where there is none, or its trials have no number.
    """

    what: str
    stack: str
    workload: str
    without_us: float | None
    through_us: float | None
    added_us: Interval | None
    """The mean and its interval; a single block has its value for both ends."""
    rate: tuple[float | None, float | None]
    """Good answers a second without it and through it."""


def step_costs(suite: Suite, trials: Sequence[Trial]) -> tuple[StepCost, ...]:
    """The suite's own steps, and then each hop and closed connection that the run has with and without; in order."""
    seen = [trial for trial in trials if trial.verdict not in (Verdict.VOID, Verdict.REJECTED)]
    named = [
        (step.what, _cell(step.without, suite, seen), _cell(step.through, suite, seen), step.through) for step in suite.steps
    ]
    found = [_cost(what, words_.split()[:2], one, other, seen) for what, one, other, words_ in named]
    there = dict.fromkeys(trial.cell for trial in seen)
    for cell in there:
        for what, without in _lacking(cell):
            if without in there:
                found.append(_cost(what, [cell.stack, cell.workload], without, cell, seen))
    return tuple(found)


def _cell(text: str, suite: Suite, trials: Sequence[Trial]) -> Cell | None:
    try:
        return cell_of(Term("cpu", tuple(text.split())), suite, trials)
    except Untestable:
        return None


def _lacking(cell: Cell) -> Iterator[tuple[str, Cell]]:
    """The cell without its proxy, its pooler, its wire or its closing of connections."""
    here = cell.topology
    if here.proxy is not None:
        yield here.proxy, replace(cell, topology=replace(here, proxy=None))
    if here.pooler is not None:
        yield here.pooler, replace(cell, topology=Topology(here.proxy, wire=here.wire))
    if here.wire is not None:
        yield str(here.wire), replace(cell, topology=replace(here, wire=None))
    if not cell.load.keep_alive:
        yield CLOSED, replace(cell, load=replace(cell.load, keep_alive=True))


def _cost(what: str, where: Sequence[str], without: Cell | None, through: Cell | None, trials: Sequence[Trial]) -> StepCost:
    one, other = _shared([_by_block(cell, trials, _cpu_us) for cell in (without, through)])
    added = [other[block] - one[block] for block in sorted(set(one) & set(other))]
    interval = intervals.t_interval(added)
    if interval is None and added:
        interval = Interval(added[0], added[0], added[0], 1, 0.95)
    rates = [_mean(some.values()) for some in _shared([_by_block(cell, trials, _rate) for cell in (without, through)])]
    return StepCost(what, where[0], where[1], _mean(one.values()), _mean(other.values()), interval, (rates[0], rates[1]))


def _shared(sides: Sequence[Mapping[int, float]]) -> list[Mapping[int, float]]:
    """Both sides in the blocks that both have, where there are any: else they would differ by what the machine did as well."""
    blocks = set.intersection(*map(set, sides))
    return [{block: one[block] for block in one if block in blocks} if blocks else one for one in sides]


def _by_block(cell: Cell | None, trials: Iterable[Trial], value_of: object) -> Mapping[int, float]:
    assert callable(value_of)
    found = {trial.block: value_of(trial) for trial in trials if trial.cell == cell}
    return {block: value for block, value in found.items() if value is not None}


def _cpu_us(trial: Trial) -> float | None:
    """CPU of a good answer over the roles that the trial has; None where one is not known."""
    used = [trial.cpu_us_per_answer(role) for role in ROLES if role in trial.roles and role != "generator"]
    known = [use for use in used if use is not None]
    return sum(known) if known and len(known) == len(used) else None


def _rate(trial: Trial) -> float | None:
    return trial.goodput_per_s


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return sum(known) / len(known) if known else None


@dataclass(frozen=True)
class PoolRow:
    """One way to reach the database under one load: the server's pool, the pooler if there is one, and what came of it."""

    stack: str
    workload: str
    connections: int
    pool: int
    pooler: str | None
    rate_per_s: float | None
    p99_ms: float | None
    errors: float | None


def pool_rows(trials: Sequence[Trial]) -> tuple[PoolRow, ...]:
    """The cells that differ in pool or pooler alone, where a stack has several under one load."""
    groups = dict[tuple[object, ...], list[Cell]]()
    seen = [trial for trial in trials if trial.verdict is not Verdict.VOID]
    for cell in dict.fromkeys(trial.cell for trial in seen):
        load, topology = cell.load, cell.topology
        if load.model == "closed" and load.keep_alive and topology.proxy is None and topology.wire is None:
            settings = replace(cell.settings, pool_size=0, prepared=True)
            groups.setdefault((cell.stack, cell.workload, load, settings), []).append(cell)
    several = [some for some in groups.values() if len({(one.settings.pool_total, one.topology.pooler) for one in some}) > 1]
    return tuple(_pool_row(cell, seen) for some in several for cell in sorted(some, key=_reach))


def _reach(cell: Cell) -> tuple[bool, int]:
    return cell.topology.pooler is not None, cell.settings.pool_total


def _pool_row(cell: Cell, trials: Sequence[Trial]) -> PoolRow:
    ours = [trial for trial in trials if trial.cell == cell]
    rate = _mean(value for trial in ours if (value := trial.goodput_per_s) is not None)
    histogram = add_histograms([trial for trial in ours if trial.goodput_per_s is not None])
    known = histogram is not None and histogram.total >= 100 * words.LEAST_TAIL_SAMPLES
    p99_us = intervals.percentile(histogram.values_us, histogram.counts, 0.99) if histogram and known else None
    errors = _mean(share for trial in ours if (share := share_or_count("errors", trial)) is not None)
    pooler = cell.topology.pooler and f"{cell.topology.pooler}, {cell.topology.pooler_size} connections"
    p99_ms = None if p99_us is None else p99_us / 1000
    return PoolRow(cell.stack, cell.workload, cell.load.connections, cell.settings.pool_total, pooler, rate, p99_ms, errors)


@dataclass(frozen=True)
class OverloadRow:
    """One rate at which requests arrive, whatever becomes of them: good answers, 503s, and the tail of the good ones."""

    stack: str
    workload: str
    wait_ms: int | None
    offered_per_s: float
    rate_per_s: float | None
    shed: float | None
    p99_ms: float | None


def overload_rows(trials: Sequence[Trial]) -> tuple[OverloadRow, ...]:
    """The cells of an open loop, by stack, workload and how long a request may wait for a connection."""
    seen = [trial for trial in trials if trial.verdict is not Verdict.VOID and trial.cell.load.rate_per_s is not None]
    rows = []
    for cell in dict.fromkeys(trial.cell for trial in seen):
        made, ours = _pool_row(cell, seen), [trial for trial in seen if trial.cell == cell]
        shed = _mean(share for trial in ours if (share := share_or_count("shed", trial)) is not None)
        offered = cell.load.rate_per_s or 0.0
        rows.append(
            OverloadRow(cell.stack, cell.workload, cell.settings.pool_wait_ms, offered, made.rate_per_s, shed, made.p99_ms)
        )
    return tuple(
        sorted(rows, key=lambda row: (row.stack, row.workload, row.wait_ms is None, row.wait_ms or 0, row.offered_per_s))
    )


# ---------------------------------------------------------------- as tables


Lines = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class QuestionTable:
    """A question, the heads of its table and its rows of text; without rows `lacking` says what no cell measured."""

    question: str
    heads: tuple[str, ...]
    rows: Lines
    lacking: str


def questions(suite: Suite, trials: Sequence[Trial]) -> tuple[QuestionTable, ...]:
    """All questions of readers, each with its table or with what is missing."""
    return (
        QuestionTable(
            "What does it cost?",
            ("step", "stack", "workload", "CPU µs without", "through", "added (95 % CI)", "answers/s without", "through"),
            tuple(map(_step_cells, step_costs(suite, trials))),
            "No two cells of this suite differ in one hop, in the closing of connections, or in a step that it names.",
        ),
        QuestionTable(
            "How many connections, and do I need a pooler?",
            ("stack", "workload", "clients", "the server's pool", "pooler", "answers/s", "p99 ms", "errors"),
            tuple(map(_pool_cells, pool_rows(trials))),
            "No stack of this suite was measured on kept connections with several pools, or with a pooler and without.",
        ),
        QuestionTable(
            "Should I answer 503?",
            ("stack", "workload", "waits for a connection", "offered/s", "good answers/s", "503s", "p99 ms"),
            tuple(map(_overload_cells, overload_rows(trials))),
            "Not measured: all cells of this suite are closed loops, in which a refused client asks again at once.",
        ),
    )


def _step_cells(one: StepCost) -> tuple[str, ...]:
    known = one.added_us
    span = "" if known is None or known.count < 2 else f" ({words.number(known.low)} to {words.number(known.high)})"
    added = NOT_MEASURED if known is None else f"{words.number(known.middle)}{span or ', one block'}"
    return (one.what, one.stack, one.workload, words.number(one.without_us), words.number(one.through_us), added,
            *map(words.number, one.rate))  # fmt: skip


def _pool_cells(one: PoolRow) -> tuple[str, ...]:
    pooler = one.pooler or "none"
    return (one.stack, one.workload, str(one.connections), f"{one.pool:,}", pooler, words.number(one.rate_per_s),
            words.number(one.p99_ms), words.percent(one.errors))  # fmt: skip


def _overload_cells(one: OverloadRow) -> tuple[str, ...]:
    wait = "as long as it takes" if one.wait_ms is None else f"{one.wait_ms} ms" if one.wait_ms else "not at all"
    return (one.stack, one.workload, wait, words.number(one.offered_per_s), words.number(one.rate_per_s),
            words.percent(one.shed), words.number(one.p99_ms))  # fmt: skip


def markdown(tables: Iterable[QuestionTable]) -> Iterator[str]:
    """The questions as parts of a section."""
    for one in tables:
        yield ""
        yield f"### {one.question}"
        yield ""
        if not one.rows:
            yield one.lacking
            continue
        yield f"| {' | '.join(one.heads)} |"
        yield "|--" * len(one.heads) + "|"
        yield from (f"| {' | '.join(map(words.cell, row))} |" for row in one.rows)
