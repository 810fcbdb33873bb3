"""Starts of an experiment: the cell as it was and its changed copies, up at once and loaded in turns, audited as ever."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from fairground.judge import answers
from fairground.measure.arm import ArmWindow, StackArm, seed_of_start
from fairground.measure.bench import Bench
from fairground.measure.schedule import InTurns
from fairground.measure.session import ArmSession
from fairground.model import Stack, Workload
from fairground.model.experiment import AS_IT_WAS, ArmChange, Start, WhyAsked


def one_start(bench: Bench, asked: WhyAsked, stack: Stack, workloads: Mapping[str, Workload], folder: Path, number: int) -> Start:
    """The start of a number, from 1. Who starts and who is loaded first takes turns. `workloads`: each arm's, by its label.

    What an arm does wrong is among its findings; what was measured until then is kept. A start of which the machine left no sound
    window on some arm is void.
    """
    began = time.monotonic()
    changes = (ArmChange(AS_IT_WAS, "", asked.cell), *asked.experiment.changes)
    turned = number % len(changes)
    arms = [_arm(change, asked, stack, workloads, number) for change in (*changes[turned:], *changes[:turned])]
    settled = partial(answers.has_settled, rules=bench.thresholds.rules)
    loads = {change.label: change.cell.load for change in changes}
    schedule = InTurns(tuple(loads), asked.cell.load, asked.windows, settled, asked.turn_s, number, tuple(loads.items()))
    made: dict[str, list[ArmWindow]] = defaultdict(list)
    spoiled = list[str]()
    with ArmSession(bench, arms, folder) as session:
        for window in session.play(schedule):
            if window.warm_up:
                continue
            if window.void is None:
                made[window.arm].append(window)
            else:
                spoiled.append(window.void)
    windows = {label: tuple(window.tally for window in made[label]) for label in loads}
    findings = {label: ended.findings for label, ended in session.ended.items()}
    without = [label for label in loads if not made[label]]
    void = session.void or (spoiled[0] if spoiled and without else None)
    return Start(number, windows, time.monotonic() - began, findings, void)


def _arm(change: ArmChange, asked: WhyAsked, stack: Stack, workloads: Mapping[str, Workload], number: int) -> StackArm:
    seed = seed_of_start(asked.seed, number)
    return StackArm(
        change.label, change.cell, workloads[change.label], seed, stack, change.planted, change.statements, change.slowed
    )
