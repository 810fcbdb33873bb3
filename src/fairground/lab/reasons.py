"""`run --why`: after a run, the experiments on what limited it, within a time: the reason that most trials named first."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from fairground import topology
from fairground.inputs import numbers
from fairground.lab import pages, why
from fairground.lab.events import Event, Finished, Said, TriedReason, Trying
from fairground.lab.preparation import Inputs
from fairground.model import Cell, LabError, MachineError, Run, Trial
from fairground.model.experiment import WhyAsked
from fairground.model.reason import REASONS
from fairground.report.run.why import TriedBy
from fairground.run import question
from fairground.stats.effects import Outcome

EACH_S, LEAST_S = 60.0, 45.0
"""The time of one experiment where there is enough for several, and the least that three starts fit into."""
SETUP_S = 6.0
"""Seconds of an experiment that the database and its data take."""


def budget_s(typed: str | None) -> float | None:
    """The time of `--why` in seconds; None where it is not said. LabError where no experiment fits into it."""
    found = None if typed is None else numbers.seconds("--why", typed)
    if found is not None and found < LEAST_S:
        raise LabError(f"`--why {typed}` is too short: an experiment takes {LEAST_S:.0f} s at the least", "write --why 3m")
    return found


@dataclass(frozen=True)
class Doubt:
    """A reason that trials of a run named, the cell where it is clearest, and the experiment on it; or why there is none."""

    reason: str
    trials: int
    asked: WhyAsked | None
    untested: str = ""


def doubts(run: Run, tried: TriedBy, path: str | None) -> tuple[Doubt, ...]:
    """The reasons of a run that no experiment has decided, those that most trials named first. `path`: where tools are found."""
    decided = {reason for (_, reason), one in tried.items() if one.outcome is not Outcome.OPEN}
    named = dict[str, dict[Cell, list[Trial]]]()
    for cell in dict.fromkeys(trial.cell for trial in run.trials):
        for trial in question.numbered_trials(run, cell):
            if trial.diagnosis is not None and trial.diagnosis not in decided:
                named.setdefault(trial.diagnosis, {}).setdefault(cell, []).append(trial)
    found = [_doubt(run, reason, cells, path) for reason, cells in named.items()]
    return tuple(sorted(found, key=lambda one: -one.trials))


def try_reasons(
    run: Run, before: TriedBy, inputs: Inputs, within_s: float, now: Callable[[], float] = time.monotonic
) -> Iterator[Event]:
    """Make the experiments on a run's reasons as long as the time lasts. One that cannot be made is said, and the rest goes on.

    `before`: what was found already. `now`: a clock of seconds.
    """
    end_s, found = now() + within_s, doubts(run, before, inputs.places.environ.get("PATH"))
    yield from (Said(f"{one.reason} stays a suspicion: {one.untested}") for one in found if one.asked is None)
    asked = [one.asked for one in found if one.asked is not None]
    for place, one in enumerate(asked):
        left_s = end_s - now()
        if left_s < LEAST_S:
            left_out = ", ".join(other.reason for other in asked[place:])
            yield Said(f"no time is left for {left_out}: ./fairground run --resume {shlex.quote(run.id)} --why 3m")
            return
        share_s = left_s / max(1, min(len(asked) - place, int(left_s // EACH_S)))
        one = replace(one, budget_s=share_s - SETUP_S)
        yield Trying(one, place + 1, len(asked))
        try:
            yield from _experiment(one, inputs)
        except MachineError:
            raise
        except LabError as error:
            yield Said(f"{one.reason} stays a suspicion: {error.message}")


def _experiment(asked: WhyAsked, inputs: Inputs) -> Iterator[Event]:
    words = ["why", asked.run, *asked.cell.id.split(), "--reason", asked.reason, "--budget", f"{asked.budget_s:.0f}s"]
    for event in why.try_reason(replace(inputs, command="./fairground " + shlex.join(words)), asked):
        if isinstance(event, Finished):
            pages.write(event.record)
            yield TriedReason(event.record)


def _doubt(run: Run, reason: str, cells: dict[Cell, list[Trial]], path: str | None) -> Doubt:
    """The experiment on the clearest cell that has one; or what keeps that on the clearest cell of all."""
    trials, problems = sum(map(len, cells.values())), list[str]()
    for cell in sorted(cells, key=lambda one: _unclear(run, one, reason, cells[one])):
        try:
            asked = question.of_cell(run, cell, reason, EACH_S)
        except LabError as error:
            problems.append(error.message)
            continue
        lacking = _lacking(asked, path)
        if lacking is None:
            return Doubt(reason, trials, asked)
        problems.append(lacking)
    return Doubt(reason, trials, None, problems[0])


def _unclear(run: Run, cell: Cell, reason: str, named: Sequence[Trial]) -> tuple[float, float]:
    """Rate how unclear a reason is on a cell: the share of trials that name another or none, then other reasons beside it."""
    others = [one.id for trial in named for one in trial.findings if one.id in REASONS and one.id != reason]
    return 1 - len(named) / len(question.numbered_trials(run, cell)), len(others) / len(named)


def _lacking(asked: WhyAsked, path: str | None) -> str | None:
    """Name what an experiment's changes need and this machine lacks; None: nothing."""
    found = (topology.lacking(one.cell.topology, path) for one in asked.experiment.changes)
    return next((one[0] for one in found if one is not None), None)
