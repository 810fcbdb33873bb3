"""The search for a capacity against simulated systems: where it ends, in how many trials, and what it does with odd ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy
import pytest

from fairground.capacity import search
from fairground.capacity.search import Ask, Goal, RateBounds, SearchEnd, SearchTrial

System = Callable[[float, float], bool]
MOST_TRIALS = 40


def searched(goal: Goal, start: float, system: System) -> tuple[list[SearchTrial], SearchEnd]:
    """Carry a search out against a system that says whether a rate is kept for some seconds."""
    tried: list[SearchTrial] = []
    while isinstance(ask := search.next_trial(goal, start, tried), Ask):
        assert len(tried) < MOST_TRIALS, "the search does not end"
        tried.append(SearchTrial(ask.rate_per_s, ask.duration_s, system(ask.rate_per_s, ask.duration_s)))
    return tried, ask


def queue(service_per_s: float, deadline_s: float, seed: int) -> System:
    """An M/M/1 queue of which 1 % of the answers may come after the deadline; each trial begins empty."""
    draw = numpy.random.default_rng(seed)

    def keeps(rate: float, seconds: float) -> bool:
        count = int(draw.poisson(rate * seconds))
        late, free_s = 0, 0.0
        arrivals = numpy.sort(draw.uniform(0, seconds, count))
        for arrival_s, service_s in zip(arrivals, draw.exponential(1 / service_per_s, count), strict=True):
            free_s = max(free_s, arrival_s) + service_s
            late += free_s - arrival_s > deadline_s
        return bool(late <= 0.01 * count)

    return keeps


@pytest.mark.parametrize("capacity_per_s", [3.7, 50.0, 1234.0, 99_999.0])
@pytest.mark.parametrize("start", [1.0, 1000.0, 1e5])
def test_a_step_is_bracketed(capacity_per_s: float, start: float) -> None:
    """A system that keeps all rates up to one is bracketed to 5 % from wherever the search begins, in few trials."""
    tried, end = searched(Goal(least_requests=0), start, lambda rate, _: rate <= capacity_per_s)
    found = search.bounds(Goal(least_requests=0), tried)
    assert end is SearchEnd.NARROW and found.lower is not None and found.upper is not None
    assert found.lower <= capacity_per_s < found.upper <= found.lower * 1.06
    assert len(tried) <= 30


@pytest.mark.parametrize("seed", range(6))
def test_a_queue_is_bracketed_near_its_capacity(seed: int) -> None:
    """An M/M/1 queue's capacity is known: µ − ln(100) / D. Short trials begin empty, so the search may end above it, not far."""
    known = 1000 - math.log(100) / 0.05
    tried, end = searched(Goal(), 300, queue(1000, 0.05, seed))
    found = search.bounds(Goal(), tried)
    assert end is SearchEnd.NARROW and found.lower is not None and found.upper is not None
    assert 0.93 * known < found.lower < found.upper < 1.12 * known
    assert sum(trial.duration_s for trial in tried) < 120


@pytest.mark.parametrize("seed", range(10))
def test_noise_does_not_mislead_for_good(seed: int) -> None:
    """Where a rate is kept now and then the bracket lies about the rate that is kept half of the time."""
    draw = numpy.random.default_rng(seed)
    tried, end = searched(Goal(), 1000, lambda rate, _: bool(draw.uniform() < 1 / (1 + (rate / 1500) ** 20)))
    found = search.bounds(Goal(), tried)
    assert end is SearchEnd.NARROW and found.lower is not None and found.upper is not None
    assert 1500 * 0.85 < found.lower < found.upper < 1500 * 1.2


def test_long_trials_come_last() -> None:
    """The first trials are short, and both bounds rest on long ones: the lower one on at least two."""
    goal = Goal()
    tried, _ = searched(goal, 1000, lambda rate, _: rate <= 4321)
    found = search.bounds(goal, tried)
    assert tried[0].duration_s == goal.initial_s
    for bound, least in ((found.lower, 2), (found.upper, 1)):
        assert sum(trial.rate_per_s == bound and trial.duration_s >= goal.final_s for trial in tried) >= least


def test_a_bound_that_longer_trials_take_back() -> None:
    """A system that only short trials keep is searched on below, and ends where long trials keep it."""
    tried, end = searched(Goal(), 1000, lambda rate, seconds: rate <= (2000 if seconds < 4 else 1500))
    found = search.bounds(Goal(), tried)
    assert end is SearchEnd.NARROW and found.lower is not None and found.upper is not None
    assert found.lower <= 1500 < found.upper


def test_why_a_search_ends_early() -> None:
    """A system that keeps nothing, one that keeps everything, and one too slow to be judged each end with their reason."""
    assert searched(Goal(least_requests=0), 100, lambda *_: False)[1] is SearchEnd.LEAST
    assert searched(Goal(), 100_000, lambda *_: True)[1] is SearchEnd.MOST
    tried, end = searched(Goal(least_requests=1000, longest_s=20), 400, lambda rate, _: rate < 30)
    assert end is SearchEnd.SLOW and min(trial.rate_per_s for trial in tried) >= 50


def test_the_bracket_is_known_before_the_end() -> None:
    """A search that is broken off has the bracket of its last whole round; without one, what there is."""
    goal = Goal()
    assert search.bounds(goal, []) == RateBounds(None, None)
    assert search.bounds(goal, [SearchTrial(1000, 2, True)]) == RateBounds(1000, None)
    assert search.bounds(goal, [SearchTrial(1000, 2, True), SearchTrial(2000, 2, False)]) == RateBounds(1000, 2000)


def test_a_rate_kept_above_one_that_missed_counts_for_nothing() -> None:
    """The draft's relevant bounds: the lowest miss decides."""
    assert search.bounds(
        Goal(), [SearchTrial(1000, 2, False), SearchTrial(2000, 2, True), SearchTrial(500, 2, True)]
    ) == RateBounds(500, 1000)


def test_the_search_says_the_same_again() -> None:
    """The next trial is a function of those made."""
    tried, _ = searched(Goal(), 700, lambda rate, _: rate <= 1234)
    for length in range(len(tried)):
        ask = search.next_trial(Goal(), 700, tried[:length])
        assert isinstance(ask, Ask) and ask.rate_per_s == tried[length].rate_per_s


def test_bad_goals() -> None:
    """A goal that no search can meet is a mistake of the caller."""
    with pytest.raises(ValueError, match="exceed ratio"):
        search.next_trial(Goal(exceed_ratio=1), 100, [])


# ---------------------------------------------------------------- confirmation


def confirm(outcomes: Sequence[bool]) -> tuple[float | None, list[SearchTrial]]:
    """Confirm from 1000/s on with these outcomes; the rate asked for after them."""
    tried: list[SearchTrial] = []
    for low in outcomes:
        rate = search.next_confirmation(Goal(), 1000, tried)
        assert rate is not None
        tried.append(SearchTrial(rate, 10, low))
    return search.next_confirmation(Goal(), 1000, tried), tried


def test_three_fresh_trials_confirm() -> None:
    """A rate is confirmed once three fresh trials have kept it, and not before."""
    assert confirm([True, True])[0] == 1000
    after, tried = confirm([True, True, True])
    assert after is None
    assert search.confirmations(tried)[0].holds


def test_a_miss_lowers_the_rate() -> None:
    """One fresh trial that misses gives the rate up; the next is lower and needs three trials of its own."""
    after, tried = confirm([True, False, True, True, True])
    assert after is None
    assert [(one.rate_per_s, one.kept, one.trials, one.holds) for one in search.confirmations(tried)] == [
        (1000, 1, 2, False),
        (909.1, 3, 3, True),
    ]


def test_confirmation_ends_at_the_least_rate() -> None:
    """What keeps missing is not confirmed for ever."""
    goal, tried = Goal(least_rate=900), list[SearchTrial]()
    while (rate := search.next_confirmation(goal, 1000, tried)) is not None:
        tried.append(SearchTrial(rate, 10, False))
    assert [trial.rate_per_s for trial in tried] == [1000, 909.1]


def test_at_the_least_width_each_miss_lowers_the_rate() -> None:
    """Of all rates with four digits none is asked for again after a fresh trial missed it."""
    goal = Goal(width=search.LEAST_WIDTH)
    assert [rate for rate in range(1000, 10_000) if search.lower_rate(goal, rate) >= rate] == []


@pytest.mark.parametrize("budget_s", [60.0, 300.0, 3600.0])
def test_a_pace_fits_its_budget(budget_s: float) -> None:
    """The phases follow each other inside the budget, and trials grow within the search."""
    found = search.pace(budget_s, 1000)
    assert 0 < found.search_until_s < budget_s
    assert found.goal.initial_s <= found.goal.final_s <= found.confirm_window_s
    assert sum(search.OVERLOAD) * found.overload_s < budget_s
