"""Rounds of two arms: both are started afresh, loaded in turns for a few pairs of windows, stopped and audited."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from fairground.judge import answers
from fairground.measure.arm import Arm, ArmWindow, StackArm, seed_of_start
from fairground.measure.bench import Bench
from fairground.measure.schedule import TURN_S, InTurns
from fairground.measure.session import ArmSession
from fairground.model import Cell, CellSettings, Load, Stack, Topology, Workload
from fairground.model.contract import SqlFile
from fairground.model.pair import Round, WindowPair


@dataclass(frozen=True)
class Side:
    """A stack under a label of its own; `planted` is a slowdown added on purpose, as a share of the server's CPU.

    `sql_before` is run on its fresh data alone.
    """

    label: str
    stack: Stack
    planted: float = 0.0
    sql_before: SqlFile | None = None


@dataclass(frozen=True)
class RoundsEffort:
    """The question that all rounds share, and how it is asked. `turn_s` is the shortest turn, `pairs` are those of a round."""

    workload: Workload
    load: Load
    settings: CellSettings
    seed: int = 1
    turn_s: float = TURN_S
    pairs: int = 5
    topology: Topology = Topology()


def one_round(bench: Bench, sides: tuple[Side, Side], effort: RoundsEffort, folder: Path, number: int) -> Round:
    """One start of both arms: the round of a number, from 1. Who starts first and who measures first takes turns.

    What an arm does wrong is among its findings; the pairs until then are kept.
    """
    return round_of(bench, tuple(_arm(side, effort, number) for side in sides), effort, folder, number)


def round_of(bench: Bench, arms: Sequence[Arm], effort: RoundsEffort, folder: Path, number: int) -> Round:
    """Load two arms in turns, as in `one_round`, whatever kind they are of."""
    began = time.monotonic()
    order = arms if number % 2 else arms[::-1]
    labels = (arms[0].label, arms[1].label)
    settled = partial(answers.has_settled, rules=bench.thresholds.rules)
    schedule = InTurns(labels, effort.load, effort.pairs, settled, effort.turn_s, first=number)
    pairs: list[WindowPair] = []
    with ArmSession(bench, order, folder) as session:
        windows: dict[int, dict[str, ArmWindow]] = {}
        for window in session.play(schedule):
            both = windows.setdefault(window.number, {})
            both[window.arm] = window
            if len(both) == len(labels) and not window.warm_up:
                pairs.append(_pair(number, len(pairs) + 1, both, labels))
    findings = {label: ended.findings for label, ended in session.ended.items()}
    believed = tuple(replace(pair, void=pair.void or session.void) for pair in pairs)
    return Round(number, believed, time.monotonic() - began, findings)


def _arm(side: Side, effort: RoundsEffort, number: int) -> StackArm:
    settings = replace(effort.settings, sql_before=side.sql_before)
    cell = Cell(side.stack.id, effort.workload.id, effort.topology, effort.load, settings)
    return StackArm(side.label, cell, effort.workload, seed_of_start(effort.seed, number), side.stack, side.planted)


def _pair(round_: int, number: int, both: Mapping[str, ArmWindow], labels: tuple[str, str]) -> WindowPair:
    """Two windows of the same turns; the first label of `both` had the first turn."""
    a, b = (both[label] for label in labels)
    return WindowPair(round_, number, next(iter(both)), a.tally, b.tally, a.void)
