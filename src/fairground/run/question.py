"""The question that `why` puts to a run: which of its cells, which reason, and the experiment on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from fairground.judge import experiments
from fairground.measure import schedule
from fairground.model import Cell, Evidence, LabError, Run, Trial
from fairground.model.experiment import WhyAsked
from fairground.model.reason import BACKLOG, REASONS

WINDOW_S, WARMUP_S = 1.0, (1.0, 2.0)
WINDOWS_S = 2.0
"""All windows of an arm in one start; where turns are long, a window is one turn."""


def of_run(run: Run, words: Sequence[str], reason: str | None, budget_s: float) -> WhyAsked:
    """The experiment on what limits the cell that the words name. LabError where there is no such cell, or no experiment."""
    cell = cell_named(run, words)
    return of_cell(run, cell, reason or limited_by(run, cell, numbered_trials(run, cell)), budget_s)


def of_cell(run: Run, cell: Cell, named: str, budget_s: float) -> WhyAsked:
    """The experiment on a reason of a cell. LabError where the reason is none, or there is no experiment on it."""
    trials = numbered_trials(run, cell)
    if named not in REASONS:
        raise LabError(f"`{named}` is not a reason", f"reasons: {', '.join(REASONS)}")
    return pose(run.id, cell, named, trials, budget_s, run.workloads.get(cell.workload, {}))


def pose(run: str, cell: Cell, named: str, trials: Sequence[Trial], budget_s: float, workload: Mapping[str, str]) -> WhyAsked:
    """The experiment on a reason of a cell, by what its `trials` and its `workload` say. LabError where there is none."""
    sentence, evidence = _said(trials, named)
    evidence = {**evidence, **{key: workload.get(key) for key in (experiments.TWIN, experiments.FIXED_ROWS)}}
    deadlocks = any(one.database is not None and one.database.deadlocks for one in trials)
    turn_s = schedule.shortest_turn_s(cell.settings, deadlocks, named == BACKLOG.id)
    cell = _short(cell, turn_s)
    found = experiments.experiment(named, cell, evidence)
    if isinstance(found, str):
        raise LabError(f"there is no experiment on `{named}` of {cell.id}: {found}", "another reason can be named with --reason")
    windows = max(1, round(WINDOWS_S / cell.load.window_s))
    return WhyAsked(run, cell, named, sentence, found, trials[0].seed if trials else 1, budget_s, windows, turn_s)


def numbered_trials(run: Run, cell: Cell) -> list[Trial]:
    """The trials of a cell that have a number."""
    return [trial for trial in run.trials if trial.cell == cell and trial.goodput_per_s is not None]


def cell_named(run: Run, words: Sequence[str]) -> Cell:
    """The one cell that all words name: stack or server, workload, topology, load. LabError where it is none, or several."""
    cells = list(dict.fromkeys(slot.cell for slot in run.plan.slots if slot.control is None))
    found = [cell for cell in cells if all(word in _names(cell) for word in words)]
    # The id of a cell on the lab's own PostgreSQL is a part of the ids of those on other versions.
    found = [cell for cell in found if cell.id.split() == list(words)] or found
    if len(found) == 1:
        return found[0]
    if not found:
        raise LabError(f"the run `{run.id}` has no cell `{' '.join(words)}`", f"its cells: {_some(cells)}")
    raise LabError(f"`{' '.join(words)}` names {len(found)} cells of `{run.id}`", f"name one: {_some(found)}")


def limited_by(run: Run, cell: Cell, trials: Sequence[Trial]) -> str:
    """Find what most of a cell's trials named as their limit. LabError where none has a number, or none named anything."""
    if not trials:
        raise LabError(f"{cell.id} has no number in `{run.id}`", "choose a cell with a number")
    named = Counter(trial.diagnosis for trial in trials if trial.diagnosis is not None)
    if not named:
        raise LabError(f"nothing that was measured names a limit of {cell.id}", "a reason can be named with --reason")
    return named.most_common(1)[0][0]


def _short(cell: Cell, turn_s: float) -> Cell:
    """Shorten a cell's windows and warm-ups so that several starts fit into a minute, and a turn into a window."""
    low, high = WARMUP_S
    window_s = max(WINDOW_S, turn_s)
    return replace(cell, load=replace(cell.load, window_s=window_s, warmup_min_s=low, warmup_max_s=high))


def _said(trials: Sequence[Trial], reason: str) -> tuple[str, Evidence]:
    """Return what a trial said of a reason, and its evidence with the cores that roles used.

    The sentence is empty where no trial named the reason.
    """
    used = next((_cores(trial, trial.result.window_s) for trial in trials if trial.result is not None), {})
    found = [finding for trial in trials for finding in trial.findings if finding.id == reason]
    return (found[0].sentence, {**used, **found[0].evidence}) if found else ("", used)


def _cores(trial: Trial, window_s: float) -> Evidence:
    known = {role: use.cpu_us for role, use in trial.roles.items() if use.cpu_us is not None}
    return {f"{role}_cores": cpu_us / 1e6 / window_s for role, cpu_us in known.items()}


def _names(cell: Cell) -> set[str]:
    return {
        cell.stack,
        cell.stack.partition(":")[0],
        cell.workload,
        cell.workload.rpartition("/")[2],
        cell.topology.id,
        cell.load.id,
        *cell.id.split(),
    }


def _some(cells: Sequence[Cell], most: int = 8) -> str:
    more = f", and {len(cells) - most} more" if len(cells) > most else ""
    return "; ".join(cell.id for cell in cells[:most]) + more
