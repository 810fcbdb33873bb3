"""`run --why`: after a run, the experiments on what limited it, within a time: the reason that most trials named first."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from fairground import topology
from fairground.inputs import numbers
from fairground.lab import pages, why
from fairground.lab.events import Event, Finished, Said, TriedReason, Trying
from fairground.lab.preparation import Inputs
from fairground.model import LabError, MachineError, Run
from fairground.model.experiment import WhyAsked
from fairground.model.resume import database_of, options_again_of
from fairground.report.run.why import TriedBy
from fairground.run.doubts import EACH_S, doubts
from fairground.stats.effects import Outcome

LEAST_S = 45.0
"""The least time that three starts of an experiment fit into."""
SETUP_S = 6.0
"""Seconds of an experiment that the database and its data take."""


def budget_s(typed: str | None) -> float | None:
    """The time of `--why` in seconds; None where it is not said. LabError where no experiment fits into it."""
    found = None if typed is None else numbers.seconds("--why", typed)
    if found is not None and found < LEAST_S:
        raise LabError(f"`--why {typed}` is too short: an experiment takes {LEAST_S:.0f} s at the least", "write --why 3m")
    return found


def try_reasons(
    run: Run, before: TriedBy, inputs: Inputs, within_s: float, now: Callable[[], float] = time.monotonic
) -> Iterator[Event]:
    """Make the experiments on a run's reasons as long as the time lasts. One that cannot be made is said, and the rest goes on.

    `before`: what was found already. `now`: a clock of seconds.
    """
    end_s, path = now() + within_s, inputs.places.environ.get("PATH")
    decided = {reason for (_, reason), one in before.items() if one.outcome is not Outcome.OPEN}
    found = doubts(run, decided, lambda wanted: topology.lacking(wanted, path))
    yield from (Said(f"{one.reason} stays a suspicion: {one.untested}") for one in found if one.asked is None)
    asked = [one.asked for one in found if one.asked is not None]
    for place, one in enumerate(asked):
        left_s = end_s - now()
        if left_s < LEAST_S:
            left_out = ", ".join(other.reason for other in asked[place:])
            again = f"./fairground run --resume {shlex.quote(run.id)} --why 3m{options_again_of(inputs.command)}"
            yield Said(f"no time is left for {left_out}: {again}")
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
    command = f"./fairground {shlex.join(words)}{database_of(inputs.command)}"
    for event in why.try_reason(replace(inputs, command=command), asked):
        if isinstance(event, Finished):
            pages.write(event.record)
            yield TriedReason(event.record)
