"""How often a run's intervals hold the truth, and how often it tells a difference of 1.5 ×: simulated. A table as Markdown.

    bench/power.py --runs 200

The layouts are five stacks on six workloads in rounds of all five (the demo has four workloads), that of its first look, two on
two, and that of `compare`, two on one. Starts scatter by 5 to 15 %, and the machine drifts by 30 % from round to round. In a
spoilt block everything scatters by so many times as much. Runs before were made on the same machine on other days. Today may be
noisier than they. No server is started.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy

import frame
from fairground.model.memory import SeenSpread
from fairground.stats import differences, memory
from fairground.stats.differences import CALLED
from fairground.stats.fit import Fit, FitPoint, together
from fairground.stats.memory import Known

STEP = math.log(1.5)
LEVELS = {"a": 0.0, "b": 0.0, "c": STEP, "d": STEP, "e": 2 * STEP}
SCATTER = 0.085
"""The middle one of the starts' standard deviations; nineteen of twenty lie between 5 and 15 %."""
DRIFT = 0.3
WAY = "goodput", True, "engine 1 s"
ABOUT = """\
| layout | blocks | one block's scatter | today's scatter | remembered | truth in the interval | 1.5 × told | equal called |
|--|--:|--|--|--|--:|--:|--:|
"""


@dataclass(frozen=True)
class SimulatedWorld:
    """A layout, and what is done to it. `runs`: so many are remembered, 0: the weak prior is all there is, None: no prior."""

    layout: str = "demo"
    blocks: int = 4
    spoilt: float = 1.0
    today: float = 1.0
    runs: int | None = None

    @property
    def levels(self) -> dict[str, float]:
        """The true level of each stack."""
        return LEVELS if self.layout == "demo" else {name: LEVELS[name] for name in "ac"}

    @property
    def workloads(self) -> int:
        return {"demo": 6, "first look": 2, "compare": 1}[self.layout]


WORLDS = [
    *(SimulatedWorld(blocks=4, spoilt=spoilt, runs=runs) for spoilt in (1, 2, 3) for runs in (None, 0, 5)),
    *(SimulatedWorld(blocks=2, spoilt=spoilt) for spoilt in (1, 2, 3)),
    *(SimulatedWorld(today=2, runs=runs) for runs in (None, 0, 5)),
    *(SimulatedWorld("first look", today=today, runs=runs) for today in (1, 2) for runs in (None, 0, 1, 5)),
    *(SimulatedWorld("compare", blocks=5, today=today, runs=runs) for today in (1, 2) for runs in (None, 0, 5)),
]


@dataclass(frozen=True)
class SimulatedPair:
    """One pair of stacks of one workload: whether its interval holds the truth, the true difference, and whether one is told."""

    held: bool
    apart: float
    called: bool


def main() -> None:
    """Simulate all worlds and print the table."""
    parser = frame.parser(__doc__, write=False)
    parser.add_argument("--runs", type=int, default=200)
    options = parser.parse_args()
    frame.publish(ABOUT + "".join(f"{line}\n" for line in table(WORLDS, options.runs)), None)


def table(worlds: Sequence[SimulatedWorld], runs: int) -> Iterator[str]:
    """One row for each world. A layout of two workloads is drawn more often, since it has few pairs."""
    for world in worlds:
        pairs = [pair for seed in range(runs * 36 // world.workloads**2) for pair in judge(*simulate(seed, world), world)]
        told = [pair.called for pair in pairs if math.isclose(pair.apart, STEP)]
        equal = [pair.called for pair in pairs if not pair.apart]
        spoilt, today = (f"{times:g} ×" if times > 1 else usual for times, usual in
                         ((world.spoilt, "as the others'"), (world.today, "as before")))  # fmt: skip
        remembered = (
            "nothing" if world.runs is None else f"{world.runs} run{'s' * (world.runs > 1)}" if world.runs else "the weak prior"
        )
        shares = (sum(some) / len(some) if some else None for some in ([pair.held for pair in pairs], told, equal))
        words = " | ".join("–" if share is None else f"{share:.1%}" for share in shares)
        yield f"| {world.layout} | {world.blocks} | {spoilt} | {today} | {remembered} | {words} |"


def simulate(seed: int, world: SimulatedWorld) -> tuple[list[Fit[str]], Known]:
    """The layouts of one run, and what is remembered of the runs before it.

    Spreads differ by workload, by stack and by cell, and again by day. The last block may be spoilt.
    """
    draw = numpy.random.default_rng(seed)
    shape = world.workloads, len(world.levels)
    usual = SCATTER * numpy.exp(draw.normal(0, 0.15, (shape[0], 1)) + draw.normal(0, 0.15, shape[1]) + draw.normal(0, 0.1, shape))

    def run(spoilt: float, today: float) -> list[Fit[str]]:
        spreads = usual * today * math.exp(draw.normal(0, 0.15))
        return [
            Fit(
                FitPoint(name, block, block, pace + level + draw.normal(0, own * (spoilt if block == world.blocks - 1 else 1)))
                for block, pace in enumerate(draw.normal(0, DRIFT, world.blocks).tolist())
                for (name, level), own in zip(world.levels.items(), of_workload.tolist(), strict=True)
            )
            for of_workload in spreads
        ]

    found = run(world.spoilt, world.today)
    if world.runs is None:
        return found, ()
    known = memory.remember([_seen(together(run(1.0, 1.0))) for _ in range(world.runs)], *WAY)
    return found, [{name: memory.prior_of(known, str(place), name) for name in fit.names} for place, fit in enumerate(found)]


def _seen(fits: Sequence[Fit[str]]) -> list[SeenSpread]:
    """The variances that one run leaves behind."""
    return [
        SeenSpread(*WAY, str(place), name if isinstance(name, str) else None, one.value, one.freedom)
        for place, fit in enumerate(fits)
        for name, one in fit.spreads.independent.items()
    ]


def judge(fits: Sequence[Fit[str]], known: Known, world: SimulatedWorld) -> Iterator[SimulatedPair]:
    """All pairs of a run's stacks as its page judges them, held to the number of pairs of their workload."""
    for fit in together(fits, known):
        pairs = {pair: fit.against(*pair) for pair in itertools.combinations(fit.names, 2)}
        words = differences.differences_of(pairs)
        for (one, other), found in pairs.items():
            truth = world.levels[one] - world.levels[other]
            assert found is not None
            interval = found.interval()
            yield SimulatedPair(interval.low <= truth <= interval.high, abs(truth), words[one, other].word in CALLED)


if __name__ == "__main__":
    main()
