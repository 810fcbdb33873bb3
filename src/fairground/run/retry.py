"""The pause before a void trial is repeated. Pure.

Others' work on a machine comes in phases of seconds to minutes: a trial that such work made void is not repeated at once, for it
would fall into the same phase.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairground.judge import validity
from fairground.model import Trial, Verdict

PAUSES_S = (10, 30)
"""Before the second and the third attempt."""
OF_THE_MACHINE = validity.OF_THE_MACHINE


def pause_s(trial: Trial) -> int:
    """Seconds between a trial and its repetition: none where it is not repeated, or void by its own or the instrument's fault."""
    if trial.verdict is not Verdict.VOID or trial.attempt > len(PAUSES_S):
        return 0
    return PAUSES_S[trial.attempt - 1] if validity.is_spoiled(trial.findings) else 0


def paused_s(trials: Sequence[Trial]) -> int:
    """Seconds that a run has waited: the pauses before those attempts that took place. A round waits once for all."""
    made = {(trial.number, trial.attempt) for trial in trials}
    waited: dict[tuple[int, int, int], int] = {}
    for trial in trials:
        if (trial.number, trial.attempt + 1) in made:
            key = (trial.round, 0 if trial.round else trial.number, trial.attempt)
            waited[key] = max(waited.get(key, 0), pause_s(trial))
    return sum(waited.values())
