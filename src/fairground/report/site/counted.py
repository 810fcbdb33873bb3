"""The history of what an answer of a stack needs, over records and commits, and where it changed. Pure.

Counts hardly depend on the machine's pace. So records of several machines stand in one history, as far as their processors carry
out the same instructions. What else may move a count, such as another libc, is named beside the change.
"""

from __future__ import annotations

import hashlib
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from markupsafe import Markup

from fairground.model import Cell
from fairground.model.count import PROCESSOR, CountArm, CountAsked, CountedStart
from fairground.model.record import Record
from fairground.report import frame
from fairground.report.charts import svg
from fairground.report.charts.scale import Scale, linear_ticks
from fairground.report.comparison import signed_percent
from fairground.report.counts import amount, lasting_cell_of
from fairground.report.trial import sketch
from fairground.run import counting
from fairground.stats import counts
from fairground.stats.counts import CountChange, CountWord

KNOWN = ("libc", "QEMU", "counted by")
"""Versions of a record that may move a count."""
LEAST_REACH = 1.0
"""The picture reaches at least this many per cent to both sides of its first dot."""


@dataclass(frozen=True)
class CountView:
    """A stack's counts in one record. `values`: instructions between collections of each start that has a number.

    `instructions`: those for an answer, collections included.
    """

    record: str
    started_unix_s: float
    name: str
    """The commit that was counted, and else the record."""
    values: tuple[float, ...]
    starts: tuple[CountedStart, ...]
    instructions: float | None
    calls: float | None
    versions: Mapping[str, str]
    content_hash: str | None
    machine: str
    change: CountChange | None = None
    """Since the view before that has a number; None for the first."""
    before: str | None = None
    """The name of that one."""
    differing: tuple[str, ...] = ()
    """What may move a count, too, and differs from that one, such as `libc 2.36 → 2.41`."""

    @property
    def middle(self) -> float | None:
        """Instructions for an answer between collections; None where no start has a number."""
        return statistics.fmean(self.values) if self.values else None

    @property
    def is_changed(self) -> bool:
        """True if it needs more or fewer instructions than before."""
        return self.change is not None and self.change.word in (CountWord.MORE, CountWord.LESS)


@dataclass(frozen=True)
class CountHistory:
    """One stack on one workload, oldest first."""

    processor: str
    cell: Cell
    seen: tuple[CountView, ...]

    @property
    def slug(self) -> str:
        """The name of its page, without a folder or an ending."""
        text = re.sub(r"[^a-z0-9]+", "-", f"{self.cell.stack} {self.cell.workload} {self.processor}".lower()).strip("-")[:120]
        return f"{text}-{hashlib.blake2s(repr((self.cell, self.processor)).encode(), digest_size=4).hexdigest()}"

    @property
    def changed(self) -> tuple[CountView, ...]:
        """The views that differ from those before them."""
        return tuple(one for one in self.seen if one.is_changed)

    @property
    def numbered(self) -> tuple[CountView, ...]:
        """The views that have a number."""
        return tuple(one for one in self.seen if one.values)


def histories(records: Iterable[Record[CountAsked, CountedStart]]) -> tuple[CountHistory, ...]:
    """All stacks and workloads of all counted records. Records may come in any order."""
    seen: dict[tuple[str, Cell], list[CountView]] = {}
    for record in sorted(records, key=lambda one: (one.head.started_unix_s, one.id)):
        asked = record.head.asked
        for workload in asked.workloads:
            for arm in asked.arms:
                starts = counting.starts_of(record.entries, workload, arm)
                if starts:
                    key = (record.head.versions.get(PROCESSOR, "unknown processor"), lasting_cell_of(asked, arm, workload))
                    seen.setdefault(key, []).append(_view(record, arm, starts))
    made = [CountHistory(processor, cell, _compared(views)) for (processor, cell), views in seen.items()]
    return tuple(sorted(made, key=lambda one: (one.cell.workload, one.cell.stack, one.slug)))


def _view(record: Record[CountAsked, CountedStart], arm: CountArm, starts: Sequence[CountedStart]) -> CountView:
    head = record.head
    known, whole = counting.values(starts, counts.calls), counting.values(starts)
    info = head.stacks.get(arm.label)
    versions = {name: head.versions[name] for name in KNOWN if name in head.versions}
    return CountView(
        record.id,
        head.started_unix_s,
        arm.commit or record.id,
        tuple(value for value in counting.values(starts, counts.between_collections) if value > 0),
        tuple(starts),
        statistics.fmean(whole) if whole else None,
        statistics.fmean(known) if known else None,
        versions | ({"versions": info.receipt} if info is not None and info.receipt is not None else {}),
        None if info is None else info.content_hash,
        head.machine.cpu_model or "unknown CPU",
    )


def _compared(views: Sequence[CountView]) -> tuple[CountView, ...]:
    """Hold each view against the last one before it that has a number."""
    found = {}
    for before, after in pairwise([one for one in views if one.values]):
        names = dict.fromkeys((*before.versions, *after.versions))
        both = ((name, before.versions.get(name, "none"), after.versions.get(name, "none")) for name in names)
        differing = tuple(f"{name} {old} → {new}" for name, old, new in both if old != new)
        old_values, new_values = counts.at_equal_reads(before.starts, after.starts)
        change = counts.change(old_values, new_values)
        found[id(after)] = replace(after, change=change, before=before.name, differing=differing)
    return tuple(found.get(id(one), one) for one in views)


# ---------------------------------------------------------------- as text and pictures


def sentence(one: CountView) -> str:
    """Say what became of it: `+1.20 % since 3f2a (95 % CI +1.05 % … +1.35 %)`; nothing for the first."""
    if one.change is None:
        return ""
    beside = f"; {', '.join(one.differing)}" if one.differing else ""
    ratio = one.change.ratio
    if ratio is None:
        return f"too few starts to tell{beside}"
    middle, low, high = (signed_percent(value - 1, 2) for value in (ratio.middle, ratio.low, ratio.high))
    return f"{middle} since {one.before} (95 % CI {low} … {high}){beside}"


def html(history: CountHistory) -> str:
    """The page of one stack and workload, in a folder beside those of the records."""
    return frame.render(
        "counted.html", history=history, chart=chart(history), sentence=sentence, amount=amount, started=frame.minute
    )


def chart(history: CountHistory) -> Markup | None:
    """Instructions between collections against the first view, in per cent; changes are marked. None without a number."""
    shown = history.numbered
    if not shown:
        return None
    first = statistics.fmean(shown[0].values)
    points = [(100 * (statistics.fmean(one.values) / first - 1), one) for one in shown]
    reach = max(LEAST_REACH, *(1.2 * abs(value) for value, _ in points))
    low, high = -reach if min(value for value, _ in points) < 0 else -LEAST_REACH, reach
    x = Scale(0, len(points), sketch.LEFT_PX, sketch.WIDTH_PX - 8)
    y = Scale(low, high, sketch.HEIGHT_PX - sketch.FOOT_PX, sketch.TOP_PX)
    places = [(x.px(place + 0.5), y.px(value)) for place, (value, _) in enumerate(points)]
    parts = [svg.line(places, "server", 2)] if len(places) > 1 else []
    for place, ((across, up), (value, one)) in enumerate(zip(places, points, strict=True)):
        if one.is_changed:
            parts.append(svg.line([(x.px(place), y.end_px), (x.px(place), y.start_px)], "warned", 1.5, "4 3"))
        parts.append(svg.dot(across, up, "server", 4, 1, f"{one.name}: {signed_percent(value / 100, 2)}, {amount(one.middle)}"))
    marks = linear_ticks(reach, 4)
    ticks = svg.value_ticks(mark for mark in (*(-one for one in marks[:0:-1]), *marks) if low <= mark <= high)
    parts = [svg.left_axis(x, y, ticks, "%"), *parts, svg.foot_axis(x, y, ())]
    return svg.picture(sketch.WIDTH_PX, sketch.HEIGHT_PX, "Instructions between collections, against the first record", parts)
