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
    return Spreads(Variance(shared, freedom), tuple(known))


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
        assert first is not None
        noisy.append(math.sqrt(first.variance))
        calm += [math.sqrt(one.variance) for one in rest if one is not None]
    assert statistics.median(noisy) > 0.3 and statistics.median(calm) < 0.045


def test_fields_too_few_to_differ_share_one_prior() -> None:
    """Two fields, or variances too few in all: what is known is known of all; a field that does not vary takes it, too."""
    some = [field(variances(seed, 5, 3)) for seed in range(7)]
    assert len(set(moderated.priors(some[:2]))) == 1 and moderated.priors(some[:2])[0] is not None
    assert moderated.priors([field(variances(1, 3, 3))]) == (None,)
    still = moderated.priors([*some, Spreads(Variance(0.0, 0), ())])
    assert still[-1] == moderated.prior([one for spreads in some for one in spreads.independent])
    assert len(set(still)) == 8


def test_two_stacks_have_one_variance() -> None:
    """Their residuals are each other's: counted twice, they would seem to agree."""
    one = Variance(0.01, 3)
    assert Spreads(one, (one, one)).independent == (one,)
    assert Spreads(one, (one, one, Variance(0.0, 0))).independent == (one,)
    assert Spreads(one, (one, one, one)).independent == (one, one, one)
