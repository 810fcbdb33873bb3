"""The reasons that a run named and no experiment decided, each with the experiment on it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from fairground.model import Cell, LabError, Run, Topology, Trial
from fairground.model.experiment import WhyAsked
from fairground.model.reason import REASONS
from fairground.run import question

EACH_S = 60.0
"""The time of one experiment where there is enough for several."""
Lacking = Callable[[Topology], tuple[str, str] | None]
"""Names what a path needs that is not here, and what to do; None: nothing."""


@dataclass(frozen=True)
class Doubt:
    """A reason that trials of a run named, the cell where it is clearest, and the experiment on it; or why there is none."""

    reason: str
    trials: int
    asked: WhyAsked | None
    untested: str = ""


def doubts(run: Run, decided: Collection[str], lacking: Lacking) -> tuple[Doubt, ...]:
    """The reasons of a run that no experiment has `decided`, those that most trials named first."""
    named = dict[str, dict[Cell, list[Trial]]]()
    for cell in dict.fromkeys(trial.cell for trial in run.trials):
        for trial in question.numbered_trials(run, cell):
            if trial.diagnosis is not None and trial.diagnosis not in decided:
                named.setdefault(trial.diagnosis, {}).setdefault(cell, []).append(trial)
    found = [_doubt(run, reason, cells, lacking) for reason, cells in named.items()]
    return tuple(sorted(found, key=lambda one: -one.trials))


def _doubt(run: Run, reason: str, cells: dict[Cell, list[Trial]], lacking: Lacking) -> Doubt:
    """The experiment on the clearest cell that has one; or what keeps that on the clearest cell of all."""
    trials, problems = sum(map(len, cells.values())), list[str]()
    for cell in sorted(cells, key=lambda one: _unclear(run, one, reason, cells[one])):
        try:
            asked = question.of_cell(run, cell, reason, EACH_S)
        except LabError as error:
            problems.append(error.message)
            continue
        absent = _absent(asked, lacking)
        if absent is None:
            return Doubt(reason, trials, asked)
        problems.append(absent)
    return Doubt(reason, trials, None, problems[0])


def _unclear(run: Run, cell: Cell, reason: str, named: Sequence[Trial]) -> tuple[float, float]:
    """Rate how unclear a reason is on a cell: the share of trials that name another or none, then other reasons beside it."""
    others = [one.id for trial in named for one in trial.findings if one.id in REASONS and one.id != reason]
    return 1 - len(named) / len(question.numbered_trials(run, cell)), len(others) / len(named)


def _absent(asked: WhyAsked, lacking: Lacking) -> str | None:
    """Name what an experiment's changes need and this machine lacks; None: nothing."""
    found = (lacking(one.cell.topology) for one in asked.experiment.changes)
    return next((one[0] for one in found if one is not None), None)
