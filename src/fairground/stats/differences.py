"""Whether a difference is real: paired log-ratios, verdict words, many comparisons at once, groups and ranks. Pure.

The unit of evidence is a block (or a pair of windows): one ratio each, in which what the machine did to both sides cancels.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from fairground.stats import moderated
from fairground.stats.intervals import Interval, student
from fairground.stats.moderated import Prior

if TYPE_CHECKING:
    import numpy

PRACTICAL = 0.03
"""A difference below this share is of no practical interest; inside ± this share two stacks are equivalent."""

EXACT_PAIRS = 14
"""Up to so many pairs all sign patterns are tried; beyond it a fixed sample of them."""


Name = TypeVar("Name", bound=Hashable)


class Word(StrEnum):
    """The four things that can be said of a ratio."""

    FASTER = "faster"
    SLOWER = "slower"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Difference:
    """One ratio and what can be said of it. `ratio` is None with fewer than two pairs: then nothing can be said.

    `p` is two-sided: sign-flip, or the moderated t where a prior was given. `p_holm` is p corrected for all comparisons of its
    table. `detectable` is the smallest change (0.04 is 4 %) that so many pairs of such a spread would show in 8 of 10 runs.
    """

    word: Word
    ratio: Interval | None
    p: float | None
    p_holm: float | None
    detectable: float | None


def of_pairs(
    ratios: Sequence[float],
    floor: float = 0.0,
    practical: float = PRACTICAL,
    confidence: float = 0.95,
    common: Prior | None = None,
) -> Difference:
    """What `ratios` (A over B, one for each pair, above zero) say of A where more is better.

    FASTER or SLOWER when the interval excludes 1 and the change is beyond `floor`, the noise seen between identical stacks;
    EQUIVALENT when the whole interval lies within ± `practical` (two one-sided tests, Schuirmann 1987); else INCONCLUSIVE.
    `common` is what the spreads of the run's comparisons have in common: interval and p are of the moderated t then.
    """
    logs = _logarithms(ratios)
    interval = moderated.t_interval(logs, common, confidence)
    if interval is None:
        return Difference(Word.INCONCLUSIVE, None, None, None, None)
    p = sign_flip(logs) if common is None else moderated.p_value(logs, common)
    return Difference(_word(interval, floor, practical), interval.exp(), p, p, detectable_change(logs, common=common))


def _word(logs: Interval, floor: float, practical: float) -> Word:
    bound = math.log1p(practical)
    if -bound < logs.low and logs.high < bound:
        return Word.EQUIVALENT
    if (logs.low > 0 or logs.high < 0) and abs(logs.middle) > math.log1p(floor):
        return Word.FASTER if logs.middle > 0 else Word.SLOWER
    return Word.INCONCLUSIVE


def table(
    rows: Mapping[Name, Sequence[float]], floor: float = 0.0, practical: float = PRACTICAL, common: Prior | None = None
) -> dict[Name, Difference]:
    """`of_pairs` for each row of a table of comparisons, held to their number.

    A row that its own interval would call, and that Holm's step-down procedure does not (p_holm > 0.05), becomes INCONCLUSIVE.
    So few pairs that no permutation test of so many rows could reach 0.05 (fewer than 6 for one row, 11 for thirty) are held to
    their number by the interval instead, at Bonferroni's confidence. With a prior no permutation is tried, and p is always used.
    """
    alone = {name: of_pairs(ratios, floor, practical, common=common) for name, ratios in rows.items()}
    known = {name: row.p for name, row in alone.items() if row.p is not None}
    corrected = dict(zip(known, holm(list(known.values())), strict=True))
    held = {}
    for name, row in alone.items():
        word = row.word
        if word in (Word.FASTER, Word.SLOWER):
            if common is not None or len(known) * 2 ** (1 - len(rows[name])) <= 0.05:
                word = word if corrected[name] <= 0.05 else Word.INCONCLUSIVE
            else:
                word = of_pairs(rows[name], floor, practical, 1 - 0.05 / len(known)).word
        held[name] = Difference(word, row.ratio, row.p, corrected.get(name), row.detectable)
    return held


def crossed(below: Sequence[float], above: Sequence[float]) -> list[float]:
    """Ratios above / below of values that were not measured in pairs: joined in the order given, as many as both have.

    Which value meets which does not move the mean of the log-ratios, and their spread is that of both sides together.
    """
    return [one / other for one, other in zip(above, below, strict=False)]


def sign_flip(logs: Sequence[float]) -> float:
    """Two-sided p of "no difference": the share of sign patterns whose mean is at least as far from 0 as the one seen.

    Exact up to EXACT_PAIRS pairs; beyond, 20,000 patterns drawn with a fixed seed, the seen one counted in. ValueError for none.
    Source: Fisher's randomisation test for matched pairs (The Design of Experiments, 1935).
    """
    if not logs:
        raise ValueError("a test of no pairs does not exist")
    seen = abs(math.fsum(logs)) * (1 - 1e-12)
    import numpy

    if len(logs) <= EXACT_PAIRS:
        sums = logs[0] + _patterns(len(logs) - 1) @ numpy.asarray(logs[1:])  # the mirrored half has the same distances
        return int((numpy.abs(sums) >= seen).sum()) / len(sums)
    drawn = numpy.random.default_rng(1).choice((-1.0, 1.0), size=(20_000, len(logs)))
    beyond = int((numpy.abs(drawn @ numpy.asarray(logs)) >= seen).sum())
    return (beyond + 1) / 20_001


@cache
def _patterns(count: int) -> numpy.ndarray[tuple[int, int], numpy.dtype[numpy.float64]]:
    """All patterns of `count` signs, one in each row."""
    import numpy

    return numpy.asarray(list(itertools.product((1.0, -1.0), repeat=count))).reshape(2**count, count)


def holm(p_values: Sequence[float]) -> list[float]:
    """p values corrected for their number, in the order given. Source: Holm, Scandinavian Journal of Statistics 1979."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    corrected, highest = [0.0] * len(p_values), 0.0
    for step, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - step) * p_values[place]))
        corrected[place] = highest
    return corrected


def detectable_change(logs: Sequence[float], power: float = 0.80, common: Prior | None = None) -> float | None:
    """The smallest change that a t test at 5 % would show with `power`, given the pairs' spread; None below two pairs.

    exp((t(.975) + t(power)) · s / √n) − 1: a normal approximation of the noncentral t, good from 4 degrees of freedom on.
    """
    if len(logs) < 2:
        return None
    sd, freedom = moderated.spread(logs, common)
    steps = student(freedom, 0.975) + student(freedom, power)
    return math.expm1(steps * sd / math.sqrt(len(logs)))


def noise_floor(ratios: Sequence[float], share: float = 0.95, common: Prior | None = None) -> float | None:
    """How far the mean ratio of two identical stacks may lie from 1 in a run of so many pairs, from an A/A control's ratios.

    exp(|mean| + t · s / √n) − 1, the far end of the A/A interval: what is smaller cannot be told from nothing. None below two.
    """
    interval = moderated.t_interval(_logarithms(ratios), common, share)
    return None if interval is None else math.expm1(max(abs(interval.low), abs(interval.high)))


@dataclass(frozen=True)
class Spread:
    """Standard deviation of one trial's logarithm, from `freedom` degrees of freedom."""

    sd: float
    freedom: int


def residual_spread(rows: Sequence[Mapping[int, float]]) -> Spread | None:
    """Spread of a trial about its cell and block: `rows` are cells, block → value above zero; blocks may be missing.

    log y = cell + block + error, fitted by alternating means (exact for complete tables); None without a degree of freedom.
    """
    logs = [{block: math.log(value) for block, value in row.items()} for row in rows if row]
    blocks = sorted({block for row in logs for block in row})
    freedom = sum(map(len, logs)) - len(logs) - len(blocks) + 1
    if not logs or freedom < 1:
        return None
    shift = dict.fromkeys(blocks, 0.0)
    level = [0.0] * len(logs)
    for _ in range(50):
        level = [math.fsum(value - shift[block] for block, value in row.items()) / len(row) for row in logs]
        for block in blocks:
            apart = [row[block] - level[place] for place, row in enumerate(logs) if block in row]
            shift[block] = math.fsum(apart) / len(apart)
    errors = [(value - level[place] - shift[block]) ** 2 for place, row in enumerate(logs) for block, value in row.items()]
    return Spread(math.sqrt(math.fsum(errors) / freedom), freedom)


def known_spread_interval(ratios: Sequence[float], spread: Spread, confidence: float = 0.95) -> Interval:
    """Interval of the mean ratio when the spread of one log-ratio is known from elsewhere. ValueError for no ratio."""
    logs = _logarithms(ratios)
    if not logs:
        raise ValueError("an interval of no ratios does not exist")
    mean = math.fsum(logs) / len(logs)
    half = student(spread.freedom, (1 + confidence) / 2) * spread.sd / math.sqrt(len(logs))
    return Interval(mean, mean - half, mean + half, len(logs), confidence).exp()


Levels = Mapping[str, Mapping[int, float]]
"""Stack → block → value, more is better."""


@dataclass(frozen=True)
class Standings:
    """How stacks stand to each other, by all pairs of them.

    `groups`: stacks that cannot be told apart, best first. A group is a stack and those below it that are not shown to be worse.
    A stack can stand in two, for being indistinguishable is not transitive. `ranks`: the best and the worst rank (1 is best)
    that a stack can have, which are as sure together as the pairs are: 95 %. `decided` of `pairs` are told apart or equivalent.
    """

    groups: tuple[tuple[str, ...], ...]
    ranks: Mapping[str, tuple[int, int]]
    decided: int = 0
    pairs: int = 0


def standings(levels: Levels, floor: float = 0.0, practical: float = PRACTICAL, common: Prior | None = None) -> Standings:
    """Groups and ranks of stacks from their values; pairs are formed in the blocks that both have.

    Words are held to the number of all pairs, since the order was chosen by looking. A group inside the one before it is left
    out. A stack's best rank lies behind all that are shown to be better than it, and its worst before all shown to be worse.
    Source of the ranks: Mogstad, Romano, Shaikh & Wilhelm, "Inference for Ranks", Review of Economic Studies 2024.
    """
    order = sorted(levels, key=lambda name: -math.fsum(_logarithms([*levels[name].values()])) / max(1, len(levels[name])))
    pairs = {(one, other): paired(levels[one], levels[other]) for one, other in itertools.combinations(order, 2)}
    words = table({pair: ratios for pair, ratios in pairs.items() if ratios}, floor, practical, common)
    better = {pair for pair, row in words.items() if row.word is Word.FASTER}
    better |= {(other, one) for (one, other), row in words.items() if row.word is Word.SLOWER}
    found: list[tuple[str, ...]] = []
    for place, head in enumerate(order):
        below = [name for name in order[place + 1 :] if (head, name) not in better]
        if not found or not {head, *below} <= set(found[-1]):
            found.append((head, *below))
    above = {name: sum((other, name) in better for other in order) for name in order}
    under = {name: sum((name, other) in better for other in order) for name in order}
    ranks = {name: (1 + above[name], len(order) - under[name]) for name in order}
    return Standings(tuple(found), ranks, sum(row.word is not Word.INCONCLUSIVE for row in words.values()), len(words))


def paired(above: Mapping[int, float], below: Mapping[int, float]) -> list[float]:
    """Ratios above / below in the blocks that both have, by block."""
    return [above[block] / below[block] for block in sorted(set(above) & set(below))]


def rank_correlation(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Kendall's tau-b of two rankings, −1 to 1; None for fewer than two values or where one side is all ties."""
    if len(left) != len(right):
        raise ValueError(f"pairs need equal lengths, not {len(left)} and {len(right)}")
    from scipy.stats import kendalltau

    found = float(kendalltau(left, right).statistic) if len(left) > 1 else math.nan
    return None if math.isnan(found) else found


def _logarithms(values: Sequence[float]) -> list[float]:
    if any(value <= 0 or not math.isfinite(value) for value in values):
        raise ValueError("a ratio needs finite values above zero")
    return [math.log(value) for value in values]
