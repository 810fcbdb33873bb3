"""Hold a run's stacks against its anchor: their ratios, what the controls say of them, groups and words. Pure.

The controls decide how much a difference has to be. The anchor measured twice (A/A) gives the *noise floor*: what is nearer to
1 than the far end of that interval cannot be told from nothing. An A/A pair that is itself called different withdraws the
comparisons of its heat. The anchor with a planted slowdown shows whether the run can see what is there.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from fairground.model import Cell, Control, Plan, Topology, Trial
from fairground.model.memory import RememberedSpread, SeenSpread
from fairground.stats import differences, fit, intervals, memory, modes, precision
from fairground.stats.differences import CALLED, PRACTICAL, Difference, DifferenceWord, Standings
from fairground.stats.fit import Estimate, Fit, FitPoint
from fairground.stats.intervals import Interval
from fairground.stats.memory import Known, MemoryReading
from fairground.stats.modes import StartModes


class Quantity(StrEnum):
    """The quantity that is compared. Of CPU less is better: its ratios are turned over, so that above 1 is better in both."""

    GOODPUT = "goodput"
    CPU = "server CPU"


Arm = tuple[str, Control | None]
"""A stack among the results of a field, or as one of its controls."""


@dataclass(frozen=True)
class Measured:
    """One quantity of one field: in turns, and in whole windows. Turns give less, so one is never held against the other.

    A control and its anchor are held against each other in turns, or in whole windows where one has too few.
    Of stacks `alike` says which windows all are held against each other in.
    """

    turns: Fit[Arm]
    whole: Fit[Arm]

    def against(self, one: Arm, other: Arm) -> Estimate | None:
        """`one` over `other`; None where they cannot be held against each other."""
        found = self.turns.against(one, other)
        return self.whole.against(one, other) if found is None else found

    def ratios(self, one: Arm, other: Arm) -> tuple[float, ...]:
        """The values of `one` in its blocks over the level of `other`. They lack what the machine did to all of a round."""
        levels = (self.whole if self.turns.against(one, other) is None else self.turns).levels
        level = statistics.fmean(levels[other].values())
        return tuple(math.exp(log - level) for log in levels[one].values())

    @property
    def alike(self) -> Measured:
        """The same in one kind of window: in turns where all stacks have enough of them, else in whole windows.

        So the ratios of three stacks agree with each other, whichever two are held against each other.
        """
        several = [arm for arm, blocks in self.whole.levels.items() if arm[1] is None and len(blocks) > 1]
        joined = all(self.turns.against(arm, several[0]) is not None for arm in several)
        chosen = self.turns if joined and several else self.whole
        return Measured(turns=chosen, whole=chosen)

    @property
    def levels(self) -> Mapping[str, Mapping[int, float]]:
        """The logarithms of each stack by block, of those that have several."""
        found = {**self.whole.levels, **{name: some for name, some in self.turns.levels.items() if len(some) > 1}}
        return {name: blocks for (name, control), blocks in found.items() if control is None and len(blocks) > 1}


@dataclass(frozen=True)
class HeldStack:
    """One stack held against the anchor: what it gave in each block over the anchor's level, above 1 where it is better.

    `more_blocks`: about so many more would decide what is undecided; None where it is decided, and where no number is in sight.
    """

    stack: str
    ratios: tuple[float, ...]
    estimate: Estimate
    difference: Difference
    more_blocks: int | None = None


@dataclass(frozen=True)
class Comparison:
    """One quantity of one field. `rows` lack the anchor; groups and ranks hold it, and are empty where nothing may be said."""

    quantity: Quantity
    anchor: str
    rows: tuple[HeldStack, ...]
    groups: tuple[tuple[str, ...], ...]
    ranks: Mapping[str, tuple[int, int]]
    floor: float | None
    """The noise between identical stacks, 0.02 is 2 %; None: no control measured it."""
    withdrawn: bool
    block_s: float | None = None
    """Seconds that a block of these stacks took; None: not known."""
    modes: tuple[StartModes, ...] = ()
    """The stacks whose starts are of two groups: their means are of neither."""
    words: Mapping[tuple[str, str], Difference] = field(default_factory=dict)
    """What is said of each pair of stacks, the first over the second, held to their number; none where it is withdrawn."""
    estimates: tuple[Estimate, ...] = ()
    """Of all pairs of stacks that can be held against each other."""

    @property
    def pairs(self) -> int:
        """The number of pairs that are tested together."""
        return len(self.words)

    @property
    def decided(self) -> int:
        """The number of them that are told apart or equivalent."""
        return sum(row.word is not DifferenceWord.INCONCLUSIVE for row in self.words.values())

    @property
    def gaps(self) -> tuple[tuple[Interval, str, str], ...]:
        """The ratios of all pairs that are told apart, with the better stack first, widest first."""
        called = [(one, other, row) for (one, other), row in self.words.items() if row.word in CALLED and row.ratio is not None]
        found = [
            (row.ratio, one, other) if row.word is DifferenceWord.FASTER else (row.ratio.inverse(), other, one)
            for one, other, row in called
            if row.ratio is not None
        ]
        return tuple(sorted(found, key=lambda gap: -gap[0].middle))

    def of(self, stack: str) -> HeldStack | None:
        """The row of a stack; None for the anchor, for one of a single block, and for one that no round joins with it."""
        return next((row for row in self.rows if row.stack == stack), None)

    @property
    def leading(self) -> tuple[str, ...]:
        """The stack that gives the most, and then all that cannot be told from it; empty where nothing may be said."""
        best = self.groups[0][0] if self.groups else None
        beside = dict.fromkeys(stack for group in self.groups if best in group for stack in group)
        return tuple(beside)

    @property
    def detectable(self) -> float | None:
        """The smallest change that every comparison would have shown in 8 of 10 runs; None where none is known."""
        known = [row.difference.detectable for row in self.rows if row.difference.detectable is not None]
        return max(known, default=None)


@dataclass(frozen=True)
class ControlReading:
    """A control held against the anchor in one quantity; `sure` is an A/A pair's interval, simultaneous over those of the run."""

    heat: Cell
    stack: str
    control: Control
    planted: float
    quantity: Quantity
    ratios: tuple[float, ...]
    estimate: Estimate | None
    difference: Difference
    sure: intervals.Interval | None

    @property
    def floor(self) -> float | None:
        """The share by which identical stacks may differ, where it is an A/A pair."""
        return differences.noise_floor(self.estimate) if self.control is Control.AGAIN else None

    @property
    def failed(self) -> bool:
        """True if identical stacks are told apart: the interval excludes 1, and its middle is beyond what would be equivalent."""
        interval = self.sure
        if self.control is not Control.AGAIN or interval is None:
            return False
        return (interval.low > 1 or interval.high < 1) and abs(math.log(interval.middle)) > math.log1p(PRACTICAL)

    @property
    def found(self) -> bool:
        """True if the planted slowdown was called slower (costlier)."""
        return self.control is Control.SLOWED and self.difference.word is DifferenceWord.SLOWER


def value_of(trial: Trial, quantity: Quantity, in_turns: bool = False) -> float | None:
    """A trial's value, more is better: of its whole window, or of its turns if it has some. None: none above zero."""
    if trial.goodput_per_s is None:
        return None
    turns = trial.in_turns if in_turns else None
    if quantity is Quantity.GOODPUT:
        return (trial.goodput_per_s if turns is None else turns.rate_per_s) or None
    cost = trial.cpu_us_per_answer("server") if turns is None else turns.cpu_us_per_answer
    return 1 / cost if cost else None


def layout(trials: Iterable[Trial], quantity: Quantity, *, in_turns: bool) -> Fit[Arm]:
    """The two-way layout of one field's values: what its stacks gave, apart from what the machine did to all of a round.

    They are of the trials that took turns, or of whole windows. Each attempt of a round is one of its own.
    """
    values = [(trial, value_of(trial, quantity, in_turns)) for trial in trials if trial.turns or not in_turns]
    return Fit(
        FitPoint((trial.cell.stack, trial.control), trial.block, (trial.round, trial.round and trial.attempt), math.log(value))
        for trial, value in values
        if value is not None
    )


def heat_of(cell: Cell) -> Cell:
    """The heat of a cell: the cell without stack and topology, which is what all cells of a heat have in common."""
    return replace(cell, stack="", topology=Topology())


def readings(measured: Mapping[tuple[Cell, Quantity], Measured], plan: Plan) -> tuple[ControlReading, ...]:
    """Hold all controls of a run against their anchors, in the plan's order of heats. `measured`: by field and quantity."""
    kinds = {(slot.cell, slot.control): slot.planted for slot in plan.slots if slot.control is not None}
    found = []
    for (cell, control), planted in kinds.items():
        for quantity in Quantity:
            assert control is not None
            here, ours, anchor = measured.get((field_of(cell), quantity)), (cell.stack, control), (cell.stack, None)
            estimate = None if here is None else here.against(ours, anchor)
            ratios = () if here is None or estimate is None else here.ratios(ours, anchor)
            alone = differences.of_estimate(estimate)
            found.append(ControlReading(heat_of(cell), cell.stack, control, planted, quantity, ratios, estimate, alone, None))
    return tuple(_held(reading, found) for reading in found)


def _held(reading: ControlReading, every: Sequence[ControlReading]) -> ControlReading:
    """Hold an A/A pair to the number of A/A pairs of the run; a planted slowdown to the noise that its A/A pair shows."""
    again = [one for one in every if one.control is Control.AGAIN and one.floor is not None]
    if reading.control is Control.AGAIN:
        confidence = 1 - 0.05 / max(1, len(again))
        return replace(reading, sure=differences.of_estimate(reading.estimate, confidence=confidence).ratio)
    floors = [one.floor for one in again if (one.heat, one.quantity) == (reading.heat, reading.quantity)]
    floor = (floors[0] if floors else None) or 0.0
    return replace(reading, difference=differences.of_estimate(reading.estimate, floor))


def compare(
    quantity: Quantity, measured: Measured, anchors: Sequence[str], floor: float | None, withdrawn: bool
) -> Comparison | None:
    """Hold stacks against the first of `anchors` that has a number; None where no two stacks can be held against each other.

    Rows, groups and ranks come from one family of tests, all pairs of stacks, so that none contradicts another. With `withdrawn`
    all rows are inconclusive, and there are neither groups nor ranks.
    """
    measured = measured.alike
    several = measured.levels
    anchor = next((name for name in (*anchors, *sorted(several)) if name in several), None)
    if anchor is None:
        return None
    estimates = {one: found for one in several if one != anchor and (found := measured.against((one, None), (anchor, None)))}
    if not estimates:
        return None
    level = statistics.fmean(several[anchor].values())
    beside = {stack: statistics.fmean(logs.values()) - level for stack, logs in several.items()}
    order = sorted(several, key=lambda stack: -(estimates[stack].middle if stack in estimates else beside[stack]))
    between = _between(measured, order, anchor)
    stand = differences.standings(order, between, floor or 0.0)
    words, tested = {stack: stand.words[stack, anchor] for stack in estimates}, len(stand.words)
    if withdrawn:
        stand = Standings((), {}, {})
        words = {stack: replace(one, word=DifferenceWord.INCONCLUSIVE) for stack, one in words.items()}
    rows = [
        HeldStack(
            stack,
            measured.ratios((stack, None), (anchor, None)),
            found,
            words[stack],
            precision.more_to_decide(found, PRACTICAL, tested, floor or 0.0)
            if words[stack].word is DifferenceWord.INCONCLUSIVE and not withdrawn
            else None,
        )
        for stack, found in estimates.items()
    ]
    ordered = tuple(sorted(rows, key=lambda row: -row.estimate.middle))
    starts = modes.of_starts({stack: {block: math.exp(log) for block, log in logs.items()} for stack, logs in several.items()})
    pairs = tuple(one for one in between.values() if one is not None)
    return Comparison(quantity, anchor, ordered, stand.groups, stand.ranks, floor, withdrawn, None, starts, stand.words, pairs)


def _between(measured: Measured, order: Sequence[str], anchor: str) -> dict[tuple[str, str], Estimate | None]:
    """Hold all pairs of a field's stacks against each other. A pair with the anchor is the other stack over it."""
    pairs = [(other, one) if one == anchor else (one, other) for one, other in itertools.combinations(order, 2)]
    return {(a, b): measured.against((a, None), (b, None)) for a, b in pairs}


@dataclass(frozen=True)
class Judge:
    """The judge that compares the fields of a run: the same workload, topology, load and settings; only the stack differs."""

    plan: Plan
    measured: Mapping[tuple[Cell, Quantity], Measured]
    readings: tuple[ControlReading, ...]

    @classmethod
    def of(cls, plan: Plan, results: Sequence[Trial], controls: Sequence[Trial]) -> Judge:
        """The judge of a run, with what its controls say."""
        known = measure_fields([*results, *controls], plan.memory)
        return cls(plan, known, readings(known, plan))

    def anchors(self, heat: Cell) -> tuple[str, ...]:
        """The stacks that may be the anchor of a heat, first choice first; chosen by the plan, never by a number."""
        controlled = [slot.cell.stack for slot in self.plan.slots if slot.control is not None and heat_of(slot.cell) == heat]
        return (*controlled[:1], *([self.plan.anchor] if self.plan.anchor is not None else []))

    def field(self, trials: Sequence[Trial], quantity: Quantity) -> Comparison | None:
        """The comparison of one field's results; None where they carry none."""
        if not trials:
            return None
        heat = heat_of(trials[0].cell)
        again = self._of(heat, quantity, Control.AGAIN)
        floor, withdrawn = (None, False) if again is None else (again.floor, again.failed)
        here = self.measured[field_of(trials[0].cell), quantity]
        found = compare(quantity, here, self.anchors(heat), floor, withdrawn)
        return None if found is None else replace(found, block_s=_block_s(trials))

    def _of(self, heat: Cell, quantity: Quantity, control: Control) -> ControlReading | None:
        ours = (one for one in self.readings if (one.heat, one.quantity, one.control) == (heat, quantity, control))
        return next(ours, None)


def _block_s(trials: Sequence[Trial]) -> float:
    """Seconds that a block of a field takes, by those blocks that hold the most of its stacks."""
    stacks = Counter(block for block, _ in {(trial.block, trial.cell.stack) for trial in trials})
    most = max(stacks.values())
    whole = [block for block, count in stacks.items() if count == most]
    return math.fsum(trial.duration_s for trial in trials if trial.block in whole) / len(whole)


def measure_fields(trials: Sequence[Trial], known: Sequence[RememberedSpread] = ()) -> dict[tuple[Cell, Quantity], Measured]:
    """All fields in both quantities, in turns and in whole windows. `known`: what earlier runs foretell of their scatter."""
    fields = [field_of(field[0].cell) for field in fields_of(trials)]
    found = dict[tuple[Cell, Quantity], Measured]()
    for quantity in Quantity:
        turns, whole = (_together(trials, quantity, known, in_turns=in_turns) for in_turns in (True, False))
        made = (Measured(turns=one, whole=other) for one, other in zip(turns, whole, strict=True))
        found |= {(field, quantity): both for field, both in zip(fields, made, strict=True)}
    return found


def _together(
    trials: Sequence[Trial], quantity: Quantity, known: Sequence[RememberedSpread], *, in_turns: bool
) -> list[Fit[Arm]]:
    """The layouts of all fields, fitted together with what is known of their scatter."""
    made = [layout(field, quantity, in_turns=in_turns) for field in fields_of(trials)]
    return fit.together(made, _foretold(trials, made, quantity, known, in_turns))


def _foretold(
    trials: Sequence[Trial], made: Sequence[Fit[Arm]], quantity: Quantity, known: Sequence[RememberedSpread], in_turns: bool
) -> Known:
    """The priors that memory has of each field's stacks; empty where it has none.

    A stack by itself has none: what the machine did to each of its blocks is in its own scatter, and in no other's.
    """
    by_way = {one.way: one for one in known if (one.quantity, one.in_turns) == (quantity, in_turns)}
    if not by_way:
        return ()
    cells = [field[0].cell for field in fields_of(trials)]
    ours = [by_way.get(way_of(cell)) for cell in cells]
    return [
        {} if one is None or len(found.names) < 2 else {arm: memory.prior_of(one, cell.workload, arm[0]) for arm in found.names}
        for cell, one, found in zip(cells, ours, made, strict=True)
    ]


def way_of(cell: Cell) -> str:
    """The way in which a cell is measured: values of other generators, and of longer windows, scatter otherwise."""
    return f"{cell.load.generator} {cell.load.window_s:g} s"


def seen_spreads(trials: Sequence[Trial]) -> tuple[SeenSpread, ...]:
    """The variances of a run's stacks that the next run may need, in both quantities and both ways."""
    fields, found = fields_of(trials), list[SeenSpread]()
    for quantity, in_turns in itertools.product(Quantity, (True, False)):
        for some, made in zip(fields, _together(trials, quantity, (), in_turns=in_turns), strict=True):
            way, workload = way_of(some[0].cell), some[0].cell.workload
            found += [
                SeenSpread(quantity, in_turns, way, workload, _stack_of(name), one.value, one.freedom)
                for name, one in made.spreads.independent.items()
                if one.freedom and one.value and len(made.names) > 1
            ]
    return tuple(found)


def _stack_of(name: Hashable) -> str | None:
    """The stack of an arm; None for two arms at once."""
    return name[0] if isinstance(name, tuple) else None


def memory_readings(trials: Sequence[Trial], known: Sequence[RememberedSpread]) -> tuple[MemoryReading, ...]:
    """Hold what was foretold of each quantity and way against today."""
    found = []
    for one in known:
        quantity = Quantity(one.quantity)
        made = _together(trials, quantity, (), in_turns=one.in_turns)
        foretold = _foretold(trials, made, quantity, [one], one.in_turns)
        seen = memory.today([fitted.spreads for fitted in made], foretold)
        used = memory.is_like(seen, one.freedom)
        little = seen.freedom < memory.LEAST_OWN
        found.append(MemoryReading(one, seen.value if seen.freedom else None, used, little))
    return tuple(found)


def spoilt_blocks(trials: Sequence[Trial], known: Sequence[RememberedSpread], quantity: Quantity) -> Mapping[int, float]:
    """The blocks whose values count for less in a quantity, and how many times the others' variance they have."""
    found = _together(trials, quantity, known, in_turns=any(trial.turns for trial in trials))
    return found[0].spoilt if found else {}


def cells(trials: Sequence[Trial], known: Sequence[RememberedSpread] = ()) -> dict[Cell, Estimate | None]:
    """Estimate each cell's goodput: its logarithm over the mean of the stacks that were measured beside it, but for controls.

    What the machine did to all of a round alike is left out. A stack by itself has the interval of its blocks. Of whole windows
    and of turns the wider interval counts: a rate is no surer than the ratios that are told of it. None: unknown.
    """
    found = dict[Cell, Estimate | None]()
    ways = [_together(trials, Quantity.GOODPUT, known, in_turns=in_turns) for in_turns in (False, True)]
    for group, *made in zip(fields_of(trials), *ways, strict=True):
        among = {(trial.cell.stack, None) for trial in group}
        for cell in dict.fromkeys(trial.cell for trial in group):
            sure = [one for fitted in made if (one := fitted.beside((cell.stack, None), among)) is not None]
            found[cell] = max(sure, key=lambda one: one.interval().high - one.middle, default=None)
    return found


def levels_of(trials: Sequence[Trial], known: Sequence[RememberedSpread] = ()) -> dict[Cell, float]:
    """The logarithm of each cell's goodput, as if all stacks of its field had been in the same rounds."""
    fits = _together(trials, Quantity.GOODPUT, known, in_turns=False)
    return {
        replace(field_of(group[0].cell), stack=name): statistics.fmean(blocks.values())
        for group, fitted in zip(fields_of(trials), fits, strict=True)
        for (name, _), blocks in fitted.levels.items()
    }


def field_of(cell: Cell) -> Cell:
    """The field of a cell: the cell without its stack, which is what all cells of a field have in common."""
    return replace(cell, stack="")


def fields_of(trials: Iterable[Trial]) -> list[list[Trial]]:
    """Trials by field, in the order of their first trial."""
    grouped: dict[Cell, list[Trial]] = {}
    for trial in trials:
        grouped.setdefault(field_of(trial.cell), []).append(trial)
    return list(grouped.values())
