"""Whether a run begins another block, or a comparison another round: by the time, and by the width of intervals. Pure.

Never by whether a difference has become significant: who stops at the first small p finds a difference between identical stacks
sooner or later. Intervals of a width fixed beforehand keep their coverage (Chow & Robbins, Annals of Mathematical Statistics
1965; for a width in proportion to the value itself: Nádas, ibid. 1969).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fairground.model import Ending, Plan, Trial
from fairground.model.experiment import Start, WhyAsked
from fairground.model.pair import Round
from fairground.model.record import ComparisonAsked
from fairground.run import retry
from fairground.stats import effects
from fairground.stats import rounds as arms
from fairground.stats.comparisons import Judge, Quantity, fields_of
from fairground.stats.intervals import Interval, brief

LEAST_BLOCKS = 6
"""Before so many blocks no width ends a run: a spread from fewer is too uncertain."""
NARROW = 0.02
"""Half the width of an interval, as a share, that is enough for any difference."""
PART = 0.25
"""The part of a difference that is enough, too: one of 40 % need not be known to 2 %."""


def ending(plan: Plan, trials: Sequence[Trial], budget_s: float) -> Ending | None:
    """Why the run ends after the last whole block of `trials` (controls among them); None: another block is worth its time."""
    blocks = max((trial.block for trial in trials), default=0)
    if not blocks or blocks >= plan.blocks:
        return None
    spent_s = math.fsum(trial.duration_s for trial in trials) + retry.paused_s(trials)
    compared = ratios(plan, trials)
    if blocks >= LEAST_BLOCKS and compared and all(map(narrow, compared)):
        return Ending(blocks, f"every interval that is compared is within ± {NARROW:.0%}, or a quarter of its difference")
    if spent_s + spent_s / blocks > budget_s:
        return Ending(blocks, f"the next block would have ended after the budget of {brief(budget_s / 60)} min")
    return None


def ratios(plan: Plan, trials: Sequence[Trial]) -> list[Interval]:
    """The intervals that matter: of the goodput of each stack over its anchor's, in every field of the run."""
    results = [trial for trial in trials if trial.control is None]
    judge = Judge.of(plan, results, ())
    compared = [judge.field(field, Quantity.GOODPUT) for field in fields_of(results)]
    held = [row.difference.ratio for one in compared if one is not None for row in one.rows]
    return [ratio for ratio in held if ratio is not None]


def narrow(ratio: Interval) -> bool:
    """Whether an interval of a ratio needs no further block."""
    half = math.log(ratio.high / ratio.low) / 2
    return half <= max(math.log1p(NARROW), PART * abs(math.log(ratio.middle)))


def comparison_end(rounds: Sequence[Round], asked: ComparisonAsked) -> str | None:
    """Why a comparison ends after these rounds; None: another one is worth its time.

    The time is that of the rounds themselves, so that a comparison that was interrupted has the budget that it had.
    """
    if not rounds:
        return None
    if (rejected := rounds[-1].rejected) is not None:
        return rejected
    decision = arms.decide([pair for one in rounds for pair in one.pairs], practical=asked.margin)
    half = decision.half_width
    if half is not None and half <= asked.width and decision.rounds > arms.JUDGED_ROUNDS:
        return f"the interval is within ± {asked.width:.2%}"
    spent_s = math.fsum(one.took_s for one in rounds)
    if spent_s + spent_s / len(rounds) > asked.budget_s:
        return f"the next round would have ended after the budget of {brief(asked.budget_s / 60)} min"
    return None


def too_short(asked: ComparisonAsked) -> str | None:
    """That a comparison's budget cannot hold the rounds without which nothing is called, told before it starts; None: it can."""
    least_s = arms.JUDGED_ROUNDS * (asked.load.warmup_min_s + 2 * asked.pairs * asked.load.window_s)
    if asked.budget_s >= least_s:
        return None
    needed = f"{arms.JUDGED_ROUNDS} starts are needed before a difference is called, and take {least_s:.0f} s at least"
    return f"{needed}: within {asked.budget_s:.0f} s the comparison will stay inconclusive"


def experiment_end(starts: Sequence[Start], asked: WhyAsked) -> str | None:
    """Why an experiment ends after these starts; None: another one is worth its time.

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
