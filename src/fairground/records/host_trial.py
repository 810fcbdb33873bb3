"""A trial that a host made, as a run keeps it: in a folder of its own naming, with what is left of its server's words."""

from __future__ import annotations

from dataclasses import replace

from fairground import records
from fairground.model import Finding, Machine, PlanSlot, Run, Trial, foreign
from fairground.records import journal

ENDED = ("ready", "server-exit")
"""Findings of a server that does not run."""


def take(known: Run, slot: PlanSlot, trial: Trial, machine: Machine) -> Trial:
    """A host's trial with a folder of this run's. The end of what its server wrote is kept there: the rest stays on the host."""
    folder = records.trial_folder(known.folder, slot, trial.attempt)
    if trial.stderr_tail:
        journal.put(folder, "server.log", f"{trial.stderr_tail}\n")
    return replace(
        trial,
        machine=machine.hostname_hash,
        folder=str(folder.relative_to(known.folder)),
        findings=tuple(_with_last_words(one, trial.stderr_tail) for one in trial.findings),
    )


def _with_last_words(finding: Finding, tail: str) -> Finding:
    """A finding that a server ended, or was never ready, with the last line that it wrote."""
    said = foreign.line(next((line for line in reversed(tail.splitlines()) if line.strip()), ""), foreign.SENTENCE_CHARACTERS)
    if finding.id not in ENDED or not said:
        return finding
    return replace(finding, sentence=f"{finding.sentence}; its last words: {said}")
