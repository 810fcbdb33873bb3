"""Lend a run what earlier ones saw of the scatter from start to start: a prior with its own degrees of freedom. Pure.

A run of two stacks knows little of how its values scatter. But machine, servers and workloads were there before, and each run
leaves its variances behind. Their product form, of workloads and of stacks, foretells those of the next run. How far single runs
were from it says how much that is worth (Smyth 2004, as in `moderated`).

Memory must not make a noisy day look quiet, so it is worth little and is tested first:

- It has one degree of freedom more than there were runs, and MOST at the most.
- A run that scatters by more than is foretold in LIKELY of all cases is judged by itself. So is one that scatters by much less,
  since a machine that became quiet would be told too little.
- A run with fewer than LEAST_OWN degrees of freedom cannot tell whether today is like before, and is judged by itself.

`bench/power.py` simulates it, with days that are like the others and with days that are twice as noisy.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from fairground.model.memory import RememberedSpread, SeenSpread
from fairground.stats import moderated
from fairground.stats.intervals import geometric_mean
from fairground.stats.moderated import LEAST_ROWS, Prior, Spreads, Variance

MOST = 6.0
"""The most degrees of freedom that memory is worth, after however many runs."""
LIKELY, UNLIKELY = 0.6, 0.02
"""These shares of foretold variances lie below two bounds. Above the first, or below the second, today contradicts memory."""
LEAST_OWN = 2.5
"""Four blocks of two stacks have three degrees of freedom, less what rounding leaves."""
WEAK_SD: Mapping[bool, float] = {True: 0.10, False: 0.15}
"""In turns, and in whole windows: what a first run takes. docs/notes/memory.md has the runs that it is from."""
WEAK_FREEDOM = 2.0
"""With two degrees of freedom a standard deviation of 10 % may as well be 4 % or 40 %."""


@dataclass(frozen=True)
class MemoryReading:
    """A quantity's memory held against today: `today` is how many times the foretold variance was seen.

    None: the run has no variance of its own. `used` is False where today contradicts it, and where the run knows too `little`.
    """

    memory: RememberedSpread
    today: float | None
    used: bool
    little: bool = False


def weak(quantity: str, in_turns: bool, way: str) -> RememberedSpread:
    """The prior of a machine that has no run yet."""
    return RememberedSpread(quantity, in_turns, way, WEAK_SD[in_turns] ** 2, WEAK_FREEDOM)


def remember(runs: Sequence[Sequence[SeenSpread]], quantity: str, in_turns: bool, way: str) -> RememberedSpread:
    """The memory that runs leave of one quantity, measured in one way. It begins with `weak`, which fades with each run."""
    key = quantity, in_turns, way
    ours = [[one for one in run if (one.quantity, one.in_turns, one.way) == key and one.freedom * one.variance] for run in runs]
    ours = [run for run in ours if run]
    first = weak(quantity, in_turns, way)
    if not ours:
        return first
    seen = [one for run in ours for one in run]
    cells: dict[tuple[str, str | None], list[Variance]] = {}
    for one in seen:
        cells.setdefault((one.workload, one.stack), []).append(Variance(one.variance, one.freedom))
    levels, shares = moderated.product({cell: moderated.pool(some) for cell, some in cells.items()})
    apart = [Variance(one.variance / (levels[one.workload] * shares.get(one.stack or "", 1.0)), one.freedom) for one in seen]
    typical = geometric_mean(list(levels.values()))
    freedom = math.fsum(one.freedom for one in seen)
    together = moderated.pool([Variance(first.variance, first.freedom), Variance(typical, freedom)])
    worth = min(moderated.agreement(apart), len(ours) + 1.0, MOST)
    surely = 1 / (1 / worth + 1 / together.freedom)
    of_workloads = {name: level / typical for name, level in levels.items()}
    return RememberedSpread(quantity, in_turns, way, together.value, surely, len(ours), of_workloads, shares)


Known = Sequence[Mapping[Hashable, Prior]]
"""By field, what memory foretells of its stacks."""


def prior_of(memory: RememberedSpread, workload: str, stack: str) -> Prior:
    """The prior of a stack on a workload."""
    return Prior(memory.variance_of(workload, stack), memory.freedom, math.inf)


def today(fields: Sequence[Spreads], known: Known) -> Variance:
    """Pool what is seen today, as a share of what was foretold."""
    seen = []
    for field, foretold in zip(fields, known, strict=True):
        for name, one in field.independent.items():
            names = list(name) if isinstance(name, frozenset) else [name]
            some = [foretold[each].variance for each in names if each in foretold]
            if one.freedom and len(some) == len(names):
                seen.append(Variance(one.value * len(some) / math.fsum(some), one.freedom))
    return moderated.pool(seen)


def is_like(seen: Variance, worth: float) -> bool:
    """True if today does not contradict a memory that is worth so many degrees of freedom."""
    if seen.freedom < LEAST_OWN:
        return False
    low, high = (moderated.likely(seen.freedom, worth, share) for share in (UNLIKELY, LIKELY))
    return low <= seen.value <= high


def join(fields: Sequence[Spreads], own: Known, known: Known) -> Known:
    """Add what memory foretells to the run's `own` priors; leave it out where today contradicts it.

    Where the run has priors of its own it knows how noisy today is, and memory follows that: only how its workloads and stacks
    differ is taken from it. Both together are worth what each of them is (two priors of one variance, multiplied).
    """
    seen, worth = today(fields, known), min((one.freedom for some in known for one in some.values()), default=0.0)
    if not worth or not is_like(seen, worth):
        return own
    rows = sum(len(field.independent) for field in fields)
    level = 1.0 if rows < LEAST_ROWS else (worth + seen.freedom * seen.value) / (worth + seen.freedom)
    return tuple(
        {name: _both(mine.get(name), theirs.get(name), level, field.shared.freedom) for name in {**mine, **theirs}}
        for field, mine, theirs in zip(fields, own, known, strict=True)
    )


def _both(mine: Prior | None, theirs: Prior | None, level: float, seen: float) -> Prior:
    """The prior of a run, and that of memory at today's level. `seen`: the degrees of freedom of its field.

    Without a prior of the run no variance is surer than its field and memory together.
    """
    if theirs is None:
        assert mine is not None
        return mine
    theirs = Prior(theirs.variance * level, theirs.freedom, seen + theirs.freedom)
    if mine is None:
        return theirs
    if math.isinf(mine.freedom):
        return mine
    both = moderated.pool([Variance(one.variance, one.freedom) for one in (mine, theirs)])
    return Prior(both.value, both.freedom, mine.most + theirs.freedom)
