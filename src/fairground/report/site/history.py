"""A cell over runs: its rate in each, and where it changed. Pure.

Only runs of one group of machines are held against each other: of the same processor, number of cores and memory.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from markupsafe import Markup

from fairground.model import Cell, Load, Run, Verdict
from fairground.report import frame
from fairground.report.boards import BoardRow, boards
from fairground.report.charts import svg
from fairground.report.text import words
from fairground.report.trial import sketch
from fairground.stats import changes
from fairground.stats.changes import CellChange
from fairground.stats.intervals import Interval


@dataclass(frozen=True)
class CellView:
    """A cell in one run. `rate_per_s`: the geometric mean over blocks, None without a number.

    `cpu_us`: the server's CPU for a good answer.
    """

    run: str
    started_unix_s: float
    rate_per_s: float | None
    interval: Interval | None
    cpu_us: float | None
    diagnosis: str | None
    verdict: Verdict | None
    content_hash: str | None
    load: Load
    change: CellChange | None = None
    """Since the run before, beside all cells that both have; None where they share too few."""
    before: str | None = None
    """The run that `change` is measured from."""
    new_source: bool = False
    """The server's source is another than in the run before."""
    postgres: str | None = None
    """The major version of the database."""
    new_postgres: str | None = None
    """The major versions before and now, such as `17 → 18`, where they differ: then no change is worked out."""


@dataclass(frozen=True)
class History:
    """One cell on one group of machines, oldest run first."""

    machine: str
    cell: Cell
    seen: tuple[CellView, ...]

    @property
    def slug(self) -> str:
        """The name of its page, without a folder or an ending."""
        text = f"{self.cell.id} {words.pool(self.cell.settings)} {self.machine}"
        return f"{re.sub(r'[^a-z0-9]+', '-', text.lower()).strip('-')[:120]}-{_short(self.cell, self.machine)}"

    @property
    def changed(self) -> tuple[CellView, ...]:
        """The runs in which it had become another."""
        return tuple(one for one in self.seen if one.change is not None and one.change.called)

    @property
    def judged(self) -> bool:
        """True if it could be told at least once whether it had changed."""
        return any(one.change is not None for one in self.seen)

    @property
    def other_postgres(self) -> str | None:
        """The major versions of the last run that has another one than the run before it; None: all have one."""
        return next((one.new_postgres for one in reversed(self.seen) if one.new_postgres is not None), None)

    @property
    def numbered(self) -> tuple[CellView, ...]:
        return tuple(one for one in self.seen if one.rate_per_s is not None)


def histories(runs: Iterable[Run]) -> tuple[History, ...]:
    """All cells of all runs, by machine, workload and stack. Runs may come in any order; each is read once."""
    seen: dict[tuple[str, Cell], list[CellView]] = {}
    rates: dict[tuple[str, str], dict[Cell, Interval]] = {}
    for run in sorted(runs, key=lambda one: (one.started_unix_s, one.id)):
        where = run.machine.group
        for row in (row for board in boards(run, judged=False) for row in board.rows if row.trials):
            cell = _lasting(row.cell)
            seen.setdefault((where, cell), []).append(_seen(run, row))
            if row.middle is not None:
                alone = Interval(row.middle, row.middle, row.middle, 1, 0.0)
                rates.setdefault((where, run.id), {})[cell] = row.interval or alone
    shifts = _Shifts(rates)
    made = [History(where, cell, _changed(where, cell, found, shifts)) for (where, cell), found in seen.items()]
    return tuple(sorted(made, key=lambda one: (one.machine, one.cell.workload, one.cell.stack, one.cell.id)))


def _lasting(cell: Cell) -> Cell:
    """The cell without how long it was warmed up and measured: runs that differ in that alone are of one cell, and say so."""
    return replace(cell, load=replace(cell.load, window_s=0.0, warmup_min_s=0.0, warmup_max_s=0.0))


class _Shifts:
    """The changes between two runs of a machine, worked out once for each pair."""

    def __init__(self, rates: Mapping[tuple[str, str], Mapping[Cell, Interval]]) -> None:
        self._rates = rates
        self._known: dict[tuple[str, str, str], Mapping[Cell, CellChange]] = {}

    def of(self, where: str, before: str, after: str) -> Mapping[Cell, CellChange]:
        key = (where, before, after)
        if key not in self._known:
            self._known[key] = changes.changes_of(self._rates[where, before], self._rates[where, after])
        return self._known[key]


def _seen(run: Run, row: BoardRow) -> CellView:
    info = run.stacks.get(row.stack)
    common = row.diagnoses.most_common(1)
    return CellView(
        run.id,
        run.started_unix_s,
        row.middle,
        row.interval,
        row.cpu_us("server"),
        common[0][0] if common else None,
        row.verdict,
        info.content_hash if info else None,
        row.cell.load,
        postgres=run.postgres_major,
    )


def _changed(where: str, cell: Cell, seen: Sequence[CellView], shifts: _Shifts) -> tuple[CellView, ...]:
    """Add to each run's view of a cell its change since the last run that has a number for it."""
    numbered = [one for one in seen if one.rate_per_s is not None]
    found = {}
    for before, after in pairwise(numbered):
        majors = _differing(before.postgres, after.postgres)
        change = None if majors else shifts.of(where, before.run, after.run).get(cell)
        new_source = _differing(before.content_hash, after.content_hash) is not None
        found[after.run] = replace(after, change=change, before=before.run, new_source=new_source, new_postgres=majors)
    return tuple(found.get(one.run, one) for one in seen)


def _differing(before: str | None, after: str | None) -> str | None:
    """Both, where both are known and they differ."""
    return None if before is None or after is None or before == after else f"{before} → {after}"


def _short(cell: Cell, machine: str) -> str:
    """Eight letters that tell this cell from any other whose name looks the same."""
    return hashlib.blake2s(repr((cell, machine)).encode(), digest_size=4).hexdigest()


# ---------------------------------------------------------------- as text and pictures


def sentence(one: CellView) -> str:
    """Say what became of the cell in a run, or nothing: `-23 % since RUN (95 % CI -31 … -14 %, p 0.004)`."""
    change = one.change
    if change is None:
        return ""
    by = f"{words.signed_share(change.ratio - 1)} % since {one.before}"
    span = f"95 % CI {words.signed_share(change.low - 1)} … {words.signed_share(change.high - 1)} %"
    source = "; the server's source changed" if one.new_source else ""
    return f"{by} ({span}, p {words.number(change.p_holm)}{source})"


def html(history: History) -> str:
    """The page of one cell, in a folder beside those of the runs."""
    return frame.render("history.html", history=history, chart=chart(history), sentence=sentence, started=frame.minute)


def chart(history: History) -> Markup | None:
    """Good answers a second in each run with their intervals; changes are marked. None without a number."""
    points = [(one.rate_per_s, one) for one in history.seen if one.rate_per_s is not None]
    if not points:
        return None
    most = max((one.interval.high if one.interval else rate) for rate, one in points)
    most = min(most, 2 * max(rate for rate, _ in points))  # an interval of two blocks may reach anywhere
    x, y = sketch.plot(len(points), most)
    places = [(x.px(place + 0.5), y.px(rate)) for place, (rate, _) in enumerate(points)]
    parts = [svg.line(places, "server", 2)] if len(places) > 1 else []
    for place, (rate, one) in enumerate(points):
        across, up = places[place]
        if one.interval is not None:
            parts.append(
                svg.line([(across, y.px(one.interval.low)), (across, y.px(one.interval.high))], "server", 2, opacity=0.5)
            )
        if one.change is not None and one.change.called:
            edge = x.px(place)
            parts.append(svg.line([(edge, y.end_px), (edge, y.start_px)], "warned", 1.5, "4 3"))
        parts.append(svg.dot(across, up, "server", 4, 1, f"{one.run}: {words.number(rate)}/s"))
    parts.append(svg.foot_axis(x, y, ()))
    return sketch.frame_plot(x, y, parts, "Good answers a second in each run")
