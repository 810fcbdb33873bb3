"""Find the blocks in which everything scattered more than in the others, so that a bad minute does not decide. Pure.

Each block is tested against the others by the F ratio of their errors, over all stacks and workloads. One that is beyond chance
is *spoilt*: its values still count, by the inverse of its variance. Blocks are tested as a whole. A single stack or workload
that is off in one round says more of itself than of the machine.

Fewer than half of the blocks can be spoilt, and none of fewer than LEAST_BLOCKS: of two blocks nobody can say which is the bad
one. `bench/power.py` simulates it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from fairground.stats import moderated
from fairground.stats.moderated import Variance

LEAST_BLOCKS = 4
"""Of fewer blocks the calm ones say too little of what is usual."""
LEVEL = 0.05
"""The share of runs in which a block is taken for spoilt though none is."""
PASSES = 8
"""Most turns of finding blocks and fitting again without them."""
CLOSE = 0.02
"""Variances that change by less from turn to turn are found."""


def spoilt_blocks(errors: Sequence[Mapping[int, Variance]], before: Mapping[int, float]) -> dict[int, float]:
    """Spoilt blocks, and how many times the others' variance they have.

    `errors`: by field and block the variance of what is left over, as a share of what was foretold with those `before`.
    """
    from scipy.special import fdtrc

    blocks = dict.fromkeys(number for field in errors for number in field)
    if len(blocks) < LEAST_BLOCKS:
        return {}
    known = {number: moderated.pool([field[number] for field in errors if number in field]) for number in blocks}
    calm = moderated.pool([one for number, one in known.items() if number not in before])
    if not calm.value:
        return dict(before)
    found = {number: max(1.0, times * known[number].value / calm.value) for number, times in before.items() if number in known}
    if 2 * (len(found) + 1) >= len(blocks):
        return found
    worst = max((number for number in known if number not in found), key=lambda number: known[number].value)
    others = moderated.pool([one for number, one in known.items() if number != worst and number not in found])
    ratio = known[worst].value / others.value if others.value else math.inf
    if math.isfinite(ratio) and fdtrc(known[worst].freedom, others.freedom, ratio) * len(blocks) < LEVEL:
        found[worst] = ratio
    return found


def is_settled(found: Mapping[int, float], before: Mapping[int, float]) -> bool:
    """True if another turn would find the same."""
    return all(number in before and abs(math.log(times / before[number])) < CLOSE for number, times in found.items())
