"""Tell where two counted arms differ: by function and by system call, as sentences, a document and bars. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fairground.model.count import MADE_AT_RUN_TIME, CountedStart
from fairground.report.charts import waterfall
from fairground.report.charts.waterfall import WaterfallStep
from fairground.report.text import words
from fairground.stats import counts
from fairground.stats.counts import NamedChange

MOST = 10
"""This many functions, and this many system calls, are told."""
NAME = 90
"""Letters of a name that are told in a terminal."""
FUNCTION, CALL = "function", "system call"
LEAST_MADE = 0.01
"""A compiler makes more of the instructions than such a share. The page by which newer QEMU tells the time makes less."""
SMALL = 10.0
"""Smaller changes than this many are told with a fraction."""


@dataclass(frozen=True)
class WhereTable:
    """The largest changes of one kind on a workload. `whole`: what A needs of it for an answer in all."""

    workload: str
    kind: str
    changes: tuple[NamedChange, ...]
    whole: float

    @property
    def picture(self) -> Markup | None:
        """A bar for each change."""
        steps = [WaterfallStep(one.name, one.more, one.more - one.half, one.more + one.half) for one in self.changes]
        unit = "instructions" if self.kind == FUNCTION else "calls"
        return waterfall.picture(steps, f"{unit} that B needs more for an answer", unit)


def tables(workload: str, a: Sequence[CountedStart], b: Sequence[CountedStart]) -> tuple[WhereTable, ...]:
    """Functions and system calls, those first that have changed by most whatever starts do by chance."""
    sides = [[one for one in side if one.counted] for side in (a, b)]
    if not all(one.functions for side in sides for one in side):
        return ()
    functions = [[one.functions for one in side] for side in sides]
    calls = [[counts.calls_by_name(one) for one in side] for side in sides]
    found = ((FUNCTION, functions), (CALL, calls))
    return tuple(
        WhereTable(workload, kind, tuple(changes[:MOST]), _mean_of_all(before))
        for kind, (before, after) in found
        if (changes := counts.named_changes(before, after))
    )


def _mean_of_all(starts: Sequence[Mapping[str, float]]) -> float:
    return sum(sum(one.values()) for one in starts) / len(starts)


def notes(starts: Sequence[CountedStart]) -> tuple[str, ...]:
    """Say whose functions they are, where they are none of the server's own."""
    programs = sorted({one.interpreter for one in starts if one.interpreter is not None})
    found = [
        f"`{one}` carries out the server's code: the functions are those of `{one}` and its libraries, and none of the server's"
        for one in programs
    ]
    if any(one.functions.get(MADE_AT_RUN_TIME, 0.0) > LEAST_MADE * sum(one.functions.values()) for one in starts):
        found.append(f"a compiler runs in the server: what it makes is one entry, `{MADE_AT_RUN_TIME}`")
    return tuple(found)


def sentences(found: Sequence[WhereTable]) -> tuple[str, ...]:
    """A heading for each table, and a line for each of its changes."""
    lines = []
    for table in found:
        unit = "instructions by function" if table.kind == FUNCTION else "system calls"
        lines.append(f"{table.workload}: {unit}, B against A for an answer, what has changed most")
        lines += [f"  {amount(one.more):>10} ± {plain(one.half):<8} {fit_name(one.name)}" for one in table.changes]
    return tuple(lines)


def fit_name(name: str) -> str:
    """A name that fits a line of a terminal: compilers make some of a thousand letters."""
    return name if len(name) <= NAME else f"{name[: NAME // 2]} … {name[-NAME // 2 :]}"


def markdown(found: Sequence[WhereTable]) -> list[str]:
    """The tables for a pull request."""
    lines = []
    for table in found:
        lines += [f"| {table.workload}: {table.kind} | A | B | B more | ± |", "|--|--:|--:|--:|--:|"]
        for one in table.changes:
            cells = (words.code(fit_name(one.name)), plain(one.a), plain(one.b), amount(one.more), plain(one.half))
            lines.append("| " + " | ".join((cells[0], *map(words.cell, cells[1:]))) + " |")
        lines.append("")
    return lines


def document(found: Sequence[WhereTable]) -> list[dict[str, object]]:
    """The rows for `--json`."""
    return [
        {
            "workload": table.workload,
            "kind": table.kind,
            "name": one.name,
            "a": one.a,
            "b": one.b,
            "more": one.more,
            "more_low": one.more - one.half,
            "more_high": one.more + one.half,
        }
        for table in found
        for one in table.changes
    ]


def amount(value: float) -> str:
    """`+1,024` and `−0.25`."""
    return f"{value:+,.2f}".replace("-", "−") if abs(value) < SMALL else f"{value:+,.0f}".replace("-", "−")


def plain(value: float) -> str:
    """`1,024` and `0.25`."""
    return f"{value:,.2f}" if abs(value) < SMALL else f"{value:,.0f}"
