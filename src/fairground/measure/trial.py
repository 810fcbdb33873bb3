"""Trials: each is one measurement of one cell, from fresh data to an audited result. Those of a round are one session.

A trial by itself is a session of one arm and one window. In a round all cells are up at once, so that their numbers come from the
same seconds of the machine.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairground.judge import answers, validity
from fairground.measure.arm import ArmWindow, Ended, StackArm
from fairground.measure.bench import Bench
from fairground.measure.schedule import SideBySide, whole
from fairground.measure.session import ArmSession
from fairground.model import Doing, Finding, PlanSlot, Progress, Severity, Stack, Trial, Workload


@dataclass(frozen=True)
class Attempt:
    """A slot that is to be measured now: for which time, with which stack, and where its raw data goes.

    `folder_name` is how the run names that folder.
    """

    slot: PlanSlot
    number: int
    stack: Stack
    folder: Path
    folder_name: str

    @property
    def label(self) -> str:
        """The label, which no other slot of its round has."""
        cell, control = self.slot.cell, self.slot.control
        topology = "" if cell.topology.id == "direct" else cell.topology.id
        return " ".join(part for part in (cell.stack, topology, control) if part)


def run(bench: Bench, slot: PlanSlot, attempt: int, stack: Stack, workload: Workload, folder: Path, folder_name: str) -> Trial:
    """Measure one slot of a plan by itself. `folder` is where raw data goes, `folder_name` how the run names it."""
    return together(bench, [Attempt(slot, attempt, stack, folder, folder_name)], workload)[0]


def together(bench: Bench, attempts: Sequence[Attempt], workload: Workload) -> tuple[Trial, ...]:
    """Measure the slots of one round, which share workload, load and settings; their trials, in the same order.

    All are up at once. Each is loaded for a whole window, and then all in turns, as long as the slots say. A single one has its
    whole window alone. Events size windows as far as the slots say.
    """
    started_unix_s, began = time.time(), time.monotonic()
    by_label = {attempt.label: attempt for attempt in attempts}
    for attempt in attempts:
        attempt.folder.mkdir(parents=True, exist_ok=True)

    def on(label: str, now: Doing) -> None:
        about = by_label[label]
        bench.say(Progress(**vars(now), slot=about.slot, attempt=about.number))

    arms = [
        StackArm(label, one.slot.cell, workload, one.slot.seed, one.stack, one.slot.planted) for label, one in by_label.items()
    ]
    first = attempts[0].slot
    load, seed, most_s = first.cell.load, first.seed, first.window_most_s
    schedule = (
        SideBySide(tuple(by_label), load, seed, first=first.block, most_s=most_s, turns_s=first.turns_s)
        if arms[1:]
        else whole(arms[0].label, load, seed, most_s)
    )
    with ArmSession(bench, arms, {label: one.folder for label, one in by_label.items()}, on) as session:
        for _ in session.play(schedule):
            pass
    times = started_unix_s, (time.monotonic() - began) / len(attempts)
    return tuple(_trial(session.ended[label], one, times) for label, one in by_label.items())


def _trial(ended: Ended, of: Attempt, times: tuple[float, float]) -> Trial:
    """An arm's end as the trial of a slot; `times`: when the round began, and the trial's share of its seconds."""
    window = ended.windows[0] if ended.windows else None
    result = window.result if window is not None and window.result is not None else ended.result
    turns = [one for one in ended.windows if one.result is None and not one.warm_up]
    findings = (*(validity.beside_turns(ended.findings) if turns else ended.findings), *_spoiled(turns))
    return Trial(
        number=of.slot.number,
        block=of.slot.block,
        attempt=of.number,
        cell=of.slot.cell,
        seed=of.slot.seed,
        started_unix_s=times[0],
        duration_s=times[1],
        phases_s=ended.phases_s,
        result=result,
        roles=window.roles if window is not None else {},
        host=window.host if window is not None else None,
        database=ended.database,
        audit=ended.audit,
        findings=findings,
        verdict=answers.verdict(findings),
        diagnosis=ended.diagnosis,
        stderr_tail=ended.stderr_tail,
        folder=of.folder_name,
        control=of.slot.control,
        round=of.slot.round,
        turns=tuple(one.tally for one in turns if one.void is None),
        recovery=ended.recovery,
        sizing=ended.sizing,
    )


def _spoiled(turns: Sequence[ArmWindow]) -> tuple[Finding, ...]:
    """Find what of the machine spoiled all windows in turns: the trial is void then. One that is sound is enough for a number."""
    if not turns or any(one.void is None for one in turns):
        return ()
    return tuple(finding for finding in turns[0].machine if finding.severity is Severity.VOID)
