"""Arrange what the page shows of a run: one board per workload and condition, one row per stack, no words and no marks.

A board holds only trials that may be compared: same workload, topology, load and settings.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from fairground.model import OWN_MAJOR, Cell, CellSettings, Latency, Limit, PoolScope, Run, Trial, Verdict, hdr
from fairground.report.charts.palette import STACKS_IN_COLOUR
from fairground.report.judging import judge_of
from fairground.report.text import seats
from fairground.stats import comparisons, intervals
from fairground.stats.comparisons import Comparison, Judge, Quantity
from fairground.stats.fit import Estimate

CONFIDENCE = 0.95
ROLES = ("server", "proxy", "pooler", "wire", "database")
"""The roles whose CPU a good answer costs; the generator's is shown apart."""


@dataclass(frozen=True)
class Histogram:
    """Latencies in µs and how often each occurred."""

    values_us: tuple[float, ...]
    counts: tuple[int, ...]

    @property
    def total(self) -> int:
        return sum(self.counts)


@dataclass(frozen=True)
class BoardRow:
    """One stack on one board. `middle` is the geometric mean over blocks of goodput per second; None: no number.

    Where another stack beside it has other blocks, what the machine did to them is taken out of both. `interval`: what it did to
    all stacks of a round alike is not in it. None: one block, or nothing good.
    """

    stack: str
    cell: Cell
    trials: tuple[Trial, ...]
    middle: float | None
    interval: intervals.Interval | None
    by_block: Mapping[int, float]

    @property
    def numbered(self) -> tuple[Trial, ...]:
        """The trials that have a number."""
        return tuple(trial for trial in self.trials if trial.goodput_per_s is not None)

    @property
    def verdicts(self) -> Counter[Verdict]:
        return Counter(trial.verdict for trial in self.trials)

    @property
    def verdict(self) -> Verdict | None:
        """The gravest verdict of the trials that count; void only where all are. None: nothing was tried."""
        order = (Verdict.REJECTED, Verdict.WARNED, Verdict.VALID, Verdict.VOID)
        return next((verdict for verdict in order if self.verdicts[verdict]), None)

    @property
    def limiting(self) -> Trial | None:
        """A trial whose page explains the diagnosis that most of them have; None where nothing is named."""
        common = self.diagnoses.most_common(1)
        return next((trial for trial in self.numbered if common and trial.diagnosis == common[0][0]), None)

    @property
    def diagnoses(self) -> Counter[str]:
        return Counter(trial.diagnosis for trial in self.numbered if trial.diagnosis)

    def cpu_us(self, role: str) -> float | None:
        """CPU of a role in µs per good answer over all numbered trials (sum over sum); None when one lacks it."""
        used, good = 0.0, 0
        for trial in self.numbered:
            use = trial.roles.get(role)
            if trial.result is None or use is None or use.cpu_us is None:
                return None
            used, good = used + use.cpu_us, good + trial.result.completed_ok
        return used / good if good else None


@dataclass(frozen=True)
class Board:
    """One table: rows with a number first, by falling middle, then rows without."""

    id: str
    workload: str
    parts: tuple[str, ...]
    """What all its trials have in common: path, load, pool and so on; none where it is the only board of its workload."""
    rows: tuple[BoardRow, ...]
    limit: Limit | None
    blocks: int
    absent: Mapping[str, str]
    """Stack → why it is not on this board."""
    goodput: Comparison | None = None
    """Its stacks held against the anchor; None where no two of them share two blocks."""
    cost: Comparison | None = None
    """The same of the server's CPU per good answer."""
    drift: float | None = None
    """How much more the machine gave all stacks in one round than in another, 0.1 is 10 %; None: not known."""

    @property
    def condition(self) -> str:
        """The parts that set this board apart from others of its workload, `direct · c100`; empty when it is the only one."""
        return " · ".join(self.parts)

    def comparison(self, quantity: Quantity) -> Comparison | None:
        return self.goodput if quantity is Quantity.GOODPUT else self.cost

    @property
    def numbered(self) -> tuple[BoardRow, ...]:
        return tuple(row for row in self.rows if row.middle is not None)

    @property
    def numberless(self) -> tuple[BoardRow, ...]:
        return tuple(row for row in self.rows if row.middle is None)

    @property
    def ceiling(self) -> Limit | None:
        """The most that the machine can do; None where nobody measured it, and where locks limit the workload instead."""
        return self.limit if self.limit is not None and self.limit.is_ceiling else None

    def share_of_ceiling(self, row: BoardRow) -> float | None:
        if self.ceiling is None or row.middle is None or self.ceiling.rate_per_s <= 0:
            return None
        return row.middle / self.ceiling.rate_per_s


def boards(run: Run, *, judged: bool = True) -> tuple[Board, ...]:
    """All boards in the plan's order of workloads. Those that are not `judged` compare nothing, which is all that charts need."""
    judge = judge_of(run) if judged else None
    grouped: dict[tuple[object, ...], list[Cell]] = {}
    planned = [slot.cell for slot in run.plan.slots] + [trial.cell for trial in run.trials]
    for cell in dict.fromkeys(
        sorted(
            planned,
            key=lambda cell: list(run.workloads).index(cell.workload) if cell.workload in run.workloads else len(run.workloads),
        )
    ):
        grouped.setdefault((cell.workload, cell.topology, cell.load, cell.settings), []).append(cell)
    versions = {cell.settings.postgres_version for cell in planned}
    per_workload = Counter(key[0] for key in grouped)
    rows = _rows(run, planned)
    return tuple(
        _board(run, cells, rows, judge, alone=per_workload[cells[0].workload] == 1, told=len(versions) > 1)
        for cells in grouped.values()
    )


def _board(run: Run, cells: list[Cell], known: Mapping[Cell, BoardRow], judge: Judge | None, *, alone: bool, told: bool) -> Board:
    """`alone`: no other board is of its workload. `told`: the run is of several versions of PostgreSQL."""
    first = cells[0]
    made = [known[cell] for cell in cells]
    rows = tuple(sorted(made, key=lambda row: (row.middle is None, -(row.middle or 0.0), row.stack)))
    trials = [trial for row in made for trial in row.trials]
    goodput, cost = (judge.field(trials, one) if judge else None for one in (Quantity.GOODPUT, Quantity.CPU))
    parts = (
        first.topology.id,
        first.load.id,
        f"pool {first.settings.pool_size}" + (" per worker" if first.settings.pool_scope is PoolScope.PER_WORKER else ""),
        f"{first.settings.workers} workers",
        run.durability_of(first.settings),
        "prepared" if first.settings.prepared else "unprepared",
        *resources(first.settings),
        *([postgres(first.settings)] if told else []),
    )
    slug = first.workload if alone else "-".join((first.workload, *parts)).replace(" ", "")
    limit = run.limit(first.workload, first.settings.postgres_version)
    absent = {}
    for name, reason in run.plan.skipped.items():
        stack, _, workload = name.partition(" ")
        if workload in ("", first.workload):
            absent[stack] = reason
    blocks = len({block for row in rows for block in row.by_block})
    drift = comparisons.layout(trials, Quantity.GOODPUT, in_turns=False).drift
    return Board(slug, first.workload, () if alone else parts, rows, limit, blocks, absent, goodput, cost, drift)


def distinction_of(board: Board, shown: Iterable[Board]) -> tuple[str, ...]:
    """The parts of a board's condition that not all boards of its workload share; none where it is the only one."""
    others = [other.parts for other in shown if other.workload == board.workload]
    return tuple(part for part in board.parts if not all(part in parts for parts in others))


def postgres(settings: CellSettings) -> str:
    """The PostgreSQL beneath a cell of a run that has several: `PostgreSQL 17`."""
    return f"PostgreSQL {settings.postgres_version or OWN_MAJOR}"


def resources(settings: CellSettings) -> tuple[str, ...]:
    """List the limits that a trial's roles were held to, if any: `1.5 CPUs`, `database on core 1`, `work_mem = 8MB`."""
    said = []
    if settings.cpus is not None:
        said.append(f"{settings.cpus:g} {'CPU' if settings.cpus == 1 else 'CPUs'}")
    if settings.memory_mb is not None:
        said.append(f"{settings.memory_mb:,} MB")
    if settings.pin:
        said.append(seats.sentence(settings.pin, settings.place))
    if settings.sql_before is not None:
        said.append(f"after {settings.sql_before.name}")
    return (*said, *(f"{name} = {value}" for name, value in settings.postgres))


def _rows(run: Run, cells: Iterable[Cell]) -> dict[Cell, BoardRow]:
    """The row of each cell, with its interval: without what the machine did to all stacks beside it alike."""
    trials: dict[Cell, list[Trial]] = {cell: [] for cell in cells}
    for trial in run.trials:
        trials[trial.cell].append(trial)
    sure = comparisons.cells([*run.trials, *run.controls], run.plan.memory)
    made = _at_one_pace({cell: _row(cell, tuple(some)) for cell, some in trials.items()}, run)
    return {cell: _surely(row, sure.get(cell)) for cell, row in made.items()}


def _at_one_pace(rows: dict[Cell, BoardRow], run: Run) -> dict[Cell, BoardRow]:
    """The rows with middles that do not differ by the blocks which one has and another lacks."""
    blocks = dict[Cell, set[frozenset[int]]]()
    for cell, row in rows.items():
        if row.by_block:
            blocks.setdefault(comparisons.field_of(cell), set()).add(frozenset(row.by_block))
    uneven = {field for field, some in blocks.items() if len(some) > 1}
    if not uneven:
        return rows
    levels = comparisons.levels_of(run.trials, run.plan.memory)
    apart = {cell: row.by_block and comparisons.field_of(cell) in uneven for cell, row in rows.items()}
    return {cell: replace(row, middle=math.exp(levels[cell])) if apart[cell] else row for cell, row in rows.items()}


def _surely(row: BoardRow, estimate: Estimate | None) -> BoardRow:
    """The row with as wide an interval as its estimate has, around its own middle."""
    if row.middle is None or not row.by_block or estimate is None:
        return row
    apart = estimate.interval(CONFIDENCE)
    middle = math.log(row.middle)
    low, high = (middle + end - apart.middle for end in (apart.low, apart.high))
    return replace(row, interval=intervals.Interval(middle, low, high, apart.count, CONFIDENCE).exp())


def _row(cell: Cell, trials: tuple[Trial, ...]) -> BoardRow:
    values: dict[int, list[float]] = {}
    for trial in trials:
        if trial.goodput_per_s is not None:
            values.setdefault(trial.block, []).append(trial.goodput_per_s)
    flat = [value for group in values.values() for value in group]
    if not flat:
        return BoardRow(cell.stack, cell, trials, None, None, {})
    if min(flat) <= 0:  # no logarithm: a stack that answered nothing well keeps its plain mean and gets no interval
        return BoardRow(cell.stack, cell, trials, statistics.fmean(flat), None, {})
    by_block = {block: intervals.geometric_mean(group) for block, group in sorted(values.items())}
    return BoardRow(cell.stack, cell, trials, intervals.geometric_mean(list(by_block.values())), None, by_block)


def add_histograms(trials: Iterable[Trial]) -> Histogram | None:
    """The latencies of good answers of all trials, added; None when one of them keeps no histogram or there is none."""
    return histogram_of([trial.result.latency_ok if trial.result else None for trial in trials])


def histogram_of(latencies: Iterable[Latency | None]) -> Histogram | None:
    """Several histograms added; None when one of them keeps none or there is none."""
    packed: list[str] = []
    for latency in latencies:
        if latency is None or latency.v2 is None:
            return None
        packed.append(latency.v2)
    return _added(tuple(packed)) if packed else None


@lru_cache(maxsize=2048)
def _added(packed: tuple[str, ...]) -> Histogram:
    """The counts of HdrHistogram V2 texts (base64), values in µs as the upper end of each bucket.

    Histograms of one shape are added bucket by bucket; of several shapes a value may occur more than once.
    """
    import numpy
    from numpy.typing import NDArray

    heaps: dict[hdr.HdrShape, NDArray[numpy.int64]] = {}
    for text in packed:
        shape, heap = hdr.decode(text)
        heaps[shape] = heaps[shape] + heap if shape in heaps else heap
    values, counts = list[float](), list[int]()
    for shape, heap in heaps.items():
        places, ends = numpy.flatnonzero(heap).tolist(), hdr.ends(shape)
        values += (float(ends[place]) for place in places)
        counts += heap[places].tolist()
    return Histogram(tuple(values), tuple(counts))


def count_unanswered(trials: Iterable[Trial]) -> int:
    """Requests of the window that got no good answer, over all trials."""
    return sum(trial.result.window.not_ok for trial in trials if trial.result)


def stack_colours(shown: Iterable[Board]) -> Mapping[str, int]:
    """Stack → number of its colour from 1: the six that stand first most often, the same on the whole page."""

    score: Counter[str] = Counter()
    for board in shown:
        for place, row in enumerate(board.numbered):
            score[row.stack] += max(1, 12 - place)
    ranked = sorted(score, key=lambda stack: (-score[stack], stack))
    return {stack: number for number, stack in enumerate(ranked[:STACKS_IN_COLOUR], start=1)}
