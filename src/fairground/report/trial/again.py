"""The command that measures a trial's cell again, with the same stream of requests."""

from __future__ import annotations

import shlex

from fairground.inputs import options, seating
from fairground.model import Trial


def command(trial: Trial) -> str:
    """`./fairground run --stack … --workload … --blocks 1 --stream …`, spelled as the table of options has it.

    Seats are told as the pins that came of them, so that another machine, or a later rule, gives nobody other cores.
    """
    cell = trial.cell
    words = ["run", "--stack", cell.stack, "--workload", cell.workload]
    settings = (*options.SETTINGS, options.VERSION, options.SQL_BEFORE, options.PLACE)
    for some, where in (
        (options.LOADS, cell.load),
        (options.HOPS, cell.topology),
        (settings, cell.settings),
    ):
        words += [word for option in some for word in option.words_of(where)]
    once = ["--blocks", "1", "--stream", str(trial.seed)]
    return "./fairground " + shlex.join([*words, options.SEATS.spelling, seating.SHARED, *once])
