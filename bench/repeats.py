"""How often two runs of one suite give a claim the same verdict, by simulation: the rule as it is, and the one that it replaced.

    bench/repeats.py                 # a minute; measures nothing
    bench/repeats.py --pairs 40 --write docs/evidence.md

Each pair of runs has the same truth. Cells have rates that lie as far apart as those of the five replications do; a third of the
claims are about differences below 15 %. A trial scatters by some hundredths, some cells more than others, and a block moves all
of them. The machine is the same one in both runs: what it does from day to day is not in here, and makes it worse.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import frame
from fairground.claims import judgement, statement
from fairground.claims.cells import cell_of
from fairground.claims.numbers import values
from fairground.claims.statement import Statement, Term
from fairground.claims.verdict import ClaimJudgement, ClaimVerdict, VerdictGrade
from fairground.claims.windows import by_block
from fairground.model import Cell, CellSettings, Claim, Latency, Load, Outcomes, Result, Suite, Topology, Trial, Verdict
from fairground.stats.intervals import student

STACKS, BLOCKS, WINDOW_S = 16, 3, 3.0
LOADS = (100, 1000)
TRIAL_SD, CELLS_DIFFER, BLOCK_SD, LATENCY_SD = 0.05, 0.4, 0.06, 0.02
"""Of logarithms: a trial about its cell and block, how much cells differ in that, a block, and a latency beside its rate."""
FAR = ((0.0, 0.15), (0.15, 0.9), (0.9, 2.0))
"""How far, as a logarithm, two stacks are apart: a third of all claims each."""
TESTS = (
    "rps({0} w c100) / rps({1} w c100) > 1",
    "p99({0} w c100) / p99({1} w c100) < 1",
    "rps({0} w c1000) / rps({0} w c100) > 1",
    "rps({0} w c100) ~ rps({1} w c100)",
    "rps({0} w c100) / rps({0} w c1000) > rps({1} w c100) / rps({1} w c1000)",
    "rps({0} w c100) * mean({0} w c100) > 90k",
)


@dataclass(frozen=True)
class RepeatCount:
    """Of claims in pairs of runs: how many either run decided, how many of these alike, and how many oppositely.

    `clear` and `found`: verdicts that one run called clear, and how many of them the other had, too.
    """

    tested: int = 0
    decided: int = 0
    same: int = 0
    opposite: int = 0
    clear: int = 0
    found: int = 0

    def __add__(self, other: RepeatCount) -> RepeatCount:
        return RepeatCount(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))


def suite(count: int) -> Suite:
    """A suite that makes every kind of claim about `count` pairs of stacks."""
    pairs = [(f"s{place}:x", f"s{place + 1}:x") for place in range(0, count, 2)]
    claims = [
        Claim(f"{one}-{kind}", "it is so", test.format(one, other)) for one, other in pairs for kind, test in enumerate(TESTS)
    ]
    claims.append(Claim("first", "it is the first", "rps(s0:x w c100) / rps(* w c100) > 1"))
    return Suite("made", "Made", "", BLOCKS, 1, (), claims=tuple(claims), load=Load(100, window_s=WINDOW_S))


def truths(chance: random.Random, count: int) -> Mapping[tuple[str, int], float]:
    """The logarithm of each cell's rate."""
    found = dict[tuple[str, int], float]()
    for place in range(0, count, 2):
        level = chance.gauss(9, 1)
        for connections in LOADS:
            apart = chance.choice((-1, 1)) * chance.uniform(*chance.choice(FAR))
            found[f"s{place}:x", connections] = level
            found[f"s{place + 1}:x", connections] = level + apart
            level += chance.choice((-1, 1)) * chance.uniform(*chance.choice(FAR))
    return found


def run(chance: random.Random, true: Mapping[tuple[str, int], float], noise: Mapping[tuple[str, int], float]) -> list[Trial]:
    """One run: every cell once in each block."""
    made = list[Trial]()
    for block in range(1, BLOCKS + 1):
        pace = chance.gauss(0, BLOCK_SD)
        for (stack, connections), level in true.items():
            rate = math.exp(level + pace + chance.gauss(0, noise[stack, connections]))
            wait_us = round(1e6 * connections / rate * math.exp(chance.gauss(0, LATENCY_SD)))
            load = Load(connections, window_s=WINDOW_S)
            made.append(_trial(Cell(stack, "w", Topology(), load, CellSettings()), block, len(made) + 1, rate, wait_us))
    return made


def _trial(cell: Cell, block: int, number: int, rate: float, wait_us: int) -> Trial:
    latency = Latency(1000, wait_us, wait_us, 9 * wait_us, wait_us, 2 * wait_us, 3 * wait_us, 8 * wait_us, None)
    result = Result(
        "engine", (), WINDOW_S, Outcomes(1000, 0, {}, 0, 0, 0, 0, 0, 0, 0), None, None, round(rate * WINDOW_S),
        None, None, None, None, latency, None, None, (), None, (), None, None,
    )  # fmt: skip
    return Trial(
        number, block, 1, cell, 1, 0.0, WINDOW_S, {}, result, {}, None, None, (), (), Verdict.VALID, None, "", "",
    )  # fmt: skip


# ---------------------------------------------------------------- the rule that was replaced


def before(whole: Suite, trials: Sequence[Trial]) -> list[ClaimVerdict]:
    """The verdicts by one 95 % interval, whose spread adds up that of every term in quadrature."""
    found = []
    for claim in whole.claims:
        (parsed,) = statement.parse_all(claim.test or "")
        if parsed.pattern:
            names = sorted({one.cell.stack for one in trials} - {term.words[0] for term in parsed.terms})
            told = [_before(statement.with_stacks(parsed, {parsed.pattern: name}), whole, trials) for name in names]
            order = (ClaimVerdict.FAILS, ClaimVerdict.INCONCLUSIVE, ClaimVerdict.TIE, ClaimVerdict.HOLDS)
            found.append(min(told, key=order.index))
        else:
            found.append(_before(parsed, whole, trials))
    return found


def _before(parsed: Statement, whole: Suite, trials: Sequence[Trial]) -> ClaimVerdict:
    cells = {term: cell_of(term, whole, trials) for term in parsed.terms}
    logs = [math.log(one) for one in by_block(parsed, cells, trials)]
    parts = [_residual(term, trials) for term in parsed.terms]
    half = student(min(freedom for _, freedom in parts), 0.975) * math.sqrt(sum(square for square, _ in parts) / len(logs))
    low, high = fmean(logs) - half, fmean(logs) + half
    near = math.log1p(0.15 if parsed.op == "~" else 0.05)
    inside = -near <= low and high <= near
    if parsed.op == "~":
        outside = high < -near or low > near
        return ClaimVerdict.HOLDS if inside else ClaimVerdict.FAILS if outside else ClaimVerdict.INCONCLUSIVE
    if inside or low <= 0 <= high:
        return ClaimVerdict.TIE if inside else ClaimVerdict.INCONCLUSIVE
    return ClaimVerdict.HOLDS if (low > 0) == (parsed.op == ">") else ClaimVerdict.FAILS


def _residual(term: Term, trials: Sequence[Trial]) -> tuple[float, int]:
    """The variance of one term about cells and blocks, over all cells; every cell is in every block."""
    rows = [
        {block: math.log(value) for block, value in values(term, cell, trials).items()}
        for cell in dict.fromkeys(one.cell for one in trials)
    ]
    middle = fmean(log for row in rows for log in row.values())
    shift = {block: fmean(row[block] for row in rows) - middle for block in rows[0]}
    freedom = (len(rows) - 1) * (len(shift) - 1)
    return sum((row[block] - fmean(row.values()) - shift[block]) ** 2 for row in rows for block in shift) / freedom, freedom


# ---------------------------------------------------------------- pairs of runs


def pair(seed: int, count: int = STACKS) -> tuple[RepeatCount, RepeatCount, list[tuple[float, bool]]]:
    """Two runs of one truth: by the rule that was replaced, by the rule as it is, and what was foretold of each verdict."""
    chance, whole = random.Random(seed), suite(count)
    true = truths(chance, count)
    noise = {key: TRIAL_SD * math.exp(chance.gauss(0, CELLS_DIFFER)) for key in true}
    one, other = run(chance, true, noise), run(chance, true, noise)
    old = counted([(verdict, None) for verdict in before(whole, one)], [(verdict, None) for verdict in before(whole, other)])
    first, second = judgement.judge(whole, one), judgement.judge(whole, other)
    new = counted([(each.verdict, each.grade) for each in first], [(each.verdict, each.grade) for each in second])
    return old, new, list(foretold(first, second))


Told = tuple[ClaimVerdict, VerdictGrade | None]


def counted(first: Sequence[Told], second: Sequence[Told]) -> RepeatCount:
    """The claims of two runs, by how their verdicts agree."""
    ends = {ClaimVerdict.HOLDS, ClaimVerdict.FAILS}
    both = list(zip(first, second, strict=True))
    decided = [(a, b) for (a, _), (b, _) in both if a.decided or b.decided]
    clear = [
        (a, b) for (a, ours), (b, theirs) in both for a, b, grade in ((a, b, ours), (b, a, theirs)) if grade is VerdictGrade.CLEAR
    ]
    return RepeatCount(
        tested=len(both),
        decided=len(decided),
        same=sum(a is b for a, b in decided),
        opposite=sum({a, b} == ends for a, b in decided),
        clear=len(clear),
        found=sum(a is b for a, b in clear),
    )


def foretold(first: Sequence[ClaimJudgement], second: Sequence[ClaimJudgement]) -> Iterator[tuple[float, bool]]:
    """How likely a verdict was to be repeated, by its own word, and whether it was."""
    for one, other in zip(first, second, strict=True):
        for ours, theirs in ((one, other), (other, one)):
            if ours.again is not None:
                yield ours.again, ours.verdict is theirs.verdict


def table(old: RepeatCount, new: RepeatCount, told: Sequence[tuple[float, bool]], pairs: int) -> Iterator[str]:
    """The counts of both rules, and what was foretold against what came."""
    yield "# How often two runs give a claim the same verdict"
    yield ""
    yield f"Simulated: {pairs} pairs of runs of {BLOCKS} blocks, {new.tested // pairs} claims each."
    yield "Both runs of a pair have one truth and one machine."
    yield "What a machine does from day to day is not in it. `make bench-repeats` writes this section; it measures nothing."
    yield ""
    yield "| rule | decided by either run | the same verdict | opposite | clear verdicts | found again |"
    yield "|--|--:|--:|--:|--:|--:|"
    for name, one in (("one interval, terms in quadrature", old), ("two grades, the statement's own spread", new)):
        clear = f"{one.clear} | {one.found / one.clear:.1%}" if one.clear else "– | –"
        yield f"| {name} | {one.decided} of {one.tested} | {one.same / one.decided:.1%} | {one.opposite} | {clear} |"
    yield ""
    yield "How likely a verdict was to come again, by its own word, and how often it came:"
    yield ""
    yield "| foretold | verdicts | came again |"
    yield "|--|--:|--:|"
    # a chance near 1 is no news: what matters is whether a low one is low
    bins = Counter(min(9, int(10 * share)) for share, _ in told)
    for place in sorted(bins):
        here = [came for share, came in told if min(9, int(10 * share)) == place]
        yield f"| {10 * place} to {10 * place + 10} % | {len(here)} | {sum(here) / len(here):.0%} |"


def main() -> None:
    """Simulate, and print or write the tables."""
    parser = frame.parser(__doc__)
    parser.add_argument("--pairs", type=int, default=40, help="pairs of runs (40)")
    parser.add_argument("--seed", type=int, default=1, help="the first seed (1)")
    options = parser.parse_args()
    old, new, told = RepeatCount(), RepeatCount(), list[tuple[float, bool]]()
    for seed in range(options.seed, options.seed + options.pairs):
        found = pair(seed)
        old, new = old + found[0], new + found[1]
        told += found[2]
    frame.publish("".join(f"{line}\n" for line in table(old, new, told, options.pairs)), options.write, "repeats")


if __name__ == "__main__":
    main()
