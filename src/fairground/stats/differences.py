"""Tell whether a difference is real: paired log-ratios, verdict words, many comparisons at once, groups and ranks. Pure.

The unit of evidence is a trial beside others (`fit`), or a pair of windows: one ratio each, in which what the machine did to both
sides cancels.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from fairground.stats.fit import Estimate
from fairground.stats.intervals import Interval, logarithms_of, mean_and_error_of, ratio_interval, student

PRACTICAL = 0.03
"""A difference below this share is of no practical interest; inside ± this share two stacks are equivalent."""

Name = TypeVar("Name", bound=Hashable)


class DifferenceWord(StrEnum):
    """The four things that can be said of a ratio."""

    FASTER = "faster"
    SLOWER = "slower"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"


CALLED = (DifferenceWord.FASTER, DifferenceWord.SLOWER)


@dataclass(frozen=True)
class Difference:
    """One ratio and what can be said of it. `ratio` is None with fewer than two pairs: then nothing can be said.

    `p` is that of a two-sided t test, and `p_holm` is p corrected for all comparisons of its table.
    `detectable` is the smallest change (0.04 is 4 %) that so much evidence of such a spread would show in 8 of 10 cases.
    """

    word: DifferenceWord
    ratio: Interval | None
    p: float | None
    p_holm: float | None
    detectable: float | None


def of_estimate(found: Estimate | None, floor: float = 0.0, confidence: float = 0.95, practical: float = PRACTICAL) -> Difference:
    """Judge A by an estimated log-ratio of A over B, where more is better.

    FASTER or SLOWER when the interval excludes 1 and the change is beyond `floor`, the noise seen between identical stacks;
    EQUIVALENT when the whole interval lies within ± `practical` (two one-sided tests, Schuirmann 1987); else INCONCLUSIVE.
    """
    if found is None:
        return Difference(DifferenceWord.INCONCLUSIVE, None, None, None, None)
    interval = found.interval(confidence)
    return Difference(_word(interval, practical, floor), interval.exp(), found.p, found.p, _detectable(found, 1, floor))


def of_pairs(ratios: Sequence[float], practical: float = PRACTICAL) -> Difference:
    """Judge A by `ratios` of A over B (one for each pair, above zero), by Student's t."""
    return of_estimate(estimate_of(ratios), practical=practical)


def estimate_of(ratios: Sequence[float]) -> Estimate | None:
    """The mean logarithm of the ratios of pairs, with Student's error; None for fewer than two, which have no spread."""
    logs, count = logarithms_of(ratios), len(ratios)
    if count < 2:
        return None
    return Estimate(*mean_and_error_of(logs), count - 1, count)


def _word(logs: Interval, practical: float, floor: float = 0.0) -> DifferenceWord:
    bound = math.log1p(practical)
    if -bound < logs.low and logs.high < bound:
        return DifferenceWord.EQUIVALENT
    if (logs.low > 0 or logs.high < 0) and abs(logs.middle) > math.log1p(floor):
        return DifferenceWord.FASTER if logs.middle > 0 else DifferenceWord.SLOWER
    return DifferenceWord.INCONCLUSIVE


def differences_of(rows: Mapping[Name, Estimate | None], floor: float = 0.0) -> dict[Name, Difference]:
    """Judge each row of a table of comparisons as `of_estimate` does, held to their number.

    A row that its own interval would call, and that Holm's step-down procedure does not (p_holm > 0.05), becomes INCONCLUSIVE.
    """
    held = _corrected({name: of_estimate(found, floor) for name, found in rows.items()})
    number = sum(found is not None for found in rows.values())
    return {
        name: row if found is None else replace(row, detectable=_detectable(found, number, floor))
        for (name, row), found in zip(held.items(), rows.values(), strict=True)
    }


def _detectable(found: Estimate, number: int, floor: float) -> float:
    """The smallest change that one of so many comparisons would show in 8 of 10 cases, beyond the noise floor.

    A t test at a level shows exp((t(1 − level / 2) + t(0.80)) · error) − 1: a normal approximation of the noncentral t, good from
    4 degrees of freedom on. A change as large as the floor is measured beyond it in half of all cases only.
    """
    least = max(math.log1p(floor), student(found.freedom, 1 - 0.05 / number / 2) * found.error)
    return math.expm1(least + student(found.freedom, 0.80) * found.error)


def table(rows: Mapping[Name, Sequence[float]]) -> dict[Name, Difference]:
    """Judge each row of a table of pairs as `of_pairs` does, held to their number."""
    return differences_of({name: estimate_of(ratios) for name, ratios in rows.items()})


def _corrected(alone: Mapping[Name, Difference]) -> dict[Name, Difference]:
    known = {name: row.p for name, row in alone.items() if row.p is not None}
    corrected = dict(zip(known, holm(list(known.values())), strict=True))
    return {
        name: replace(
            row,
            p_holm=corrected.get(name),
            word=DifferenceWord.INCONCLUSIVE if row.word in CALLED and corrected[name] > 0.05 else row.word,
        )
        for name, row in alone.items()
    }


def cross_ratios(below: Sequence[float], above: Sequence[float]) -> list[float]:
    """Ratios above / below of values that were not measured in pairs: joined in the order given, as many as both have.

    Which value meets which does not move the mean of the log-ratios, and their spread is that of both sides together.
    """
    return [one / other for one, other in zip(above, below, strict=False)]


def holm(p_values: Sequence[float]) -> list[float]:
    """p values corrected for their number, in the order given. Source: Holm, Scandinavian Journal of Statistics 1979."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    corrected, highest = [0.0] * len(p_values), 0.0
    for step, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - step) * p_values[place]))
        corrected[place] = highest
    return corrected


def noise_floor(found: Estimate | None) -> float | None:
    """The share by which identical stacks may differ in a run, from what an A/A control reads; None where it reads nothing.

    exp(|middle| + t · error) − 1, the far end of the interval: what is smaller cannot be told from nothing.
    """
    if found is None:
        return None
    interval = found.interval(0.95)
    return math.expm1(max(abs(interval.low), abs(interval.high)))


@dataclass(frozen=True)
class Standings:
    """The standing of stacks by all pairs of them, in which no two statements contradict each other.

    `groups`: largest sets of stacks of which no two are told apart, best first. Two stacks share a group if, and only if, they
    are not told apart. A stack may stand in several, for being indistinguishable is not transitive. `ranks`: the best and the
    worst rank (1 is best) that a stack can have, as sure together as the pairs are: 95 %. Those of two stacks that are not told
    apart overlap. `words`: what is said of each pair.
    """

    groups: tuple[tuple[str, ...], ...]
    ranks: Mapping[str, tuple[int, int]]
    words: Mapping[tuple[str, str], Difference]


def standings(
    order: Sequence[str],
    pairs: Mapping[tuple[str, str], Estimate | None],
    floor: float = 0.0,
) -> Standings:
    """Compute groups, ranks and words of stacks, given in falling order. `pairs`: the log-ratio of the first over the second.

    Words are held to the number of all pairs, since the order was chosen by looking. A stack's best rank lies behind all that
    are shown to be better than it, and its worst before all shown to be worse. Source of the ranks: Mogstad, Romano, Shaikh &
    Wilhelm, "Inference for Ranks", Review of Economic Studies 2024.
    """
    words = differences_of({pair: found for pair, found in pairs.items() if found is not None}, floor)
    better = {pair for pair, row in words.items() if row.word is DifferenceWord.FASTER}
    better |= {(other, one) for (one, other), row in words.items() if row.word is DifferenceWord.SLOWER}
    falling = _falling(order, better)
    return Standings(letter_groups(falling, better), _ranks(falling, better), words)


def _falling(order: Sequence[str], better: Collection[tuple[str, str]]) -> list[str]:
    """The names in falling order, none before one that is shown to be better than it; unless they go round in a circle."""
    left, found = list(order), list[str]()
    while left:
        first = next((name for name in left if not any((other, name) in better for other in left)), left[0])
        left.remove(first)
        found.append(first)
    return found


def _ranks(order: Sequence[str], better: Collection[tuple[str, str]]) -> dict[str, tuple[int, int]]:
    """The best and the worst rank of each name. The worst is no better than the best of any that it is not told apart from."""
    best = {name: 1 + sum((other, name) in better for other in order) for name in order}
    worst = {name: len(order) - sum((name, other) in better for other in order) for name in order}
    alike = {name: [one for one in order if (name, one) not in better and (one, name) not in better] for name in order}
    return {name: (best[name], max(worst[name], *(best[one] for one in alike[name]))) for name in order}


def letter_groups(order: Sequence[str], apart: Collection[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    """Choose sets of names such that two names share a set if, and only if, they are not `apart`. `order` is falling.

    Each set is as large as it can be, and none can be left out. Source: the compact letter display of Piepho, "An algorithm for
    a letter-based representation of all-pairwise comparisons", Journal of Computational and Graphical Statistics 2004. His
    columns are split at each difference, and there may be exponentially many. Here a set grows around each pair that has none.
    """
    alike = {name: {other for other in order if not {(name, other), (other, name)} & set(apart)} for name in order}
    groups = list[tuple[str, ...]]()
    for place, head in enumerate(order):
        for other in order[place:]:
            if other in alike[head] and not any({head, other} <= set(group) for group in groups):
                groups.append(_largest_set(order, (head, other), alike))
    found = sorted(groups, key=lambda group: [order.index(name) for name in group])
    return tuple(_without_needless(found))


def _largest_set(order: Sequence[str], start: Collection[str], alike: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """Add to `start`, best first, whoever is like all that are in it."""
    members = set(start)
    for name in order:
        if all(name in alike[member] for member in members):
            members.add(name)
    return tuple(name for name in order if name in members)


def _without_needless(groups: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Leave out, from the end, each group whose pairs all stand together in others."""
    kept = list(groups)
    for group in reversed(groups):
        others = [set(other) for other in kept if other is not group]
        pairs = itertools.combinations_with_replacement(group, 2)
        if all(any({one, other} <= members for members in others) for one, other in pairs):
            kept.remove(group)
    return kept


def pair_ratios(above: Mapping[int, float], below: Mapping[int, float]) -> list[float]:
    """Ratios above / below in the blocks that both have, by block."""
    return [above[block] / below[block] for block in sorted(set(above) & set(below))]


def paired_interval_of(above: Mapping[int, float], below: Mapping[int, float], confidence: float) -> Interval | None:
    """The interval of above / below, paired by block; None where fewer than two blocks have both."""
    blocks = sorted(set(above) & set(below))
    return ratio_interval([above[block] for block in blocks], [below[block] for block in blocks], confidence)


def rank_p(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Two-sided p of no order in common, by Kendall's tau; exact where neither side has ties. None where there is no tau."""
    from scipy.stats import kendalltau

    if rank_correlation(left, right) is None:
        return None
    return float(kendalltau(left, right).pvalue)


def rank_correlation(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Kendall's tau-b of two rankings, −1 to 1; None for fewer than two values or where one side is all ties."""
    if len(left) != len(right):
        raise ValueError(f"pairs need equal lengths, not {len(left)} and {len(right)}")
    from scipy.stats import kendalltau

    found = float(kendalltau(left, right).statistic) if len(left) > 1 else math.nan
    return None if math.isnan(found) else found
