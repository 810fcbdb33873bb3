"""What earlier runs foretell: between what was seen and what is usual, worth little, and left out where today contradicts it."""

from __future__ import annotations

import itertools
import math

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairground.model.memory import RememberedSpread, SeenSpread
from fairground.stats import memory, moderated
from fairground.stats.fit import Fit, FitPoint, together
from fairground.stats.moderated import Prior, Spreads, Variance

WAY = "goodput", True, "engine 1 s"


def pair(seed: int, sd: float, blocks: int = 4) -> Fit[str]:
    """Two stacks that take turns."""
    draw = numpy.random.default_rng(seed)
    return Fit(FitPoint(name, block, block, draw.normal(0, sd)) for block in range(blocks) for name in "ab")


def known(sd: float, freedom: float) -> list[dict[str, Prior]]:
    """One field's stacks, of which so much is known."""
    return [dict.fromkeys("ab", Prior(sd**2, freedom, math.inf))]


def seen(sd: float, workload: str = "w", stack: str | None = "a", freedom: float = 3.0) -> SeenSpread:
    """One variance of a run."""
    return SeenSpread(*WAY, workload, stack, sd**2, freedom)


@given(st.floats(0.001, 2.0), st.floats(0.5, 30.0), st.floats(0.001, 2.0), st.floats(0.5, 6.0))
def test_a_variance_lies_between_its_own_and_what_is_foretold(own: float, freedom: float, prior: float, worth: float) -> None:
    """Unless it is beyond what is foretold: then it stays."""
    found = moderated.of(Variance(own, freedom), Prior(prior, worth, math.inf))
    assert min(own, prior) * (1 - 1e-9) <= found.value <= max(own, prior) * (1 + 1e-9)
    assert found.freedom == pytest.approx(freedom + worth)


def test_memory_that_is_like_today_narrows_an_interval() -> None:
    """Two stacks of four blocks have three degrees of freedom, and more with it."""
    today = next(fit for seed in range(50) if 0.6 < (fit := pair(seed, 0.08)).spreads.shared.value / 0.0064 < 0.9)
    alone, beside = (together([today], some)[0].against("a", "b") for some in ((), known(0.08, 5.0)))
    assert alone is not None and beside is not None
    assert alone.middle == pytest.approx(beside.middle)
    assert (alone.freedom, beside.freedom) == (pytest.approx(3), pytest.approx(8))
    assert beside.interval().high - beside.interval().low < alone.interval().high - alone.interval().low


@pytest.mark.parametrize("sd", [0.02, 5.0])
def test_memory_that_today_contradicts_is_left_out(sd: float) -> None:
    """A noisy day is not made quiet, and a machine that has become quiet is not made noisy: the numbers are those without it."""
    alone, beside = (together([pair(3, 0.08)], some)[0].against("a", "b") for some in ((), known(sd, 5.0)))
    assert alone == beside


def test_nothing_that_is_known_changes_nothing() -> None:
    """No prior, no field with one, and a run that knows too little of today: the numbers are those of today."""
    four, two = pair(1, 0.08), pair(1, 0.08, blocks=2)
    assert together([four], [{}])[0].against("a", "b") == together([four])[0].against("a", "b")
    assert together([two], known(0.08, 5.0))[0].against("a", "b") == together([two])[0].against("a", "b")


def test_a_run_of_many_takes_only_how_they_differ() -> None:
    """Memory at ten per cent more than today moves no interval by much; its own priors say how noisy today is."""
    draw = numpy.random.default_rng(4)
    fits = [Fit(FitPoint(name, block, block, draw.normal(0, 0.08)) for block in range(4) for name in "abcd") for _ in range(5)]
    foretold = [dict.fromkeys("abcd", Prior(0.082**2, 4.0, math.inf)) for _ in fits]
    alone, beside = together(fits), together(fits, foretold)
    for one, other in zip(alone, beside, strict=True):
        for names in itertools.combinations("abcd", 2):
            was, is_now = one.against(*names), other.against(*names)
            assert was is not None and is_now is not None and is_now.error == pytest.approx(was.error, rel=0.2)


def test_a_machine_without_a_run_has_the_weak_prior() -> None:
    """It is worth two degrees of freedom, and more in whole windows than in turns."""
    found = memory.remember([], *WAY)
    assert found == memory.weak(*WAY) and found.runs == 0 and found.freedom == memory.WEAK_FREEDOM
    assert memory.weak("goodput", False, "x").variance > found.variance
    assert memory.remember([[SeenSpread("server CPU", *WAY[1:], "w", "a", 1.0, 3.0)]], *WAY) == found


def test_more_runs_are_worth_more_but_never_much() -> None:
    """One degree of freedom more than there are runs, at most MOST, less what they leave unsure; the weak prior fades."""
    found = [memory.remember([[seen(0.05, w, s) for w in "xy" for s in "ab"]] * runs, *WAY) for runs in (1, 3, 40)]
    assert [one.runs for one in found] == [1, 3, 40]
    assert found[0].freedom < 2 < found[1].freedom < 4 < found[2].freedom <= memory.MOST
    assert abs(math.sqrt(found[2].variance) - 0.05) < 0.001 < abs(math.sqrt(found[0].variance) - 0.05)


def test_runs_that_differ_are_worth_less() -> None:
    """Days of 2 % and of 20 % foretell little."""
    steady, changing = (
        memory.remember([[seen(sd, w, s, 12.0) for w in "xy" for s in "ab"] for sd in days], *WAY)
        for days in ([0.05] * 8, [0.02, 0.2] * 4)
    )
    assert changing.freedom < 2 < 5 < steady.freedom


def test_noisy_workloads_and_stacks_are_foretold_noisy() -> None:
    """What was never seen has the typical variance; a variance of two stacks at once says nothing of one."""
    runs = [[seen(0.04 * (4 if w == "x" else 1) * (2 if s == "b" else 1), w, s) for w in "xyz" for s in "abc"] for _ in range(5)]
    found = memory.remember(runs, *WAY)
    assert found.variance_of("x", "a") > 8 * found.variance_of("y", "a")
    assert found.variance_of("y", "b") > 2 * found.variance_of("y", "a")
    assert found.variance_of("never", "seen") == found.variance
    two = memory.remember([[seen(0.1, "x", None), seen(0.02, "y", None)]] * 4, *WAY)
    assert two.stacks == {} and two.variance_of("x", "a") > 5 * two.variance_of("y", "a")


def test_today_is_told_by_all_that_memory_knows() -> None:
    """How many times the foretold variance was seen, over stacks of several and over two at once."""
    field = Spreads(Variance(0.04, 3.0), {"a": Variance(0.04, 1.5), "b": Variance(0.04, 1.5)})
    assert memory.today([field], known(0.1, 4.0)) == Variance(pytest.approx(4.0), 3.0)
    assert memory.today([field], [{}]).freedom == 0
    assert memory.is_like(Variance(1.0, 3.0), 4.0) and not memory.is_like(Variance(4.0, 3.0), 4.0)
    assert not memory.is_like(Variance(0.01, 3.0), 4.0) and not memory.is_like(Variance(1.0, 1.0), 4.0)


def test_a_remembered_spread_is_what_it_says() -> None:
    """Its variance, times both shares."""
    one = RememberedSpread(*WAY, 0.01, 3.0, 2, {"w": 2.0}, {"a": 3.0})
    assert memory.prior_of(one, "w", "a") == Prior(pytest.approx(0.06), 3.0, math.inf)
