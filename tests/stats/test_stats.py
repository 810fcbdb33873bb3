"""The pure numbers: hand-worked values, and properties that must hold for any input."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairground.judge import thresholds
from fairground.stats import intervals

RULES = thresholds.standard().rules
SETTLED = RULES.settled_last, RULES.settled_tolerance, RULES.settled_drift
SPEEDS = st.floats(min_value=0.01, max_value=1e6, allow_nan=False, allow_infinity=False)


def test_t_interval_of_three_values_is_the_one_worked_by_hand() -> None:
    """10, 12, 14: mean 12, s = 2, t(0.975, 2) = 4.30265, half width 4.30265 · 2 / √3 = 4.96827."""
    interval = intervals.t_interval([10.0, 12.0, 14.0])
    assert interval is not None
    assert (interval.middle, interval.count, interval.confidence) == (12.0, 3, 0.95)
    assert interval.low == pytest.approx(12 - 4.96827, abs=1e-5)
    assert interval.high == pytest.approx(12 + 4.96827, abs=1e-5)


def test_t_interval_takes_its_quantile_from_the_confidence() -> None:
    """Two values 0 and 2 at 90 %: t(0.95, 1) = 6.31375, s = √2, half width 6.31375."""
    interval = intervals.t_interval([0.0, 2.0], confidence=0.90)
    assert interval is not None
    assert interval.high - interval.middle == pytest.approx(6.31375, abs=1e-5)


@pytest.mark.parametrize("values", [[], [7.0]])
def test_fewer_than_two_values_have_no_interval(values: list[float]) -> None:
    """One value shows no spread, so nothing is returned rather than a point posing as an interval."""
    assert intervals.t_interval(values) is None
    assert intervals.ratio_interval(values, values) is None


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0])
def test_confidence_outside_zero_and_one_is_refused(confidence: float) -> None:
    """95 instead of 0.95 is a mistake worth an error."""
    with pytest.raises(ValueError, match="between 0 and 1"):
        intervals.t_interval([1.0, 2.0], confidence)


def test_values_that_are_not_finite_are_refused() -> None:
    """A NaN would otherwise spread silently into a page."""
    with pytest.raises(ValueError, match="finite"):
        intervals.t_interval([1.0, math.nan])


@given(st.lists(SPEEDS, min_size=2, max_size=12))
def test_an_interval_of_logarithms_carried_back_holds_its_middle(values: list[float]) -> None:
    """low ≤ middle ≤ high, and the middle is the geometric mean, which lies between least and most."""
    logs = intervals.t_interval([math.log(value) for value in values])
    assert logs is not None
    interval = logs.exp()
    assert interval.low <= interval.middle <= interval.high
    assert interval.middle == pytest.approx(intervals.geometric_mean(values))
    assert min(values) * (1 - 1e-9) <= interval.middle <= max(values) * (1 + 1e-9)


def test_ratio_interval_is_the_one_worked_by_hand() -> None:
    """Ratios 2 and 8: logs ln 2 and ln 8, mean ln 4, s = ln 4 / √2, so the limits are 4 · 4^∓(12.7062 / 2)."""
    interval = intervals.ratio_interval([2.0, 8.0], [1.0, 1.0])
    assert interval is not None
    assert interval.middle == pytest.approx(4.0)
    assert interval.high == pytest.approx(4 * 4 ** (12.7062 / 2), rel=1e-4)
    assert interval.low == pytest.approx(4 * 4 ** (-12.7062 / 2), rel=1e-4)


def test_what_a_block_does_to_both_arms_cancels() -> None:
    """A machine that halves its speed for one block leaves a steady ratio without spread."""
    interval = intervals.ratio_interval([90.0, 45.0, 180.0], [100.0, 50.0, 200.0])
    assert interval is not None
    assert (interval.low, interval.high) == (pytest.approx(0.9), pytest.approx(0.9))


@given(st.lists(st.tuples(st.floats(0.5, 2.0), SPEEDS), min_size=2, max_size=10))
def test_swapping_the_arms_inverts_the_ratio(pairs: list[tuple[float, float]]) -> None:
    """A against B and B against A tell the same story."""
    above, below = [ratio * speed for ratio, speed in pairs], [speed for _, speed in pairs]
    forth, back = intervals.ratio_interval(above, below), intervals.ratio_interval(below, above)
    assert forth is not None and back is not None
    assert forth.middle == pytest.approx(1 / back.middle)
    assert forth.low == pytest.approx(1 / back.high, rel=1e-6)


def test_ratio_refuses_what_cannot_be_paired_or_has_no_logarithm() -> None:
    """Unequal lengths and a speed of zero are errors, not silent truncation."""
    with pytest.raises(ValueError, match="equal lengths"):
        intervals.ratio_interval([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="above zero"):
        intervals.ratio_interval([1.0, 0.0], [1.0, 1.0])


def test_percentile_curve_of_many_values_by_hand() -> None:
    """1…10,000 once each, one point a decade: x = 1, 10, 100 are the ranks 1, 9,000 and 9,900."""
    values = [float(value) for value in range(1, 10_001)]
    curve = intervals.percentile_curve(values, [1] * 10_000, steps_per_decade=1)
    assert curve == ((1.0, 1.0), (10.0, 9000.0), (100.0, 9900.0))


def test_percentile_curve_stops_where_the_tail_is_thin() -> None:
    """With a hundred samples of tail asked, a thousand samples show p90 and not p99; ninety-nine samples show nothing."""
    values = [float(value) for value in range(1, 1001)]
    assert [x for x, _ in intervals.percentile_curve(values, [1] * 1000, steps_per_decade=1)] == [1.0, 10.0]
    assert intervals.percentile_curve([1.0], [99]) == ()


def test_requests_without_an_answer_end_the_curve() -> None:
    """A tenth of all requests lies beyond: p90 is the slowest answer, and nothing is said of what comes after."""
    curve = intervals.percentile_curve([5.0, 7.0], [450_000, 450_000], beyond=100_000, steps_per_decade=2)
    assert curve[-1] == (10.0, 7.0)


@given(st.lists(st.tuples(st.integers(1, 10_000), st.integers(1, 5000)), min_size=1, max_size=30), st.integers(0, 3000))
def test_percentile_curve_climbs_and_ignores_the_order_of_its_input(bins: list[tuple[int, int]], beyond: int) -> None:
    """Values never fall along x, each is one of the input's, and joining histograms in another order changes nothing."""
    values, counts = [float(value) for value, _ in bins], [count for _, count in bins]
    curve = intervals.percentile_curve(values, counts, beyond)
    assert curve == intervals.percentile_curve(values[::-1], counts[::-1], beyond)
    assert [value for _, value in curve] == sorted(value for _, value in curve)
    assert {value for _, value in curve} <= set(values)


@pytest.mark.parametrize(("values", "counts", "beyond"), [([1.0], [], 0), ([1.0], [-1], 0), ([1.0], [1], -1)])
def test_percentile_curve_refuses_impossible_counts(values: list[float], counts: list[int], beyond: int) -> None:
    """Unequal lengths and negative counts are mistakes of the caller."""
    with pytest.raises(ValueError):
        intervals.percentile_curve(values, counts, beyond)


@pytest.mark.parametrize(
    ("share", "expected"), [(0.5, 20.0), (0.51, 30.0), (0.75, 30.0), (0.76, 40.0), (1.0, 40.0), (0.01, 10.0)]
)
def test_percentile_is_the_nearest_rank(share: float, expected: float) -> None:
    """Four values: the median is the second, and anything above a quarter boundary is the next one."""
    assert intervals.percentile([30.0, 10.0, 40.0, 20.0], [1, 1, 1, 1], share) == expected


def test_percentile_of_nothing_is_none() -> None:
    """An empty histogram has no percentile, and a share of zero is a mistake."""
    assert intervals.percentile([], [], 0.5) is None
    with pytest.raises(ValueError, match="share"):
        intervals.percentile([1.0], [1], 0.0)


@pytest.mark.parametrize(
    ("per_second", "settled"),
    [
        ([0, 500, 990, 1000, 1010], True),  # rises by 2 % of its mean: within the drift that is allowed
        ([1000, 1040, 990], True),  # wide, but going nowhere
        ([950, 1000, 1060], False),  # inside the tolerance, but marching up by 11 %
        ([1060, 1000, 950], False),  # marching down
        ([1000, 800, 1000], False),  # one second is 14 % below the mean
        ([1000, 1000], False),  # too short to tell
        ([0, 0, 0], False),  # nothing has started
    ],
)
def test_steady_tells_a_plateau_from_a_ramp(per_second: list[int], settled: bool) -> None:
    """The last three seconds decide, by their spread and by their direction."""
    assert intervals.steady(per_second, *SETTLED) is settled


@pytest.mark.parametrize(
    ("values", "rises"), [([1, 2, 3], True), ([3, 2, 1], False), ([1, 3, 2], False), ([100, 101, 102], False)]
)
def test_rising_is_each_above_the_one_before(values: list[int], rises: bool) -> None:
    """By more than the drift that is allowed, and one way only."""
    assert intervals.rising(values, 0.05) is rises


@given(st.lists(st.floats(1.0, 1e6), min_size=3, max_size=20), st.floats(0.001, 1000.0))
def test_steady_does_not_depend_on_the_unit(per_second: list[float], factor: float) -> None:
    """Requests a second or a minute: the answer is the same, but for rounding at the very threshold."""
    last, tolerance, drift = SETTLED
    widened = intervals.steady(per_second, last, tolerance + 1e-9, drift + 1e-9)
    narrowed = intervals.steady(per_second, last, tolerance - 1e-9, drift - 1e-9)
    assert intervals.steady([value * factor for value in per_second], *SETTLED) in {widened, narrowed}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1912.4, "1,910"),
        (0.041234, "0.0412"),
        (9.1, "9.10"),
        (0, "0"),
        (-5.0, "−5.00"),
        (999.6, "1,000"),
        (0.09996, "0.100"),
        (41_237_891, "41,200,000"),
        (1e-9, "0.00000000100"),
    ],
)
def test_significant_rounds_to_three_digits(value: float, text: str) -> None:
    """Never an exponent, thousands separated, trailing zeros kept because they were measured."""
    assert intervals.significant(value) == text


@given(st.floats(min_value=1e-6, max_value=1e12))
def test_significant_is_off_by_half_a_digit_at_most(value: float) -> None:
    """What is printed, read back, lies within 0.5 % of what was meant."""
    assert float(intervals.significant(value).replace(",", "")) == pytest.approx(value, rel=0.00501)


def test_significant_refuses_what_is_no_number() -> None:
    """An infinity is a bug upstream, not a word for a page."""
    with pytest.raises(ValueError, match="cannot be written"):
        intervals.significant(math.inf)


@pytest.mark.parametrize(
    ("values", "slope", "low", "high"),
    [
        ((1, 2, 3, 4, 5), 1.0, 1.0, 1.0),
        ((5, 5, 5, 5), 0.0, 0.0, 0.0),
        ((1, 3, 2, 5, 4), 0.8, -0.303, 1.903),
    ],
)
def test_slope_interval(values: tuple[float, ...], slope: float, low: float, high: float) -> None:
    """The slope of a straight line is exact; with scatter the interval is that of a textbook (t with n − 2 degrees)."""
    found = intervals.slope_interval(values)
    assert found is not None
    assert (found.middle, found.low, found.high) == pytest.approx((slope, low, high), abs=1e-3)


def test_slope_needs_four_values() -> None:
    """Three values have no spread to speak of about their line; a value that is not finite is refused."""
    assert intervals.slope_interval((1, 2, 3)) is None
    with pytest.raises(ValueError, match="finite"):
        intervals.slope_interval((1, 2, 3, float("nan")))
    with pytest.raises(ValueError, match="between 0 and 1"):
        intervals.slope_interval((1, 2, 3, 4), 1.0)


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (1, 1000, 0.0002, 0.0056)],
)
def test_wilsons_interval(count: int, of: int, low: float, high: float) -> None:
    """As tables of it say; inside 0 and 1 at both ends."""
    assert intervals.share_interval(count / of, of) == pytest.approx((low, high), abs=1e-4)
