"""Time left: that of the mean where what is done is alike, and none where it is not."""

from __future__ import annotations

import random

import pytest

from fairground.stats import forecast


@pytest.mark.parametrize(
    ("took_s", "rest", "left_s"),
    [((), 3, None), ((10.0,), 3, None), ((10.0, 11.0), 3, 31.5), ((1.0, 60.0), 3, None), ((1.0, 60.0), 0, 0.0)],
)
def test_time_left_is_given_where_it_is_known(took_s: tuple[float, ...], rest: int, left_s: float | None) -> None:
    """Nothing and one say nothing, two that differ by much neither; when none is left, no time is."""
    assert forecast.left_s(took_s, rest) == left_s


def test_what_is_given_is_close() -> None:
    """Of forecasts on chance durations, of whatever spread, few are further off than is promised."""
    chance, given, far = random.Random(7), 0, 0
    for _ in range(4000):
        spread = chance.choice((0.05, 0.15, 0.4, 0.8))
        took_s = [chance.lognormvariate(2, spread) for _ in range(chance.randint(3, 20))]
        rest = [chance.lognormvariate(2, spread) for _ in range(chance.randint(1, 40))]
        found = forecast.left_s(took_s, len(rest))
        given += found is not None
        far += found is not None and abs(found - sum(rest)) > forecast.CLOSE * sum(rest)
    assert given > 1000 and far <= 0.1 * given


@pytest.mark.parametrize(
    ("took_s", "expected_s", "left_s"),
    [
        ((), (), None),
        ((12.0, 24.0), (10.0, 20.0), None),
        ((12.0, 24.0, 6.0), (10.0, 20.0, 5.0), 120.0),
        ((12.0, 24.0, 60.0), (10.0, 20.0, 5.0), None),
    ],
)
def test_a_rest_of_other_work_is_scaled(took_s: tuple[float, ...], expected_s: tuple[float, ...], left_s: float | None) -> None:
    """What took a fifth longer than expected says that of the rest; too few, or such as differ by factors, say nothing."""
    assert forecast.scaled_s(took_s, expected_s, 100.0) == (None if left_s is None else pytest.approx(left_s))
