"""Differences: intervals that cover, words that are not said too often, and corrections for their number."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairground.stats import differences
from fairground.stats.differences import DifferenceWord
from fairground.stats.fit import Estimate

RATIO = st.floats(0.2, 5, allow_nan=False)


def simulated(seed: int, effect: float, sd: float, pairs: int) -> list[float]:
    """Ratios of pairs whose logarithms are normal about log(effect)."""
    return list(numpy.exp(numpy.random.default_rng(seed).normal(math.log(effect), sd, pairs)))


def test_a_clear_difference_is_called_both_ways() -> None:
    """The same data, arms swapped, says the opposite word with the inverted ratio."""
    ratios = [1.10, 1.12, 1.08, 1.11, 1.09, 1.10]
    one, other = differences.of_pairs(ratios), differences.of_pairs([1 / ratio for ratio in ratios])
    assert (one.word, other.word) == (DifferenceWord.FASTER, DifferenceWord.SLOWER)
    assert one.ratio is not None and other.ratio is not None
    assert one.ratio.middle == pytest.approx(1 / other.ratio.middle)
    assert one.p == pytest.approx(other.p) and one.p is not None and one.p < 1e-4


def test_equal_within_the_practical_bound_is_equivalent() -> None:
    """An interval inside ±3 % is called equivalent even when it excludes 1."""
    assert differences.of_pairs([1.010, 1.011, 1.009, 1.010]).word is DifferenceWord.EQUIVALENT


def test_noise_is_inconclusive() -> None:
    """A wide interval about 1 says nothing."""
    assert differences.of_pairs([0.8, 1.3, 0.9, 1.2, 0.7, 1.25]).word is DifferenceWord.INCONCLUSIVE


@pytest.mark.parametrize("ratios", [[], [1.5]])
def test_too_few_pairs_say_nothing(ratios: list[float]) -> None:
    """Without a spread there is no interval, no p, and no word but inconclusive."""
    assert differences.of_pairs(ratios) == differences.Difference(DifferenceWord.INCONCLUSIVE, None, None, None, None)


def test_identical_stacks_are_called_different_in_about_one_of_twenty() -> None:
    """Over 400 simulated runs of 10 pairs the words faster and slower stay near the nominal 5 %."""
    words = [differences.of_pairs(simulated(seed, 1.0, 0.05, 10)).word for seed in range(400)]
    called = sum(word in (DifferenceWord.FASTER, DifferenceWord.SLOWER) for word in words)
    assert called <= 0.08 * 400


def test_a_real_difference_is_found_as_often_as_promised() -> None:
    """A change of the size called detectable is found in about 8 of 10 simulated runs."""
    ratios = simulated(1, 1.0, 0.05, 2000)[:20]
    change = differences.of_pairs(ratios).detectable
    assert change is not None
    sd = float(numpy.std(numpy.log(ratios), ddof=1))
    found = sum(
        differences.of_pairs(simulated(seed, 1 + change, sd, 20), practical=1e-6).word is DifferenceWord.FASTER
        for seed in range(300)
    )
    assert 0.70 <= found / 300 <= 0.90


def test_a_detectable_change_is_seen_beyond_the_floor() -> None:
    """Of simulated runs whose stacks differ by what is promised, 8 of 10 measure that beyond the floor, and not half of them."""
    promised = differences.differences_of({"a": Estimate(0.0, 0.01, 60.0, 6)}, 0.035)["a"].detectable
    assert promised is not None and promised > 0.04
    seen = numpy.random.default_rng(4).normal(math.log1p(promised), 0.01, 500)
    words = [differences.of_estimate(Estimate(float(middle), 0.01, 60.0, 6), 0.035).word for middle in seen]
    assert 0.75 <= words.count(DifferenceWord.FASTER) / 500 <= 0.85


def test_a_table_is_held_to_its_number() -> None:
    """One lucky row among many identical ones is not called; a strong one is."""
    rows = {f"row {number}": simulated(number, 1.0, 0.05, 12) for number in range(30)}
    rows["strong"] = simulated(99, 1.3, 0.05, 12)
    held = differences.table(rows)
    assert held["strong"].word is DifferenceWord.FASTER
    assert [name for name, row in held.items() if row.word in (DifferenceWord.FASTER, DifferenceWord.SLOWER)] == ["strong"]
    assert all(row.p_holm is not None and row.p is not None and row.p_holm >= row.p for row in held.values())


def test_a_table_of_few_pairs_is_held_to_its_number() -> None:
    """Three pairs that are called by themselves are not among sixty others; six that are far apart still are."""
    alone, others = {"a": [1.2, 1.3, 1.25]}, {str(number): [0.9, 1.0, 1.1] for number in range(60)}
    assert differences.table(alone)["a"].word is DifferenceWord.FASTER
    assert differences.table(alone | others)["a"].word is DifferenceWord.INCONCLUSIVE
    rows = {str(number): simulated(number, 1.0, 0.02, 6) for number in range(4)} | {"strong": simulated(9, 1.5, 0.02, 6)}
    assert [name for name, row in differences.table(rows).items() if row.word is DifferenceWord.FASTER] == ["strong"]


@given(st.dictionaries(st.integers(0, 9), st.lists(RATIO, max_size=6), max_size=10))
def test_word_and_p_come_from_one_test(rows: dict[int, list[float]]) -> None:
    """What is called has a corrected p of 0.05 at most, in a table and, with its own p, alone."""
    for found in (differences.table(rows), {name: differences.of_pairs(ratios) for name, ratios in rows.items()}):
        assert all(row.p_holm is not None and row.p_holm <= 0.05 for row in found.values() if row.word in differences.CALLED)


def test_five_starts_can_be_called() -> None:
    """Their p is that of the word: five slower starts are no `slower` beside a p of 1/16."""
    found = differences.of_pairs([0.95, 0.96, 0.94, 0.955, 0.945], practical=0.01)
    assert found.word is DifferenceWord.SLOWER and found.p is not None and found.p < 0.001


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_never_lowers_and_keeps_the_order(p_values: list[float]) -> None:
    """Corrected values are between p and 1, and ordered as p is."""
    corrected = differences.holm(p_values)
    assert all(p <= held <= 1 for p, held in zip(p_values, corrected, strict=True))
    ordered = sorted(zip(p_values, corrected, strict=True))
    assert [held for _, held in ordered] == sorted(corrected)


def test_holm_by_hand() -> None:
    """Holm's own example: 4 × the smallest, 3 × the next, never falling."""
    assert differences.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_noise_floor_is_the_far_end_of_the_interval() -> None:
    """An A/A control that reads 1 % apart with some spread has a floor beyond 1 %."""
    floor = differences.noise_floor(Estimate(0.01, 0.004, 3.0, 4))
    assert floor is not None and 0.01 < floor < 0.03
    assert differences.noise_floor(Estimate(-0.01, 0.004, 3.0, 4)) == pytest.approx(floor)
    assert differences.noise_floor(None) is None


def standing(levels: Mapping[str, float], error: float, floor: float = 0.0) -> differences.Standings:
    """The standings of stacks at these levels (log), every pair known with this error and 20 degrees of freedom."""
    order = sorted(levels, key=lambda name: -levels[name])
    pairs = {
        (one, other): None if other == "elsewhere" else Estimate(levels[one] - levels[other], error, 20.0, 4)
        for one, other in itertools.combinations(order, 2)
    }
    return differences.standings(order, pairs, floor)


def test_groups_join_what_cannot_be_told_apart() -> None:
    """Two equal stacks share a group; a slower one stands alone."""
    levels = {"slow": -0.7, "b": 0.0, "a": 0.001}
    found = standing(levels, 0.005)
    assert found.groups == (("a", "b"), ("slow",)) and len(found.words) == 3
    assert standing(levels, 0.005, floor=2.0).groups == (("a", "b", "slow"),)


def test_who_is_like_the_best_is_not_like_each_other() -> None:
    """The first and the third are told apart, and the second from neither: two letters, and the second has both."""
    found = differences.letter_groups(["a", "b", "c"], {("a", "c")})
    assert found == (("a", "b"), ("b", "c"))
    assert differences.letter_groups(["a", "b", "c"], {("b", "c")}) == (("a", "b"), ("a", "c"))
    assert differences.letter_groups(["a", "b", "c"], set()) == (("a", "b", "c"),)
    assert differences.letter_groups([], set()) == ()


@st.composite
def relations(draw: st.DrawFn) -> tuple[list[str], set[tuple[str, str]]]:
    """Names in an order, and any set of pairs of them, either name first."""
    order = [f"stack{number}" for number in range(draw(st.integers(1, 9)))]
    pairs = [pair for pair in itertools.permutations(order, 2) if draw(st.integers(0, 3)) == 0]
    return order, set(pairs)


@given(relations())
def test_names_share_a_letter_if_and_only_if_they_are_not_told_apart(given: tuple[list[str], set[tuple[str, str]]]) -> None:
    """So it is for any relation; each set is as large as it can be, and none can be left out."""
    order, apart = given
    groups = differences.letter_groups(order, apart)

    def shared(found: Sequence[tuple[str, ...]]) -> set[tuple[str, str]]:
        return {pair for group in found for pair in itertools.combinations_with_replacement(group, 2)}

    alike = {pair for pair in itertools.combinations_with_replacement(order, 2) if pair not in apart and pair[::-1] not in apart}
    assert shared(groups) == alike
    for group in groups:
        assert [name for name in order if name not in group and all((min(name, m), max(name, m)) in alike for m in group)] == []
        assert shared([other for other in groups if other is not group]) != alike


def test_ranks() -> None:
    """A clear winner holds rank 1; two that are alike share ranks 2 and 3; who is held against nobody may have any rank."""
    levels = {"first": 0.7, "second": 0.01, "third": 0.0}
    found = standing(levels, 0.05)
    assert found.ranks == {"first": (1, 1), "second": (2, 3), "third": (2, 3)} and len(found.words) == 3
    alone = standing(levels | {"elsewhere": -9.0}, 0.05)
    assert alone.ranks == {"first": (1, 2), "second": (2, 4), "third": (2, 4), "elsewhere": (1, 4)}


def test_holm_holds_estimates_to_their_number() -> None:
    """A row that is called alone is not called among many that are nothing."""
    one, nothing = Estimate(0.08, 0.03, 20.0, 2), {str(number): Estimate(0.0, 0.03, 20.0, 2) for number in range(40)}
    assert differences.differences_of({"a": one})["a"].word is DifferenceWord.FASTER
    found = differences.differences_of({"a": one, "none": None} | nothing)
    assert found["a"].word is DifferenceWord.INCONCLUSIVE and found["a"].p_holm == pytest.approx(
        41 * differences.of_estimate(one).p
    )
    assert found["none"] == differences.Difference(DifferenceWord.INCONCLUSIVE, None, None, None, None)


def test_words_of_an_estimate() -> None:
    """Far and sure is called, beyond the floor only; sure and near is equivalent; else nothing is said."""
    sure, near, unsure = Estimate(-0.1, 0.01, 9.0, 6), Estimate(0.004, 0.005, 9.0, 6), Estimate(0.1, 0.1, 9.0, 6)
    words = [differences.of_estimate(one).word for one in (sure, near, unsure)]
    assert words == [DifferenceWord.SLOWER, DifferenceWord.EQUIVALENT, DifferenceWord.INCONCLUSIVE]
    assert differences.of_estimate(sure, floor=0.2).word is DifferenceWord.INCONCLUSIVE
    found = differences.of_estimate(sure)
    assert found.ratio is not None and found.ratio.middle == pytest.approx(math.exp(-0.1)) and found.p == sure.p
    assert found.detectable == pytest.approx(math.expm1((2.262157 + 0.883404) * 0.01), rel=1e-5)


def test_rank_correlation() -> None:
    """The same order is 1, the reverse −1, a constant has none."""
    assert differences.rank_correlation([1, 2, 3], [10, 20, 30]) == 1
    assert differences.rank_correlation([1, 2, 3], [3, 2, 1]) == -1
    assert differences.rank_correlation([1, 2, 3], [5, 5, 5]) is None
    assert differences.rank_correlation([1], [1]) is None
    with pytest.raises(ValueError, match="equal lengths"):
        differences.rank_correlation([1], [1, 2])


def test_no_ratio_of_nothing() -> None:
    """Zero and infinity are no ratios."""
    for bad in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="above zero"):
            differences.of_pairs([1.0, bad])
