"""Simulated pairs of runs: what one of them is clear about, the other finds again."""

from __future__ import annotations

from builders.bench import bench
from fairground.claims.verdict import ClaimVerdict, VerdictGrade

REPEATS = bench("repeats")
HOLDS, FAILS, OPEN = ClaimVerdict.HOLDS, ClaimVerdict.FAILS, ClaimVerdict.INCONCLUSIVE
CLEAR, LEANING = VerdictGrade.CLEAR, VerdictGrade.LEANING


def test_clear_verdicts_are_found_again() -> None:
    """At least 95 of 100, and none is opposite; the rule before was right less often about what it decided."""
    old, new = REPEATS.RepeatCount(), REPEATS.RepeatCount()
    for seed in (101, 102, 103, 104):
        first, second, _ = REPEATS.pair(seed, count=8)
        old, new = old + first, new + second
    assert new.clear > 100 and new.found / new.clear >= 0.95
    assert new.opposite == 0
    assert new.found / new.clear > old.same / old.decided


def test_verdicts_are_counted_as_they_agree() -> None:
    """A leaning verdict that is found again counts for a clear one; holds against does not hold is opposite."""
    first = [(HOLDS, CLEAR), (HOLDS, CLEAR), (FAILS, CLEAR), (OPEN, None)]
    second = [(HOLDS, LEANING), (OPEN, None), (HOLDS, CLEAR), (OPEN, None)]
    found = REPEATS.counted(first, second)
    assert (found.tested, found.decided, found.same, found.opposite, found.clear, found.found) == (4, 3, 1, 1, 4, 1)
    text = "\n".join(REPEATS.table(found, found, [(0.55, True), (0.55, False)], 1))
    assert "| 50 to 60 % | 2 | 50% |" in text and "| 25.0% |" in text
