"""Say what the order of row locks costs, from a run's own numbers: deadlocks × deadlock_timeout, beside the same in order. Pure.

It is told of each workload that has a twin, which does the same and locks its rows in one order. Two requests that cross lock
each other's row. PostgreSQL does not look for such a circle until a statement has waited for
`deadlock_timeout`; until then both hold their rows, and whoever needs one of these waits behind them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from fairground.model import OWN_MAJOR, Limit, Run, Trial, foreign
from fairground.model.use import UNUSED
from fairground.report.boards import CONFIDENCE, Board, BoardRow
from fairground.report.text import words
from fairground.stats import differences, intervals

TIMEOUT = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min)?")
UNITS_S = {"ms": 0.001, "s": 1.0, "min": 60.0}
HEADS = (
    "stack", "waits for a connection", "crossing/s", "deadlocks", "× timeout", "under load", "pending", "in order/s",
    "deadlocks in order", "gain",
)  # fmt: skip
TELLING = 1.5
"""From this factor on between its own two rates pgbench's limits say something of the order."""
DEFAULT_TIMEOUT_S = 1.0
"""PostgreSQL's own, where the run's settings do not say otherwise."""


WIDE = 10.0
"""An interval whose ends are this many times each other is no finding."""


@dataclass(frozen=True)
class Crossing:
    """One stack under one condition, all numbered trials together, and the same in order where the run has it."""

    row: BoardRow
    ordered: BoardRow | None
    timeout_s: float
    twin: str
    """The workload that does the same in order."""

    @property
    def deadlocks(self) -> int | None:
        """Over the whole lives of the trials' databases; None when one does not tell."""
        return _deadlocks(self.row.numbered)

    @property
    def ordered_deadlocks(self) -> int | None:
        return None if self.ordered is None else _deadlocks(self.ordered.numbered)

    @property
    def loaded_s(self) -> float:
        """Seconds under load over all trials: warm-up, window and drain."""
        phases = ("warmup", "window", "drain")
        return math.fsum(trial.phases_s.get(phase, 0.0) for trial in self.row.numbered for phase in phases)

    @property
    def waited_s(self) -> float | None:
        """Deadlocks × deadlock_timeout: seconds that pairs of requests held their rows and did nothing."""
        return None if self.deadlocks is None else self.deadlocks * self.timeout_s

    @property
    def pending(self) -> float | None:
        """The number of deadlocks that waited to be noticed at once, on average over the load."""
        return self.waited_s / self.loaded_s if self.waited_s is not None and self.loaded_s else None

    @property
    def covered(self) -> float | None:
        """Share of the load in which at least one was pending, if they fell at random: 1 − e^−pending."""
        return None if self.pending is None else -math.expm1(-self.pending)

    @property
    def locked(self) -> float | None:
        """Share of the busy backends that were seen waiting for a lock."""
        seen = [trial.database.wait_events for trial in self.row.numbered if trial.database is not None]
        busy = sum(count for events in seen for event, count in events.items() if event not in ("idle", UNUSED))
        held = sum(count for events in seen for event, count in events.items() if event.startswith("Lock:"))
        return held / busy if busy else None

    @property
    def is_wide(self) -> bool:
        """True if the interval of what order gives is too wide to be a finding."""
        return self.gain is not None and self.gain.high > WIDE * self.gain.low

    @property
    def gain(self) -> intervals.Interval | None:
        """Goodput in order over goodput crossing, paired by block; None for fewer than two blocks."""
        if self.ordered is None:
            return None
        return differences.paired_interval_of(self.ordered.by_block, self.row.by_block, CONFIDENCE)

    @property
    def factor(self) -> float | None:
        """The same without an interval, from one block as well; None where the interval is too wide to be a finding."""
        ratios = [] if self.ordered is None or self.is_wide else differences.pair_ratios(self.ordered.by_block, self.row.by_block)
        return intervals.geometric_mean(ratios) if ratios else None

    @property
    def lost(self) -> float | None:
        """Share of the goodput in order that crossing loses; None where it loses nothing that was measured."""
        return None if self.factor is None or self.factor <= 1 else 1 - 1 / self.factor


def crossings(run: Run, boards: Sequence[Board]) -> tuple[Crossing, ...]:
    """Every stack with a number on a workload that has a twin, in the boards' order. Those that have both come first."""
    rows = {row.cell: row for board in boards for row in board.numbered}
    timeout_s = deadlock_timeout_s(run.database_settings.get("deadlock_timeout", ""))
    twins = twins_of(run)
    found = [
        Crossing(row, rows.get(replace(cell, workload=twins[cell.workload])), timeout_s, twins[cell.workload])
        for cell, row in rows.items()
        if cell.workload in twins
    ]
    return tuple(sorted(found, key=lambda one: one.ordered is None))


def twins_of(run: Run) -> dict[str, str]:
    """The workloads of a run that have a twin, and its id."""
    return {id: str(told["twin"]) for id, told in run.workloads.items() if told.get("twin")}


def deadlock_timeout_s(text: str) -> float:
    """PostgreSQL's way of writing a time, milliseconds where no unit stands; its default for an empty text."""
    found = TIMEOUT.fullmatch(text.strip())
    return DEFAULT_TIMEOUT_S if found is None else float(found[1]) * UNITS_S[found[2] or "ms"]


def sentences(one: Crossing) -> tuple[str, ...]:
    """Say what happened to one stack, in words with their numbers."""
    said = [f"{one.row.stack} ({words.wait(one.row.cell.settings)}): {_deadlock_words(one)}"]
    if one.ordered is None:
        return (*said, f"The run holds no `{one.twin}` of it, so what order would give is not known.")
    gain = one.gain
    if gain is not None and one.is_wide:
        times = words.number(gain.high / gain.low)
        blocks = words.plural(gain.count, "block")
        return (*said, f"What order gives is not known: the interval's ends are {times} times each other ({blocks}).")
    if one.factor is None:
        return (*said, f"No block has both `{one.row.cell.workload}` and `{one.twin}` of it.")
    span = "in one block, which is not judged"
    if gain is not None:
        span = f"95 % CI {words.number(gain.low)}–{words.number(gain.high)} ×, {words.plural(gain.count, 'block')}"
    with_order = f"In order the same server gives {words.number(one.factor)} × as much ({span})"
    said.append(f"{with_order}, with {words.plural_or_unknown(one.ordered_deadlocks, 'deadlock')}.")
    if one.lost is not None and one.covered is not None and one.deadlocks:
        covered = words.percent(one.covered)
        said.append(f"It loses {words.percent(one.lost)} of that; a deadlock was pending {covered} of the time.")
    return tuple(said)


def _deadlock_words(one: Crossing) -> str:
    if one.deadlocks is None:
        return "the database's count of deadlocks is not known."
    if not one.deadlocks:
        return f"no deadlock in {words.seconds(one.loaded_s)} of load: what it waited for were rows in use."
    timeout = words.seconds(one.timeout_s)
    product = f"{one.deadlocks:,} × {timeout} = {words.seconds(one.waited_s or 0.0)}"
    seen = "" if one.locked is None else f" {words.percent(one.locked)} of the busy backends waited for a lock."
    return (
        f"{words.plural(one.deadlocks, 'deadlock')} in {words.seconds(one.loaded_s)} of load. Each is noticed after "
        f"deadlock_timeout, {timeout}, and keeps its rows until then: {product}, {words.number(one.pending)} at once.{seen}"
    )


def markdown(run: Run, boards: Sequence[Board]) -> str:
    """Write a part of a Markdown file: the table, the sentences of stacks with both orders, and pgbench's own numbers."""
    found = crossings(run, boards)
    told = [one for one in found if one.ordered is not None] or found
    machine = run.machine.cpu_model or "unknown CPU"
    lines = [f"Run `{run.id}`, {machine}, {words.plural(run.machine.cores, 'core')}: `{run.plan.command}`", ""]
    lines += [f"| {' | '.join(HEADS)} |", "|--|--|--:|--:|--:|--:|--:|--:|--:|--:|"]
    lines += ["| " + " | ".join(map(words.cell, cells(one))) + " |" for one in found]
    lines += ["", *(f"- {' '.join(sentences(one))}" for one in told)]
    if said := pgbench_words(run):
        lines += ["", said]
    return foreign.clean("\n".join(lines)) + "\n"


def cells(one: Crossing) -> tuple[str, ...]:
    """One line of the table."""
    return (
        one.row.stack,
        words.wait(one.row.cell.settings),
        words.number(one.row.middle),
        words.count(one.deadlocks),
        words.UNKNOWN if one.waited_s is None else words.seconds(one.waited_s),
        words.seconds(one.loaded_s),
        words.number(one.pending),
        words.number(one.ordered.middle if one.ordered else None),
        words.count(one.ordered_deadlocks),
        words.UNKNOWN if one.factor is None else f"{words.number(one.factor)} ×",
    )


def pgbench_words(run: Run) -> str | None:
    """Say what each version of the database does without any server, from the run's limits; None where none has both."""
    versions = dict.fromkeys(limit.postgres_version for limit in run.limits if limit.source == "pgbench")
    pairs = twins_of(run).items()
    both = [(run.limit(workload, one), run.limit(twin, one)) for workload, twin in pairs for one in versions]
    known = [(crossing, ordered) for crossing, ordered in both if crossing and ordered]
    said = [_without_server(crossing, ordered, len(known) > 1) for crossing, ordered in known]
    return " ".join(said) or None


def _without_server(crossing: Limit, ordered: Limit, named: bool) -> str:
    """Both rates on one version of the database, which is `named` where there are several."""
    on = f" on PostgreSQL {crossing.postgres_version or OWN_MAJOR}" if named else ""
    told = ordered.rate_per_s >= TELLING * crossing.rate_per_s
    meaning = "no server and no language is in that difference" if told else "so short a measurement may meet few deadlocks"
    return (
        f"pgbench alone{on} does {words.number(crossing.rate_per_s)} such transactions a second crossing and "
        f"{words.number(ordered.rate_per_s)} in order ({crossing.detail}): {meaning}."
    )


def _deadlocks(trials: Iterable[Trial]) -> int | None:
    counts = [trial.database.deadlocks if trial.database is not None else None for trial in trials]
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None
