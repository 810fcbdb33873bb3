"""How often a run's intervals hold the truth, and how often it tells a difference of 1.5 ×: simulated. A table as Markdown.

    bench/power.py --runs 200

The layout is the demo's: five stacks on six workloads in rounds of all five. Starts scatter by 5 to 15 %, and the machine
drifts by 30 % from round to round. In a spoilt block everything scatters by so many times as much. No server is started.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy

import frame
from fairground.stats import differences
from fairground.stats import fit as fitting
from fairground.stats.differences import CALLED
from fairground.stats.fit import Fit, FitPoint

STEP = math.log(1.5)
LEVELS = {"a": 0.0, "b": 0.0, "c": STEP, "d": STEP, "e": 2 * STEP}
WORKLOADS = 6
SCATTER = 0.085
"""The middle one of the starts' standard deviations; nineteen of twenty lie between 5 and 15 %."""
DRIFT = 0.3
ABOUT = """\
| blocks | one block's scatter | intervals that hold the truth | differences of 1.5 × told | equal stacks called |
|--:|--|--:|--:|--:|
"""


@dataclass(frozen=True)
class SimulatedPair:
    """One pair of stacks of one workload: whether its interval holds the truth, the true difference, and whether one is told."""

    held: bool
    apart: float
    called: bool


def main() -> None:
    """Simulate all layouts and print the table."""
    parser = frame.parser(__doc__, write=False)
    parser.add_argument("--runs", type=int, default=200)
    options = parser.parse_args()
    frame.publish(ABOUT + "".join(f"{line}\n" for line in table(options.runs)), None)


def table(runs: int) -> Iterator[str]:
    """One row for each number of blocks and each way of spoiling one."""
    for blocks, spoilt in itertools.product((4, 2), (1.0, 2.0, 3.0)):
        pairs = [pair for seed in range(runs) for pair in judge(simulate(seed, blocks, spoilt))]
        told = [pair.called for pair in pairs if math.isclose(pair.apart, STEP)]
        equal = [pair.called for pair in pairs if not pair.apart]
        how = "as the others'" if spoilt == 1 else f"{spoilt:g} ×"
        shares = (sum(some) / len(some) for some in ([pair.held for pair in pairs], told, equal))
        yield f"| {blocks} | {how} | {' | '.join(f'{share:.1%}' for share in shares)} |"


def simulate(seed: int, blocks: int, spoilt: float) -> list[Fit[str]]:
    """The layouts of one run. Its spreads differ by workload, by stack, by cell and by hour; the last block may be spoilt."""
    draw = numpy.random.default_rng(seed)
    spreads = SCATTER * numpy.exp(
        draw.normal(0, 0.15, (WORKLOADS, 1)) + draw.normal(0, 0.15, len(LEVELS)) + draw.normal(0, 0.1, (WORKLOADS, len(LEVELS)))
    )
    spreads *= math.exp(draw.normal(0, 0.15))
    return [
        Fit(
            FitPoint(name, block, block, pace + level + draw.normal(0, own * (spoilt if block == blocks - 1 else 1)))
            for block, pace in enumerate(draw.normal(0, DRIFT, blocks).tolist())
            for (name, level), own in zip(LEVELS.items(), of_workload.tolist(), strict=True)
        )
        for of_workload in spreads
    ]


def judge(fits: Sequence[Fit[str]]) -> Iterator[SimulatedPair]:
    """All pairs of a run's stacks as its page judges them, held to the number of pairs of their workload."""
    for fit in fitting.together(fits):
        pairs = {pair: fit.against(*pair) for pair in itertools.combinations(fit.names, 2)}
        words = differences.differences_of(pairs)
        for (one, other), found in pairs.items():
            truth = LEVELS[one] - LEVELS[other]
            assert found is not None
            interval = found.interval()
            yield SimulatedPair(interval.low <= truth <= interval.high, abs(truth), words[one, other].word in CALLED)


if __name__ == "__main__":
    main()
