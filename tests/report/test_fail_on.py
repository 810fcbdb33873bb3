"""`--fail-on`: a rule fails where the whole interval lies beyond it, in its own quantity, and nowhere else."""

from __future__ import annotations

import pytest

from fairground.model import LabError
from fairground.report import fail_on
from fairground.report.comparison import ComparisonLine
from fairground.stats.differences import Difference, DifferenceWord
from fairground.stats.intervals import Interval

SLOW = Interval(0.92, 0.90, 0.94, 6, 0.95)
"""Worse by 8 %, and by 6 % at least, where more is better."""


def line(quantity: str, ratio: Interval | None, word: DifferenceWord) -> ComparisonLine:
    """One line of a comparison; `ratio` is above 1 where B is better."""
    return ComparisonLine(
        "ping c100", quantity, "", 100.0, 92.0, Difference(word, ratio, 0.01, 0.01, 0.02), quantity == "goodput"
    )


SLOWER, COSTLIER = line("goodput", SLOW, DifferenceWord.SLOWER), line("server CPU", SLOW, DifferenceWord.SLOWER)


@pytest.mark.parametrize(
    ("rule", "fails"),
    [
        ("slower:5%", True),
        ("slower:6.5%", False),
        ("slower:10%", False),
        ("costlier:5%", False),
        ("any:5%", True),
        ("slower:0%", True),
    ],
)
def test_the_whole_interval_lies_beyond(rule: str, fails: bool) -> None:
    """B is slower by 6 to 10 %: a rule of 5 % is broken, one of 6.5 % is not, nor one of another quantity."""
    assert bool(fail_on.broken_rules([SLOWER], fail_on.parse(rule))) is fails


def test_cost_is_held_in_its_own_terms() -> None:
    """CPU that is 6.4 to 11.1 % more breaks a rule of 6 %, and one of 7 % does not; the sentence tells both numbers."""
    assert fail_on.broken_rules([SLOWER, COSTLIER], fail_on.parse("costlier:6%")) == (
        "ping c100: server CPU is worse by 6.4 % at least (+8.7 % measured), and costlier:6% was asked for",
    )
    assert fail_on.broken_rules([SLOWER, COSTLIER], fail_on.parse("costlier:7%")) == ()


@pytest.mark.parametrize("word", [DifferenceWord.INCONCLUSIVE, DifferenceWord.EQUIVALENT, DifferenceWord.FASTER])
def test_only_what_is_called_worse_fails(word: DifferenceWord) -> None:
    """A wide interval that no word was found for fails nothing, and neither does a better one."""
    assert fail_on.broken_rules([line("goodput", SLOW, word)], fail_on.parse("any:0%")) == ()


def test_each_cell_is_held() -> None:
    """One bad cell among good ones is enough, and each bad one is named."""
    good = line("goodput", Interval(1.1, 1.05, 1.15, 6, 0.95), DifferenceWord.FASTER)
    assert len(fail_on.broken_rules([good, SLOWER, COSTLIER], fail_on.parse("any:5%"))) == 2


def test_nothing_measured_is_no_pass() -> None:
    """Without a ratio of the rule's quantity there is nothing that it could be held against."""
    empty = line("goodput", None, DifferenceWord.INCONCLUSIVE)
    assert not fail_on.is_measured([empty], fail_on.parse("slower:5%"))
    assert not fail_on.is_measured([SLOWER], fail_on.parse("costlier:5%"))
    assert fail_on.is_measured([empty, COSTLIER], fail_on.parse("any:5%"))


@pytest.mark.parametrize("text", ["worse", "slower", "slower:5", "faster:5%", "slower:-5%", "slower:5% ", ""])
def test_no_rule(text: str) -> None:
    """What is no rule is refused with examples of some."""
    with pytest.raises(LabError, match="is not a rule") as caught:
        fail_on.parse(text)
    assert "slower:5%" in str(caught.value.hint)


@pytest.mark.parametrize("rule", ["slower:100%", "any:150%"])
def test_a_rule_that_cannot_fire_is_refused(rule: str) -> None:
    """Nothing gives less than nothing; what costs more than twice as much can be."""
    with pytest.raises(LabError, match="can never fire"):
        fail_on.parse(rule)
    assert fail_on.parse("costlier:150%").share == 1.5 and fail_on.parse("slower:99.9%").share == pytest.approx(0.999)
