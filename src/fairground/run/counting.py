"""Tell whether another start of a counted measurement is worth its time, and whose. Pure.

As everywhere, a width that was fixed beforehand ends it: the one that was asked for, or a part of a large difference.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fairground.model.count import CountArm, CountAsked, CountedStart
from fairground.run.stopping import PART
from fairground.stats import counts
from fairground.stats.counts import CountChange
from fairground.stats.intervals import t_interval

MOST_STARTS = 30
"""Of an arm on a workload; a spread that needs more is no matter of starts."""
VOIDS = 2
"""An arm that has no number in this many starts one after the other is given up."""


@dataclass(frozen=True)
class Due:
    """The start that is next: an arm on a workload, and the start's number from 1."""

    arm: CountArm
    workload: str
    number: int


def starts_of(made: Sequence[CountedStart], workload: str, arm: CountArm) -> list[CountedStart]:
    """The starts of an arm on a workload, in their order."""
    return [one for one in made if one.workload == workload and one.arm == arm.label]


def values(starts: Sequence[CountedStart], count: Callable[[CountedStart], float | None] = counts.instructions) -> list[float]:
    """Instructions per answer, or another count, of those starts that have a number."""
    return [found for one in starts if (found := count(one)) is not None]


def requests_of(made: Sequence[CountedStart], asked: CountAsked, due: Due) -> int | None:
    """The requests of a start's counted windows: as many as in the first start of the same stack. None: that is the next one."""
    same = {arm.label for arm in asked.arms if arm.stack == due.arm.stack}
    known = (one.requests for one in made if one.workload == due.workload and one.arm in same and one.requests)
    return asked.requests or next(known, None)


def next_start(made: Sequence[CountedStart], asked: CountAsked) -> Due | None:
    """The next start, or None where nothing is left that is worth its time. Who is first takes turns."""
    first = [due for due in _open(made, asked) if len(_sound(made, due)) < counts.LEAST_STARTS]
    wanted = first or ([] if _is_spent(made, asked) else [due for due in _open(made, asked) if not _is_narrow(made, asked, due)])
    return min(wanted, key=lambda due: due.number, default=None)


def ending(made: Sequence[CountedStart], asked: CountAsked) -> str:
    """Say why nothing more is counted."""
    wide = [due for due in _due(made, asked) if not _is_narrow(made, asked, due)]
    if any(due.number <= MOST_STARTS for due in wide):
        return f"the budget of {asked.budget_s:g} s is spent"
    if wide:
        return f"{MOST_STARTS} starts of an arm were made, and its interval is still wide: more would hardly narrow it"
    part = ", or a quarter of its change" if asked.compared else ""
    return f"every interval is within ± {_width(asked):.1%}{part}, or no start of an arm has a number"


def _open(made: Sequence[CountedStart], asked: CountAsked) -> list[Due]:
    """The next starts of arms that have not had MOST_STARTS."""
    return [due for due in _due(made, asked) if due.number <= MOST_STARTS]


def _due(made: Sequence[CountedStart], asked: CountAsked) -> list[Due]:
    """The next start of every arm on every workload that is not given up; every other time in the other order."""
    found = []
    for workload in asked.workloads:
        numbers = [len(starts_of(made, workload, arm)) + 1 for arm in asked.arms]
        both = list(zip(asked.arms, numbers, strict=True))
        lost = [_is_lost(starts_of(made, workload, arm)) for arm in asked.arms]
        if asked.compared and any(lost):
            continue
        left = [Due(arm, workload, number) for (arm, number), gone in zip(both, lost, strict=True) if not gone]
        found += left if min(numbers) % 2 else left[::-1]
    return found


def _is_lost(starts: Sequence[CountedStart]) -> bool:
    """True if an arm has no number on a workload, and will not have one."""
    return any(one.rejected for one in starts) or (len(starts) >= VOIDS and all(one.void for one in starts[-VOIDS:]))


def _sound(made: Sequence[CountedStart], due: Due) -> list[float]:
    return values(starts_of(made, due.workload, due.arm), counts.between_collections)


def _is_narrow(made: Sequence[CountedStart], asked: CountAsked, due: Due) -> bool:
    """True if the interval that a start would narrow is narrow enough: that of the change, or the arm's own."""
    if asked.compared:
        sides = [starts_of(made, due.workload, arm) for arm in asked.arms]
        whole, between = (
            counts.change(a, b, asked.floor) for a, b in ([values(one) for one in sides], counts.at_equal_reads(*sides))
        )
        return _is_known(between, whole, _width(asked))
    level = t_interval(_sound(made, due))
    return level is not None and (level.high - level.low) / 2 / level.middle <= _width(asked)


def _width(asked: CountAsked) -> float:
    return asked.floor if asked.width is None else asked.width


def _is_known(between: CountChange, whole: CountChange, width: float) -> bool:
    """True if the change between collections is known well enough, and that of the whole leaves nothing open beside it.

    How many collections fall into a start is chance, which only many starts would narrow. A change that chance may have made is
    open, whichever of the two it is of; but one of the whole that may be the called one between collections is explained by it.
    """
    if between.ratio is None or whole.ratio is None or between.half_width is None or between.is_open:
        return False
    if whole.is_open and not (between.called and whole.ratio.low <= between.ratio.middle <= whole.ratio.high):
        return False
    return between.half_width <= max(width, PART * abs(math.log(between.ratio.middle)))


def _is_spent(made: Sequence[CountedStart], asked: CountAsked) -> bool:
    """True if another start would end after the budget."""
    took_s = [one.took_s for one in made]
    return math.fsum(took_s) + (statistics.fmean(took_s) if took_s else 0.0) > asked.budget_s
