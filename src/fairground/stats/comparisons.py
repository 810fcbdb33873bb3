"""A run's stacks held against its anchor: ratios paired by block, what the controls say of them, groups and words. Pure.

The controls decide how much a difference has to be. The anchor measured twice (A/A) gives the *noise floor*: what is nearer to
1 than the far end of that interval cannot be told from nothing. An A/A pair that is itself called different withdraws the
comparisons of its heat. The anchor with a planted slowdown shows whether the run can see what is there.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from fairground.model import Cell, Control, Plan, Topology, Trial
from fairground.stats import differences, intervals, moderated, modes, precision
from fairground.stats.differences import PRACTICAL, Difference, Levels, Standings, Word
from fairground.stats.moderated import Prior
from fairground.stats.modes import StartModes


class Quantity(StrEnum):
    """What is compared. Of CPU less is better: its ratios are turned over, so that above 1 is better in both."""

    GOODPUT = "goodput"
    CPU = "server CPU"


Priors = Mapping[tuple[Cell, Quantity], Prior | None]
"""By field (a cell without its stack) and quantity: what the spreads of its comparisons have in common."""


@dataclass(frozen=True)
class Held:
    """One stack held against the anchor: its ratios by block, above 1 where it is better, and what they say.

    `more_blocks`: about so many more would decide what is undecided; None where it is decided, and where no number is in sight.
    """

    stack: str
    ratios: tuple[float, ...]
    difference: Difference
    more_blocks: int | None = None


@dataclass(frozen=True)
class Comparison:
    """One quantity of one field. `rows` lack the anchor; groups and ranks hold it, and are empty where nothing may be said."""

    quantity: Quantity
    anchor: str
    rows: tuple[Held, ...]
    groups: tuple[tuple[str, ...], ...]
    ranks: Mapping[str, tuple[int, int]]
    floor: float | None
    """The noise between identical stacks, 0.02 is 2 %; None: no control measured it."""
    withdrawn: bool
    block_s: float | None = None
    """Seconds that a block of these stacks took; None: not known."""
    modes: tuple[StartModes, ...] = ()
    """The stacks whose starts are of two groups: their means are of neither."""
    decided: int = 0
    """How many pairs of stacks are told apart or equivalent, …"""
    pairs: int = 0
    """… of so many, held to their number."""

    def of(self, stack: str) -> Held | None:
        """What is said of a stack; None for the anchor and for one with fewer than two blocks in common with it."""
        return next((row for row in self.rows if row.stack == stack), None)

    @property
    def detectable(self) -> float | None:
        """The smallest change that every comparison would have shown in 8 of 10 runs; None where none is known."""
        known = [row.difference.detectable for row in self.rows if row.difference.detectable is not None]
        return max(known, default=None)


@dataclass(frozen=True)
class Reading:
    """A control held against the anchor in one quantity; `sure` is an A/A pair's interval, simultaneous over those of the run."""

    heat: Cell
    stack: str
    control: Control
    planted: float
    quantity: Quantity
    ratios: tuple[float, ...]
    difference: Difference
    sure: intervals.Interval | None
    common: Prior | None = None

    @property
    def floor(self) -> float | None:
        """What identical stacks may differ by, where it is an A/A pair."""
        return differences.noise_floor(self.ratios, common=self.common) if self.control is Control.AGAIN else None

    @property
    def failed(self) -> bool:
        """Identical stacks were told apart: the interval excludes 1, and its middle is beyond what would be equivalent."""
        interval = self.sure
        if self.control is not Control.AGAIN or interval is None:
            return False
        return (interval.low > 1 or interval.high < 1) and abs(math.log(interval.middle)) > math.log1p(PRACTICAL)

    @property
    def found(self) -> bool:
        """The planted slowdown was called slower (dearer)."""
        return self.control is Control.SLOWED and self.difference.word is Word.SLOWER


def value_of(trial: Trial, quantity: Quantity, in_turns: bool = False) -> float | None:
    """A trial's value, more is better: of its whole window, or of its turns if it has some. None: none above zero."""
    if trial.goodput_per_s is None:
        return None
    turns = trial.in_turns if in_turns else None
    if quantity is Quantity.GOODPUT:
        return (trial.goodput_per_s if turns is None else turns.rate_per_s) or None
    cost = trial.cpu_us_per_answer("server") if turns is None else turns.cpu_us_per_answer
    return 1 / cost if cost else None


def blocks_in_turns(trials: Iterable[Trial]) -> frozenset[int]:
    """The blocks in which all trials that have a number took turns; one that was tried again by itself took none."""
    numbered = [trial for trial in trials if trial.goodput_per_s is not None]
    return frozenset(trial.block for trial in numbered) - {trial.block for trial in numbered if not trial.turns}


def levels(
    trials: Iterable[Trial], quantity: Quantity, anchor: str | None = None, by_turns: Collection[int] | None = None
) -> Levels:
    """The values of each stack by block; several of one block are averaged (geometric).

    A block of several rounds holds the anchor in each. What another stack has there is brought to the block's mean of the anchor,
    so that its ratio to the anchor is that of its own round.

    Values come from turns in a block whose trials all took some, and from whole windows in any other: turns give less, so one is
    never held against the other. `by_turns` names the blocks of the first kind; None: they are found in the trials.
    """
    trials = list(trials)
    turned = blocks_in_turns(trials) if by_turns is None else by_turns
    values = [(trial, value_of(trial, quantity, trial.block in turned)) for trial in trials]
    known = [(trial, value) for trial, value in values if value is not None]
    paces = _paces([(trial, value) for trial, value in known if trial.cell.stack == anchor])
    found: dict[str, dict[int, list[float]]] = {}
    for trial, value in known:
        pace = 1.0 if trial.cell.stack == anchor else paces.get((trial.block, trial.round), 1.0)
        found.setdefault(trial.cell.stack, {}).setdefault(trial.block, []).append(value / pace)
    return {
        stack: {block: intervals.geometric_mean(values) for block, values in sorted(blocks.items())}
        for stack, blocks in found.items()
    }


def _paces(anchors: Sequence[tuple[Trial, float]]) -> dict[tuple[int, int], float]:
    """(block, round) → the anchor's value in the round over its mean in the block."""
    blocks: dict[int, list[float]] = {}
    for trial, value in anchors:
        blocks.setdefault(trial.block, []).append(value)
    return {(trial.block, trial.round): value / intervals.geometric_mean(blocks[trial.block]) for trial, value in anchors}


def heat_of(cell: Cell) -> Cell:
    """What the cells of one heat have in common: a cell without stack and topology."""
    return replace(cell, stack="", topology=Topology())


def readings(
    results: Sequence[Trial], controls: Sequence[Trial], plan: Plan, priors: Priors | None = None
) -> tuple[Reading, ...]:
    """All controls of a run held against their anchors' trials of the same cell and block, in the plan's order of heats."""
    kinds = {(slot.cell, slot.control): slot.planted for slot in plan.slots if slot.control is not None}
    found = []
    for (cell, control), planted in kinds.items():
        anchors = [trial for trial in results if trial.cell == cell]
        ours = [trial for trial in controls if (trial.cell, trial.control) == (cell, control)]
        for quantity in Quantity:
            beside = _beside(ours, anchors)
            turned = blocks_in_turns([*ours, *beside])
            one, other = (levels(some, quantity, by_turns=turned).get(cell.stack, {}) for some in (ours, beside))
            assert control is not None
            common = (priors or {}).get((replace(cell, stack=""), quantity))
            alone = differences.of_pairs(ratios := tuple(differences.paired(one, other)), common=common)
            found.append(Reading(heat_of(cell), cell.stack, control, planted, quantity, ratios, alone, None, common))
    return tuple(_held(reading, found) for reading in found)


def _beside(ours: Sequence[Trial], anchors: Sequence[Trial]) -> list[Trial]:
    """The anchor's trials of the rounds that hold the control; all of a block's where it was measured by itself."""
    rounds = {(trial.block, trial.round) for trial in ours}
    return [trial for trial in anchors if (trial.block, trial.round) in rounds or (trial.block, 0) in rounds]


def _held(reading: Reading, every: Sequence[Reading]) -> Reading:
    """An A/A pair is held to the number of A/A pairs of the run, a planted slowdown to the noise that its A/A pair shows."""
    again = [one for one in every if one.control is Control.AGAIN and one.floor is not None]
    if reading.control is Control.AGAIN:
        confidence = 1 - 0.05 / max(1, len(again))
        return replace(reading, sure=differences.of_pairs(reading.ratios, confidence=confidence, common=reading.common).ratio)
    floors = [one.floor for one in again if (one.heat, one.quantity) == (reading.heat, reading.quantity)]
    floor = (floors[0] if floors else None) or 0.0
    return replace(reading, difference=differences.of_pairs(reading.ratios, floor, common=reading.common))


def compare(
    quantity: Quantity,
    held: Levels,
    anchors: Sequence[str],
    floor: float | None,
    withdrawn: bool,
    common: Prior | None = None,
) -> Comparison | None:
    """Stacks held against the first of `anchors` that has a number; None where no two stacks share two blocks.

    The rows are held to their number; with `withdrawn` all are inconclusive, and there are neither groups nor ranks.
    """
    anchor = _anchor(held, anchors)
    known = {} if anchor is None else _against(held, anchor)
    if anchor is None or not known:
        return None
    words = differences.table(known, floor or 0.0, common=common)
    if withdrawn:
        words = {stack: replace(one, word=Word.INCONCLUSIVE) for stack, one in words.items()}
    open_rows = [] if withdrawn else [stack for stack, one in words.items() if one.word is Word.INCONCLUSIVE]
    more = {stack: precision.more_to_decide(known[stack], PRACTICAL, common) for stack in open_rows}
    rows = tuple(Held(stack, tuple(known[stack]), words[stack], more.get(stack)) for stack in known)
    ordered = tuple(sorted(rows, key=lambda row: -_middle(row.difference)))
    several = {stack: values for stack, values in held.items() if len(values) > 1}
    stand = Standings((), {}) if withdrawn else differences.standings(several, floor or 0.0, common=common)
    starts = modes.of_starts(several)
    found = Comparison(quantity, anchor, ordered, stand.groups, stand.ranks, floor, withdrawn, modes=starts)
    return replace(found, decided=stand.decided, pairs=stand.pairs)


def _anchor(held: Levels, anchors: Sequence[str]) -> str | None:
    return next((name for name in (*anchors, *sorted(held)) if len(held.get(name, {})) > 1), None)


def _against(held: Levels, anchor: str) -> dict[str, list[float]]:
    """The ratios of each stack that shares two blocks with the anchor."""
    ratios = {stack: differences.paired(values, held[anchor]) for stack, values in held.items() if stack != anchor}
    return {stack: pairs for stack, pairs in ratios.items() if len(pairs) > 1}


def _middle(difference: Difference) -> float:
    return difference.ratio.middle if difference.ratio is not None else 0.0


@dataclass(frozen=True)
class Judge:
    """Compares the fields of a run: the same workload, topology, load and settings; only the stack differs.

    `priors`: what the spreads of a field's comparisons have in common.
    """

    plan: Plan
    readings: tuple[Reading, ...]
    priors: Priors

    @classmethod
    def of(cls, plan: Plan, results: Sequence[Trial], controls: Sequence[Trial]) -> Judge:
        """The judge of a run, with what its controls say."""
        fields = fields_of(results)
        priors = {key: prior for quantity in Quantity for key, prior in _priors(plan, fields, quantity).items()}
        return cls(plan, readings(results, controls, plan, priors), priors)

    def anchors(self, heat: Cell) -> tuple[str, ...]:
        """The stacks that may be the anchor of a heat, first choice first; chosen by the plan, never by a number."""
        return _anchors(self.plan, heat)

    def field(self, trials: Sequence[Trial], quantity: Quantity) -> Comparison | None:
        """The comparison of one field's results; None where they carry none."""
        if not trials:
            return None
        heat = heat_of(trials[0].cell)
        again = self._of(heat, quantity, Control.AGAIN)
        floor, withdrawn = (None, False) if again is None else (again.floor, again.failed)
        held = _held_levels(trials, quantity, anchors := self.anchors(heat))
        found = compare(quantity, held, anchors, floor, withdrawn, self.prior(trials, quantity))
        blocks = len({trial.block for trial in trials})
        return None if found is None else replace(found, block_s=math.fsum(trial.duration_s for trial in trials) / blocks)

    def prior(self, trials: Sequence[Trial], quantity: Quantity) -> Prior | None:
        """What the spreads of one field's comparisons have in common; None where too little is known."""
        return self.priors.get((_field_of(trials), quantity))

    def _of(self, heat: Cell, quantity: Quantity, control: Control) -> Reading | None:
        ours = (one for one in self.readings if (one.heat, one.quantity, one.control) == (heat, quantity, control))
        return next(ours, None)


def _anchors(plan: Plan, heat: Cell) -> tuple[str, ...]:
    controlled = [slot.cell.stack for slot in plan.slots if slot.control is not None and heat_of(slot.cell) == heat]
    return (*controlled[:1], *([plan.anchor] if plan.anchor is not None else []))


def _held_levels(trials: Sequence[Trial], quantity: Quantity, anchors: Sequence[str]) -> Levels:
    here = {trial.cell.stack for trial in trials}
    return levels(trials, quantity, next((name for name in anchors if name in here), None))


def _priors(plan: Plan, fields: Sequence[Sequence[Trial]], quantity: Quantity) -> Priors:
    """What the spreads of the stacks' ratios to the anchor have in common, by field."""
    rows = [_log_ratios(plan, trials, quantity) for trials in fields]
    found = moderated.priors(rows)
    return {(_field_of(trials), quantity): prior for trials, prior in zip(fields, found, strict=True)}


def _log_ratios(plan: Plan, trials: Sequence[Trial], quantity: Quantity) -> list[list[float]]:
    held = _held_levels(trials, quantity, anchors := _anchors(plan, heat_of(trials[0].cell)))
    anchor = _anchor(held, anchors)
    against = {} if anchor is None else _against(held, anchor)
    return [[math.log(ratio) for ratio in ratios] for ratios in against.values()]


def _field_of(trials: Sequence[Trial]) -> Cell:
    return replace(trials[0].cell, stack="")


def fields_of(trials: Iterable[Trial]) -> list[list[Trial]]:
    """Trials by field, in the order of their first trial."""
    grouped: dict[Cell, list[Trial]] = {}
    for trial in trials:
        grouped.setdefault(replace(trial.cell, stack=""), []).append(trial)
    return list(grouped.values())
