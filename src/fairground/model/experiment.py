"""An experiment on a cell: what a reason predicts, what is changed to see it, and what was measured. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from fairground.model.plan import Cell
from fairground.model.result import Finding
from fairground.model.window import WindowTally

AS_IT_WAS = "as it was"
"""The label of the arm that nothing is changed on."""


class Direction(StrEnum):
    """The way in which goodput goes with the change if the reason is right."""

    MORE = "more"
    LESS = "less"


@dataclass(frozen=True)
class ArmChange:
    """An arm on which one thing differs from the cell. `words` say it, and begin with `with` or `without`.

    `statements` are carried out in the arm's own database before its server starts; `{database}` in them is its name.
    `planted` is a slowdown added on purpose, as a share of the server's CPU. It is spent on the processors of `slowed`.
    """

    label: str
    words: str
    cell: Cell
    statements: tuple[str, ...] = ()
    planted: float = 0.0
    slowed: str = "server"


@dataclass(frozen=True)
class Experiment:
    """A test of a reason: arms that differ in what it names, and where their goodput goes if it is right.

    `refutes`: whether the reason is wrong where goodput stays as it was; else it is only not confirmed.
    """

    direction: Direction
    changes: tuple[ArmChange, ...]
    refutes: bool = True


@dataclass(frozen=True)
class WhyAsked:
    """One reason of one cell of the run `run`, and the experiment on it.

    The cell's trials said the reason as `sentence`.
    Each start of the arms has `windows` windows, in turns of `turn_s` at the least.
    """

    run: str
    cell: Cell
    reason: str
    sentence: str
    experiment: Experiment
    seed: int
    budget_s: float
    windows: int
    turn_s: float


@dataclass(frozen=True)
class Start:
    """One start of all arms: the unit of evidence. Windows and findings by the arm's label; a window is one of turns.

    `void` says what of the machine or of ours spoiled it; then it is kept, and counts for nothing.
    """

    number: int
    windows: Mapping[str, tuple[WindowTally, ...]]
    took_s: float
    findings: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)
    void: str | None = None
