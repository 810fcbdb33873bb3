"""How sure a verdict is: what is clear comes again, what is foretold comes as often, and a superlative is held to its rivals."""

from __future__ import annotations

import math

import numpy
import pytest

from fairground.claims import sureness
from fairground.claims.events import none_again_after
from fairground.claims.sureness import LOOKS, again, blocks_needed, decide, verdict_of
from fairground.claims.verdict import ClaimJudgement, ClaimVerdict, VerdictGrade
from fairground.model import Claim
from fairground.stats.fit import Estimate

HOLDS, FAILS, TIE, OPEN = ClaimVerdict.HOLDS, ClaimVerdict.FAILS, ClaimVerdict.TIE, ClaimVerdict.INCONCLUSIVE
MANY = 1e6
"""As good as infinitely many degrees of freedom."""


def at(z: float, error: float = 0.1, blocks: int = 4) -> Estimate:
    """An estimate that lies so many errors from 0."""
    return Estimate(z * error, error, MANY, blocks)


@pytest.mark.parametrize(
    ("op", "found", "verdict", "grade"),
    [
        (">", at(2.1), HOLDS, VerdictGrade.LEANING),
        (">", at(2.9), HOLDS, VerdictGrade.CLEAR),
        (">", at(-2.1), FAILS, VerdictGrade.LEANING),
        ("<", at(-2.9), HOLDS, VerdictGrade.CLEAR),
        (">", at(1.9), OPEN, None),
        (">", at(1, 0.001), TIE, VerdictGrade.CLEAR),
        ("~", at(0, 0.06), HOLDS, VerdictGrade.LEANING),
        ("~", at(0, 0.02), HOLDS, VerdictGrade.CLEAR),
        ("~", at(5), FAILS, VerdictGrade.CLEAR),
    ],
)
def test_two_grades(op: str, found: Estimate, verdict: ClaimVerdict, grade: VerdictGrade | None) -> None:
    """Beyond 95 % it leans, beyond 99.5 % it is clear."""
    told = decide(op, found)
    assert (told.verdict, told.grade) == (verdict, grade)
    assert (told.again is None) == (told.needs is not None) == (verdict is OPEN)


@pytest.mark.parametrize("op", [">", "<", "~"])
def test_what_is_foretold_comes_as_often(op: str) -> None:
    """Of verdicts that are foretold with some chance, a fresh estimate of the same truth has as many."""
    draw, error, freedom = numpy.random.default_rng(7), 0.06, 12.0
    told, came = [], []
    for _ in range(4000):
        truth = draw.normal(0, 0.15)
        one, other = (Estimate(truth + draw.normal(0, error), error, freedom, 3) for _ in range(2))
        found = decide(op, one)
        if found.again is not None and 0.02 < found.again < 0.98:
            told.append(found.again)
            came.append(verdict_of(op, other) is found.verdict)
    assert len(told) > 300
    assert sum(came) / len(came) == pytest.approx(sum(told) / len(told), abs=0.08)


def test_a_verdict_at_the_edge_comes_again_in_less_than_half_of_all_cases() -> None:
    """At z = 1.96 it is worth less than a coin; at z = 5 it is nearly sure."""
    assert 0.3 < again(">", HOLDS, at(1.96)) < 0.5
    assert again(">", HOLDS, at(5)) > 0.97
    claim = Claim("one", "it is so", "rps(a b) > 1")
    assert ClaimJudgement(claim, HOLDS, "so", again=1.0).repeats == "a fresh run says the same in 99 of 100 cases"
    assert not ClaimJudgement(claim, OPEN, "so").repeats


def test_one_of_many_rivals_is_slower_by_chance() -> None:
    """Of equal stacks 17 times in 100 one of ten seems faster than the first; held to their number, at most one time in 20."""
    draw, rivals, rounds = numpy.random.default_rng(3), 10, 1500
    alone = together = 0
    for _ in range(rounds):
        seen = [at(float(z)) for z in draw.normal(0, 1, rivals)]
        alone += any(verdict_of(">", one) is FAILS for one in seen)
        together += any(verdict_of(">", one, rivals) is FAILS for one in seen)
    assert alone / rounds > 0.15
    assert together / rounds < 0.04


def test_the_blocks_that_are_forecast_decide_in_four_of_five_cases() -> None:
    """The forecast is for 80 % of all runs, and not for a coin's toss."""
    found = Estimate(0.06, 0.05, MANY, 4)
    needed = blocks_needed(">", found)
    assert needed == math.ceil((2.80 * 0.10 / 0.06) ** 2)
    draw, error = numpy.random.default_rng(11), 0.10 / math.sqrt(needed)
    decided = [
        decide(">", Estimate(float(seen), error, MANY, needed)).verdict is HOLDS for seen in draw.normal(0.06, error, 2000)
    ]
    assert sum(decided) / len(decided) == pytest.approx(0.80, abs=0.03)


@pytest.mark.parametrize(("op", "middle"), [(">", 0.0), ("<", 0.01), (">", 0.03), (">", -0.045), ("~", 0.02), ("~", 0.3)])
@pytest.mark.parametrize(("rivals", "miss"), [(1, LOOKS[1]), (1, LOOKS[4]), (8, LOOKS[1])])
def test_as_many_blocks_decide_as_are_forecast(op: str, middle: float, rivals: int, miss: float) -> None:
    """A tie is a decision, too; and an answer that is held to rivals and looks needs more blocks."""
    needed = blocks_needed(op, Estimate(middle, 0.05, MANY, 4), rivals, miss)
    assert needed is not None
    draw = numpy.random.default_rng(2)

    def decided(blocks: int) -> float:
        error = 0.10 / math.sqrt(blocks)
        fresh = (Estimate(float(seen), error, MANY, blocks) for seen in draw.normal(middle, error, 2000))
        return sum(verdict_of(op, one, rivals, miss).decided for one in fresh) / 2000

    assert decided(needed) > 0.77
    assert needed == 5 or decided(needed - 1) < 0.83


def test_equal_stacks_are_decided_by_a_tie() -> None:
    """Of equal stacks whose blocks differ by 10 %, some forty blocks show that they are."""
    assert blocks_needed(">", Estimate(0.0, 0.05, MANY, 4)) == 41


def test_what_cannot_be_decided_has_no_number_of_blocks() -> None:
    """What would take hundreds, and what lies on the edge of being alike."""
    assert blocks_needed(">", Estimate(0.0, 0.15, MANY, 4)) is None
    assert blocks_needed("~", Estimate(math.log1p(sureness.SAME), 0.05, MANY, 4)) is None


def test_who_looks_often_is_held_to_it() -> None:
    """Equal stacks that are judged after each of four parts are called in about one run of twenty, and not of eight."""
    draw, once, held, rounds = numpy.random.default_rng(5), 0, 0, 1500
    for _ in range(rounds):
        logs = draw.normal(0, 1, 8)
        looks = [Estimate(float(logs[:count].mean()), 1 / math.sqrt(count), MANY, count) for count in (2, 4, 6, 8)]
        once += any(verdict_of(">", one) is not OPEN for one in looks)
        held += any(verdict_of(">", one, miss=LOOKS[4]) is not OPEN for one in looks)
    assert once / rounds > 0.09
    assert held / rounds < 0.065


@pytest.mark.parametrize("looked", [0.3, 1.0, 20.0, 200.0])
def test_none_is_foretold_as_often_as_it_comes(looked: float) -> None:
    """Of simulated events that either never happen or have a rate, as many stay away twice as was foretold after the first time."""
    draw = numpy.random.default_rng(1)
    never = draw.random(400_000) < 0.5
    rates = numpy.where(never, 0.0, draw.gamma(0.5, 1.0, never.size))
    first, second = draw.poisson(rates * looked), draw.poisson(rates * looked)
    assert none_again_after(looked) == pytest.approx(numpy.mean(second[first == 0] == 0), abs=0.003)


def test_none_is_surer_the_longer_it_was_looked_for() -> None:
    """A law that held for two hundred times as long as would have shown an exception is one to bet on."""
    assert none_again_after(5) < none_again_after(50) < none_again_after(200)
    assert none_again_after(200) > 0.97
