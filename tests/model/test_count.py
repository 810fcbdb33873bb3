"""Counts of work between two moments."""

from __future__ import annotations

import pytest

from fairground.model.count import WorkCount


@pytest.mark.parametrize(("before", "after", "between"), [(None, None, None), (None, 3, 3), (2, 5, 3)])
def test_work_between_two_counts(before: int | None, after: int | None, between: int | None) -> None:
    """What did not grow is left out, what is new counts whole, and reads that nobody counts stay unknown."""
    earlier = WorkCount(1_000, {"read": 5, "futex": 2}, {"main": 700}, before)
    later = WorkCount(1_500, {"read": 9, "futex": 2, "write": 1}, {"main": 1_100, "parse": 50}, after)
    assert later - earlier == WorkCount(500, {"read": 4, "write": 1}, {"main": 400, "parse": 50}, between)
