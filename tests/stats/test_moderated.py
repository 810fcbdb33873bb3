"""Few blocks of many stacks: what their variances have in common, and what that makes of each."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import replace

import pytest

from fairground.stats import moderated
from fairground.stats.moderated import Prior, Spreads, Variance


def variances(seed: int, count: int, values: int, unlike: float = 0.0, sd: float = 0.03) -> list[Variance]:
    """Variances of normal samples; their true standard deviations differ by e^±`unlike`."""
    draw = random.Random(seed)
    spreads = [sd * math.exp(unlike * draw.gauss(0, 1)) for _ in range(count)]
    return [Variance(statistics.variance([draw.gauss(0, one) for _ in range(values)]), values - 1) for one in spreads]


def field(known: Sequence[Variance]) -> Spreads:
    """A field whose stacks have these variances."""
    freedom = math.fsum(one.freedom for one in known)
    shared = math.fsum(one.value * one.freedom for one in known) / freedom if freedom else 0.0
    return Spreads(Variance(shared, freedom), dict(enumerate(known)))


def test_variances_that_agree_are_one() -> None:
    """Samples of one true spread: two values are then as good as many."""
    common = moderated.prior(variances(1, 60, 2))
    assert common is not None and common.freedom > 2 and common.variance == pytest.approx(0.03**2, rel=0.5)
    found = moderated.of(Variance(0.0004, 1), common)
    assert found.freedom > 3 and 0.0004 < found.value <= common.variance


def test_many_values_speak_for_themselves() -> None:
    """What the others do moves the variance of a long sample by little."""
    common = moderated.prior(variances(1, 20, 2, unlike=1.0, sd=0.3))
    (long,) = variances(2, 1, 200, sd=0.03)
    assert moderated.of(long, common).value == pytest.approx(long.value, rel=0.5)


def test_nothing_in_common() -> None:
    """Too few variances, and ones of nothing, give no prior; each is its own then, and one that is not known stays so."""
    assert moderated.prior(variances(1, 5, 3)) is None
    assert moderated.prior([]) is None
    assert moderated.prior([Variance(0.0, 1)] * 20) is None
    assert moderated.of(Variance(0.01, 2), None) == Variance(0.01, 2)
    assert moderated.of(Variance(0.0, 0), None).freedom == 0


def test_a_variance_that_nobody_knows_is_the_prior() -> None:
    """A stack without a degree of freedom has what the others have in common, no surer than that is known."""
    assert moderated.of(Variance(0.0, 0), Prior(0.04, 5.0, 20)) == Variance(0.04, 5.0)
    assert moderated.of(Variance(0.0, 0), Prior(0.04, math.inf, 20)) == Variance(0.04, 20)


def test_a_prior_of_smyth() -> None:
    """Drawn from his model, its parameters are found again: d0 = 6 and s0 = 0.05."""
    draw = random.Random(3)
    made = []
    for _ in range(4000):
        sd = 0.05 * math.sqrt(6 / sum(draw.gauss(0, 1) ** 2 for _ in range(6)))
        made.append(Variance(statistics.variance([draw.gauss(0, sd) for _ in range(4)]), 3))
    common = moderated.prior(made)
    assert common is not None
    assert common.variance == pytest.approx(0.05**2, rel=0.1) and common.freedom == pytest.approx(6, rel=0.25)


def test_agreement_is_taken_a_standard_error_lower() -> None:
    """Of runs whose true spreads are one, few find them all alike by chance: what a sample of variances says is itself uncertain."""
    found = [moderated.prior(variances(seed, 12, 3)) for seed in range(200)]
    alike = sum(common is not None and math.isinf(common.freedom) for common in found)
    assert alike / len(found) < 0.35


def test_no_variance_has_more_than_all_degrees_of_freedom() -> None:
    """Twelve samples of three values have 24 together: none is surer than that, however much they agree."""
    made = variances(1, 12, 3)
    common = moderated.prior(made)
    assert common is not None and common.most == 24
    for freedom in (1000.0, math.inf):
        assert moderated.of(made[0], replace(common, freedom=freedom)).freedom == 24


def test_a_stack_of_two_modes_keeps_its_own_spread() -> None:
    """A variance that its calm prior hardly foretells is not made smaller by it."""
    common = Prior(0.03**2, 8.0, 20)
    assert moderated.of(Variance(0.18, 1), common) == Variance(0.18, 9.0)
    assert moderated.of(Variance(0.0008, 1), common).value == pytest.approx(0.03**2, rel=0.05)


def test_a_noisy_workload_is_not_calmed_by_the_others() -> None:
    """One field is 17 times as noisy as six others: its prior says so, and theirs does not rise for it."""
    noisy, calm = list[float](), list[float]()
    for seed in range(50):
        made = [field(variances(seed * 10 + place, 5, 2, sd=0.5 if place == 0 else 0.03)) for place in range(7)]
        first, *rest = moderated.priors(made)
        noisy += [math.sqrt(one.variance) for one in first.values()]
        calm += [math.sqrt(one.variance) for field in rest for one in field.values()]
    assert statistics.median(noisy) > 0.3 and statistics.median(calm) < 0.045


def test_a_stack_that_is_noisy_everywhere_is_known_to_be() -> None:
    """One stack of eight is ten times as noisy on all six fields: its prior says so, and those of the others do not rise for it."""
    noisy, calm = list[float](), list[float]()
    for seed in range(50):
        made = []
        for place in range(6):
            (loud,) = variances(seed * 100 + place, 1, 2, sd=0.3)
            made.append(field([loud, *variances(seed * 100 + 50 + place, 7, 2)]))
        for first, *rest in ([prior.variance for prior in found.values()] for found in moderated.priors(made)):
            noisy.append(math.sqrt(first))
            calm += map(math.sqrt, rest)
    assert statistics.median(noisy) > 0.15 and statistics.median(calm) < 0.045


def test_no_variance_is_surer_than_its_field_and_its_stack() -> None:
    """Both are estimates: what borrows from them has fewer degrees of freedom than either."""
    made = [field(variances(seed, 8, 2)) for seed in range(6)]
    most = [one.most for found in moderated.priors(made) for one in found.values()]
    every = math.fsum(one.freedom for some in made for one in some.stacks.values())
    assert min(most) > 0 and max(most) <= every / 2
    assert moderated._joined(Variance(4.0, 10.0), Variance(2.0, 15.0), 3.0) == Prior(8.0, 3.0, pytest.approx(6.0))


def test_parameters_that_were_fitted_make_agreement_less_sure() -> None:
    """Variances over levels and shares that were fitted to them agree better than they should."""
    known = variances(1, 30, 3)
    assert moderated._in_common(known, 60.0, 20.0).freedom < moderated._in_common(known, 60.0).freedom


def test_two_stacks_of_each_field_differ_by_fields_alone() -> None:
    """Residuals of two stacks are each other's: nothing tells which of them is noisy."""
    pairs = [field(variances(seed, 2, 3)) for seed in range(8)]
    found = []
    for names in ([("a", "b")] * 8, [(f"a{number}", f"b{number}") for number in range(8)]):
        named = [
            replace(one, stacks=dict(zip(two, one.stacks.values(), strict=True))) for one, two in zip(pairs, names, strict=True)
        ]
        found.append([set(one.values()) for one in moderated.priors(named)])
    assert found[0] == found[1]
    assert [len(one) for one in found[0]] == [1] * 8 and len(set().union(*found[0])) == 8


def test_fields_too_few_to_differ_share_one_prior() -> None:
    """Two fields, or variances too few in all: what is known is known of all; a field that does not vary takes it, too."""
    some = [field(variances(seed, 5, 3)) for seed in range(7)]
    two = [one for found in moderated.priors(some[:2]) for one in found.values()]
    assert len(two) == 10 and len(set(two)) == 1
    assert moderated.priors([field(variances(1, 3, 3))]) == ({},)
    *others, still = moderated.priors([*some, Spreads(Variance(0.0, 0), {"still": Variance(0.0, 0)})])
    assert still == {"still": moderated.prior([one for spreads in some for one in spreads.independent.values()])}
    assert len({prior for found in others for prior in found.values()}) == 35


def test_most_stacks_may_not_vary_at_all() -> None:
    """Four stacks that were measured once without any scatter, beside three that have some everywhere, are an answer too."""
    made = [field(variances(seed, 3, 3)) for seed in range(6)]
    still = dict.fromkeys(("w", "x", "y", "z"), Variance(0.0, 1))
    made[0] = replace(made[0], stacks={**made[0].stacks, **still})
    found = moderated.priors(made)
    assert all(prior.variance > 0 for one in found for prior in one.values()) and found[0]["z"].variance < found[0][0].variance


def test_two_stacks_have_one_variance() -> None:
    """Their residuals are each other's: counted twice, they would seem to agree."""
    one = Variance(0.01, 3)
    assert Spreads(one, {"a": one, "b": one}).independent == {frozenset("ab"): one}
    assert Spreads(one, {"a": one, "b": one, "c": Variance(0.0, 0)}).independent == {frozenset("ab"): one}
    assert Spreads(one, {"a": one, "b": one, "c": one}).independent == {"a": one, "b": one, "c": one}
