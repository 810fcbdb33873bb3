"""Say what a run shows of itself: its A/A pairs and planted slowdowns, the order of its trials, and who had the void ones."""

from __future__ import annotations

from dataclasses import dataclass

from fairground.model import Control, Run
from fairground.report.judging import judge_of
from fairground.report.text import words
from fairground.stats.comparisons import ControlReading, Quantity
from fairground.stats.order_effects import Campaign, OrderEffect

NARROW = 0.05
"""An effect of order is absent where its interval reaches no further from 1 than this; a wider one does not tell."""


@dataclass(frozen=True)
class Controls:
    """The readings of a run's controls, and their sums."""

    readings: tuple[ControlReading, ...]

    @classmethod
    def of(cls, run: Run) -> Controls:
        return cls(judge_of(run).readings)

    @property
    def pairs(self) -> tuple[ControlReading, ...]:
        """The A/A pairs with at least two blocks."""
        return tuple(one for one in self.readings if one.control is Control.AGAIN and one.floor is not None)

    @property
    def slowed(self) -> tuple[ControlReading, ...]:
        """The planted slowdowns with at least two blocks; in CPU, which they raise wherever it is known, else in goodput."""
        known = [one for one in self.readings if one.control is Control.SLOWED and one.difference.ratio is not None]
        costs = {one.heat for one in known if one.quantity is Quantity.CPU}
        return tuple(one for one in known if one.quantity is Quantity.CPU or one.heat not in costs)

    @property
    def failed(self) -> tuple[ControlReading, ...]:
        return tuple(one for one in self.pairs if one.failed)


def sentence(reading: ControlReading) -> str:
    """Say what one control found: `identical stacks differ by −0.4 % (95 % CI −1.2 to +0.4 %): the noise floor is 1.2 %`."""
    ratio = reading.difference.ratio
    if ratio is None:
        return "fewer than two blocks have both: nothing is known"
    told = ratio.inverse() if reading.quantity is Quantity.CPU else ratio
    middle, low, high = (words.signed_share(value - 1) for value in (told.middle, told.low, told.high))
    span = f"{middle} % (95 % CI {low} to {high} %)"
    if reading.control is Control.AGAIN:
        said = f"identical stacks differ by {span}: the noise floor is {words.percent(reading.floor)}"
        return f"{said}; that is more than chance and more than would be equivalent" if reading.failed else said
    seen = "found" if reading.found else "not detected"
    return f"{words.percent(reading.planted)} of the server's CPU was planted, {reading.quantity} changed by {span}: {seen}"


def verdict(run: Run, found: Controls) -> str:
    """The sentence of the claim box on how far the run may be believed."""
    if not found.readings:
        return "The run holds no controls: what identical stacks differ by was not measured."
    if not found.pairs:
        return "Too few blocks hold the anchor and its controls: what identical stacks differ by is not known."
    said = []
    if found.failed:
        names = words.join_names(list(dict.fromkeys(f"{one.heat.workload} ({one.quantity})" for one in found.failed)))
        said.append(f"The anchor, measured twice, was told apart from itself on {names}: the comparisons there are withdrawn")
    else:
        floors = [one.floor for one in found.pairs if one.floor is not None]
        span = words.percent(floors[0]) if len(floors) == 1 else f"{words.percent(min(floors))} to {words.percent(max(floors))}"
        said.append(f"The anchor, measured twice, is not told apart from itself (noise floor {span})")
    return f"{'; '.join([*said, *_planted(found)])}."


def _planted(found: Controls) -> list[str]:
    slowed = found.slowed
    if not slowed:
        planted = any(one.control is Control.SLOWED for one in found.readings)
        return ["too few blocks hold the planted slowdown" if planted else "no slowdown was planted"]
    lost = [one for one in slowed if not one.found]
    share = words.percent(slowed[0].planted)
    if not lost:
        return [f"a planted slowdown of {share} was found"]
    names = words.join_names(list(dict.fromkeys(one.heat.workload for one in lost)))
    return [f"a planted slowdown of {share} was not detected on {names}: differences of that size may be there unseen"]


def order_sentences(found: Campaign) -> tuple[tuple[str, bool | None], ...]:
    """Say what the order of the trials did and on whom the void ones fell. Each with True if it is as it should be.

    None: the interval is too wide to tell.
    """
    said = [
        _effect("From the first place of a block to its last", found.position),
        _effect("After a trial that kept all processors busy, against one that kept none busy,", found.carried),
    ]
    return (*(one for one in said if one is not None), _voids(found))


def _effect(where: str, effect: OrderEffect | None) -> tuple[str, bool | None] | None:
    if effect is None:
        return None
    change = effect.factor
    middle, low, high = (words.signed_share(value - 1) for value in (change.middle, change.low, change.high))
    span = f"{middle} % (95 % CI {low} to {high} %)"
    if not effect.shows and max(change.high, 1 / change.low) - 1 > NARROW:
        return f"{where} goodput changes by {span}: too wide to tell whether order matters", None
    if not effect.shows:
        return f"{where} goodput changes by {span}: no effect of order shows", True
    return (
        f"{where} goodput changes by {span}: order widens the intervals, and favours no stack, for it was drawn by chance",
        False,
    )


def _voids(found: Campaign) -> tuple[str, bool]:
    total, attempts = sum(one.void for one in found.voids), words.plural(found.attempts, "attempt")
    if not total:
        return f"None of {attempts} was void", True
    said = f"{total} of {attempts} {'was' if total == 1 else 'were'} void"
    worse = [one for one in found.voids if one.shows]
    if not worse:
        return f"{said}, spread over the stacks as chance would spread them", True
    named = words.join_names([f"{one.stack} ({one.void} of {one.attempts})" for one in worse])
    return (
        f"{said}, and {named} had more of them than chance explains: {'its' if len(worse) == 1 else 'their'} calmer moments alone"
        " count",
        False,
    )
