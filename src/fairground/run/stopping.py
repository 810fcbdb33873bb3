"""Tell whether a run begins another block, and of what, or a comparison another round. Pure.

Time and the width of intervals decide. A heat whose intervals are narrow gets no further block: the time goes to the heats
that still need some.

It never matters whether a difference has become significant: who stops at the first small p finds a difference between
identical stacks sooner or later. Intervals of a width fixed beforehand keep their coverage (Chow & Robbins, Annals of
Mathematical Statistics 1965; for a width in proportion to the value itself: Nádas, ibid. 1969).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from fairground.model import Cell, Ending, Load, Plan, PlanSlot, Trial, Until
from fairground.model.experiment import Start, WhyAsked
from fairground.model.pair import Round
from fairground.model.record import ComparisonAsked
from fairground.run import retry
from fairground.stats import effects, precision
from fairground.stats.comparisons import Comparison, Judge, Quantity, fields_of, heat_of
from fairground.stats.differences import PRACTICAL
from fairground.stats.fit import Estimate
from fairground.stats.intervals import Interval, brief
from fairground.stats.rounds import JUDGED_ROUNDS, decide

LEAST_BLOCKS = 6
"""Before this many blocks no width ends anything: a spread from fewer is too uncertain."""
LEAST_RATIOS = 3
"""Fewer blocks of its own are never enough, however much a comparison borrows from the others of the run."""
NARROW = 0.02
"""Half the width of an interval, as a share, that is enough for any difference."""
PART = 0.25
"""The part of a difference that is enough, too: one of 40 % need not be known to 2 %."""
MOST_PAIRS = 5
"""Pairs of a start, where the budget has room for more: beyond it another start says more."""
START_S, PAIR_COST = 3.0, 1.15
"""Seconds in which two servers start, are verified and audited, and what a second of load in turns takes."""
NO_MORE = "no block is left in its plan"
"""Why a run ends that has measured all that it planned, but what was narrow already."""
ENOUGH = {
    Until.NARROW: f"every interval that is compared is within ± {NARROW:.0%}, or a quarter of its difference",
    Until.DECIDED: f"every comparison is decided: its interval fits into ± {PRACTICAL:.0%}, or is a quarter of its difference",
}
"""Why a run ends before its time is up."""


def ending(plan: Plan, trials: Sequence[Trial], budget_s: float, hosts: int = 1, beside_s: float = 0.0) -> Ending | None:
    """The ending of a run after the last whole block of `trials` (controls among them); None: another block is worth its time.

    This many `hosts` measure blocks side by side; `beside_s` seconds went by beside their trials.
    """
    blocks = max((trial.block for trial in trials), default=0)
    if not blocks or blocks >= plan.blocks:
        return None
    left = open_heats(plan, trials)
    if not left:
        return Ending(blocks, ENOUGH[plan.until])
    if spent_s(trials) / hosts + beside_s + _block_s(trials, left) > budget_s:
        return Ending(blocks, f"the next block would have ended after the budget of {brief(budget_s / 60)} min")
    return None


def spent_s(trials: Sequence[Trial]) -> float:
    """Seconds that trials took, with the pauses before those that were tried again."""
    return math.fsum(trial.duration_s for trial in trials) + retry.paused_s(trials)


def choose_slots(plan: Plan, slots: Sequence[PlanSlot], before: Sequence[Trial]) -> tuple[tuple[PlanSlot, ...], tuple[int, ...]]:
    """The slots that are worth their time by what was measured `before` them, and the numbers of the others."""
    if plan.budget_s is None or not before:
        return tuple(slots), ()
    heats = open_heats(plan, before)
    apart = {slot.number: heat_of(slot.cell) in heats for slot in slots}
    return tuple(slot for slot in slots if apart[slot.number]), tuple(number for number, some in apart.items() if not some)


def _block_s(trials: Sequence[Trial], heats: Collection[Cell]) -> float:
    """Seconds that another block of these heats takes, by the mean of those that there were."""
    seconds, blocks = dict[Cell, float](), dict[Cell, set[int]]()
    for trial in trials:
        if (heat := heat_of(trial.cell)) in heats:
            seconds[heat] = seconds.get(heat, 0.0) + trial.duration_s
            blocks.setdefault(heat, set()).add(trial.block)
    return math.fsum(seconds[heat] / len(blocks[heat]) for heat in seconds)


def open_heats(plan: Plan, trials: Sequence[Trial]) -> frozenset[Cell]:
    """The heats for which another block is worth its time, each by the cell that `heat_of` gives.

    A heat is done when all intervals of its stacks' goodput over the anchor's are as narrow as the plan wants them, and their
    spreads are known. In a run that compares, a heat without a comparison is done after LEAST_BLOCKS; else all heats stay open.
    """
    results = [trial for trial in trials if trial.control is None]
    judge = Judge.of(plan, results, ())
    wide, compared = set[Cell](), set[Cell]()
    for field in fields_of(results):
        heat = heat_of(field[0].cell)
        found = judge.field(field, Quantity.GOODPUT)
        if found is not None:
            compared.add(heat)
        blocks = len({trial.block for trial in field})
        if not _done(plan.until, found, blocks):
            wide.add(heat)
    return frozenset(wide if compared else {heat_of(trial.cell) for trial in trials})


def _done(until: Until, found: Comparison | None, blocks: int) -> bool:
    """True if a field of this many blocks needs no more: its comparison is as narrow as `until` wants it.

    Each stack is held against the anchor, or against each other one where pairs are to be decided.
    """
    if found is None:
        return blocks >= LEAST_BLOCKS
    if not all(_known(row.estimate) for row in found.rows):
        return False
    if until is Until.NARROW:
        return all(narrow(row.estimate.interval().exp()) for row in found.rows)
    return all(_known(one) and is_decided(one, found.pairs) for one in found.estimates)


def _known(found: Estimate) -> bool:
    """True if a spread is as well known as that of LEAST_BLOCKS blocks alone; what is borrowed counts."""
    return found.blocks >= LEAST_RATIOS and found.freedom >= LEAST_BLOCKS - 1


def is_decided(found: Estimate, pairs: int) -> bool:
    """True if an interval that holds for all `pairs` of its comparison together (Bonferroni) leaves no third word.

    It fits into ± PRACTICAL or it lets go of 1, wherever its middle is; of a large difference a quarter is narrow enough.
    """
    interval = found.interval(1 - 0.05 / pairs)
    half = (interval.high - interval.low) / 2
    return half <= max(precision.deciding_width(PRACTICAL), PART * abs(interval.middle))


def narrow(ratio: Interval) -> bool:
    """True if an interval of a ratio needs no further block."""
    half = math.log(ratio.high / ratio.low) / 2
    return half <= max(math.log1p(NARROW), PART * abs(math.log(ratio.middle)))


def comparison_end(rounds: Sequence[Round], asked: ComparisonAsked) -> str | None:
    """The reason why a comparison ends after these rounds; None: another one is worth its time.

    The time is that of the rounds themselves, so that a comparison that was interrupted has the budget that it had.
    """
    if not rounds:
        return None
    if (rejected := rounds[-1].rejected) is not None:
        return rejected
    decision = decide([pair for one in rounds for pair in one.pairs], practical=asked.margin)
    half = decision.half_width
    if half is not None and half <= asked.width and decision.rounds > JUDGED_ROUNDS:
        return f"the interval is within ± {asked.width:.2%}"
    spent_s = math.fsum(one.took_s for one in rounds)
    if spent_s + spent_s / len(rounds) > asked.budget_s:
        return f"the next round would have ended after the budget of {brief(asked.budget_s / 60)} min"
    return None


def pairs_within(budget_s: float, load: Load) -> int:
    """Pairs of windows for each start, so that a start more than is judged fits into a comparison's budget: 1 to MOST_PAIRS.

    What differs from start to start is most of the noise, so that few pairs of many starts say more than many of few.
    """
    start_s = budget_s / (JUDGED_ROUNDS + 1)
    return max(1, min(MOST_PAIRS, int((start_s - START_S - load.warmup_min_s) / (2 * PAIR_COST * load.window_s))))


def pairs_of_next(rounds: Sequence[Round], asked: ComparisonAsked) -> int:
    """Pairs of windows for the next start: those that were asked for, or fewer, so that a start more than is judged still fits.

    What a start takes beside its pairs is known from those that there were: some servers are slow to start.
    """
    if not rounds:
        return asked.pairs
    pair_s = 2 * PAIR_COST * asked.load.window_s
    start_s = math.fsum(one.took_s - pair_s * len(one.pairs) for one in rounds) / len(rounds)
    left_s = asked.budget_s - math.fsum(one.took_s for one in rounds)
    each_s = left_s / max(1, JUDGED_ROUNDS + 1 - len(rounds))
    return max(1, min(asked.pairs, int((each_s - start_s) / pair_s)))


def too_short(asked: ComparisonAsked) -> str | None:
    """Warn before a comparison starts if its budget cannot hold the rounds without which nothing is called; None: it can."""
    pairs = asked.pairs + JUDGED_ROUNDS - 1  # after the first start there may be one in each: see `pairs_of_next`
    least_s = JUDGED_ROUNDS * asked.load.warmup_min_s + 2 * pairs * asked.load.window_s
    if asked.budget_s >= least_s:
        return None
    needed = f"{JUDGED_ROUNDS} starts are needed before a difference is called, and take {least_s:.0f} s at least"
    return f"{needed}: within {asked.budget_s:.0f} s the comparison will stay inconclusive"


def experiment_end(starts: Sequence[Start], asked: WhyAsked) -> str | None:
    """The reason why an experiment ends after these starts; None: another one is worth its time.

    Enough is an interval of every change that is narrow: never one that decides, for then chance would end it sooner or later.
    """
    if not starts:
        return None
    found = effects.effects(asked, starts)
    enough = all(one.ratio is not None and one.starts >= effects.LEAST_STARTS and narrow(one.ratio) for one in found)
    if enough:
        return f"every interval is within ± {NARROW:.0%}, or a quarter of its change"
    spent_s = math.fsum(one.took_s for one in starts)
    if spent_s + spent_s / len(starts) > asked.budget_s:
        return f"the next start would have ended after the budget of {asked.budget_s:.0f} s"
    return None
