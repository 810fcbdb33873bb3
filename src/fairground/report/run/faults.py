"""Tabulate what faults did: one row for each cell with a fault, the medians of its trials. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fairground.model import Cell, Recovery, Run, Topology, Trial, Verdict, foreign
from fairground.report.text import words

HEADS = ("good answers/s before", "failed", "longest without, s", "first good after, s", "full rate after, s", "trials")

LOST = "acknowledged, and lost"
"""The column of a crash: writes, of all trials."""


@dataclass(frozen=True)
class FaultRow:
    """One cell under its fault: the recoveries of its trials, and how many trials have no number."""

    cell: Cell
    recoveries: tuple[Recovery, ...]
    numberless: int

    @property
    def values(self) -> tuple[str, ...]:
        """The cells of its line, in the order of `HEADS`."""
        if not self.recoveries:
            return (*[words.NO_NUMBER] * (len(HEADS) - 1), self.trials)
        return (
            words.number(self._median(lambda one: one.before_per_s)),
            words.percent(self._median(lambda one: one.failed_share)),
            self._time(lambda one: one.longest_silence_s),
            self._time(lambda one: one.first_good_s),
            self._time(lambda one: one.recovered_s),
            self.trials,
        )

    @property
    def recovered_s(self) -> float | None:
        """Seconds from the fault's beginning until the full rate was back; None where it was not in the window."""
        return self._median(lambda one: one.recovered_s)

    @property
    def is_back(self) -> bool:
        """True if the full rate was back in most trials."""
        return 2 * len(self._known(lambda one: one.recovered_s)) > len(self.recoveries)

    @property
    def lost(self) -> int | None:
        """The acknowledged writes that crashes took, of all trials; None where nothing crashed, or nothing counts them."""
        known = [one.lost for one in self.recoveries if one.lost is not None]
        return sum(known) if known else None

    @property
    def trials(self) -> str:
        """`3`, or `2 + 1 without a number`."""
        lost = f"{self.numberless} without a number" if self.numberless else ""
        return " + ".join(part for part in (str(len(self.recoveries)) if self.recoveries else "", lost) if part)

    def _known(self, of: Callable[[Recovery], float | None]) -> list[float]:
        return [value for one in self.recoveries if (value := of(one)) is not None]

    def _median(self, of: Callable[[Recovery], float | None]) -> float | None:
        known = self._known(of)
        return statistics.median(known) if known else None

    def _time(self, of: Callable[[Recovery], float | None]) -> str:
        """The median time; where some trials have none, how many have one."""
        known = self._known(of)
        if not known:
            return "not in the window"
        some = "" if len(known) == len(self.recoveries) else f" ({len(known)} of {len(self.recoveries)})"
        return f"{statistics.median(known):.1f}{some}"

    @property
    def document(self) -> dict[str, object]:
        """The row for machines; the recovery of each trial stands with the trial. `recovered` trials have a `recovered_s`."""
        return {
            "cell": self.cell.id,
            "stack": self.cell.stack,
            "workload": self.cell.workload,
            "topology": self.cell.topology.id,
            "fault": str(self.cell.load.fault),
            "trials": len(self.recoveries),
            "numberless": self.numberless,
            "before_per_s": self._median(lambda one: one.before_per_s),
            "failed_share": self._median(lambda one: one.failed_share),
            "longest_silence_s": self._median(lambda one: one.longest_silence_s),
            "first_good_s": self._median(lambda one: one.first_good_s),
            "recovered_s": self.recovered_s,
            "recovered": len(self._known(lambda one: one.recovered_s)),
            "lost": self.lost,
        }


def rows(run: Run) -> tuple[FaultRow, ...]:
    """A row for each cell with a fault that was tried, in the order of the plan. Void trials count nowhere."""
    tried: dict[Cell, list[Trial]] = {}
    for trial in run.trials:
        if trial.cell.load.fault is not None and trial.verdict is not Verdict.VOID:
            tried.setdefault(trial.cell, []).append(trial)
    order = list(dict.fromkeys(slot.cell for slot in run.plan.slots if slot.cell in tried))
    return tuple(_row(cell, tried[cell]) for cell in order)


def markdown(found: Sequence[FaultRow]) -> str:
    """Write a table for each workload and fault, by name, the quickest to its full rate first. Say when the stacks came back."""
    lines = list[str]()
    for (workload, fault), some in _by_fault(found).items():
        crashes = any(row.lost is not None for row in some)
        heads = (*HEADS, LOST) if crashes else HEADS
        lines += ["", f"### `{fault}` on `{workload}`", "", f"| {' | '.join(('stack', *heads))} |", "|--|" + "--:|" * len(heads)]
        ordered = sorted(some, key=lambda row: (row.recovered_s is None, row.recovered_s or 0.0, row.cell.id))
        for row in ordered:
            lost = (words.NO_NUMBER if row.lost is None else f"{row.lost:,}",) if crashes else ()
            lines.append(f"| {' | '.join(map(words.cell, (_who(row.cell), *row.values, *lost)))} |")
        lines += ["", f"{_back(some)}"]
    return foreign.clean("\n".join(lines)) + "\n"


def _by_fault(found: Sequence[FaultRow]) -> dict[tuple[str, str], list[FaultRow]]:
    grouped = dict[tuple[str, str], list[FaultRow]]()
    for row in found:
        grouped.setdefault((row.cell.workload, str(row.cell.load.fault)), []).append(row)
    return dict(sorted(grouped.items()))


def _who(cell: Cell) -> str:
    return cell.stack if cell.topology == Topology() else f"{cell.stack} ({cell.topology.id})"


def _back(some: Sequence[FaultRow]) -> str:
    """Say when the full rate was back, over the stacks of one table: where most trials of a stack had it."""
    numbered = [row for row in some if row.recoveries]
    if not numbered:
        return "No stack has a number."
    times = sorted(row.recovered_s for row in numbered if row.is_back and row.recovered_s is not None)
    if not times:
        return f"None of {words.plural(len(numbered), 'stack')} had its full rate again in the window."
    span = (
        f"{times[0]:.1f} to {times[-1]:.1f} s, median {statistics.median(times):.1f} s" if len(times) > 1 else f"{times[0]:.1f} s"
    )
    return f"{len(times)} of {words.plural(len(numbered), 'stack')} had their full rate again in the window, after {span}."


def _row(cell: Cell, trials: Sequence[Trial]) -> FaultRow:
    numbered = [trial for trial in trials if trial.goodput_per_s is not None]
    found = tuple(trial.recovery for trial in numbered if trial.recovery is not None)
    return FaultRow(cell, found, len(trials) - len(found))
