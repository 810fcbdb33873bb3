"""The search for pgbench's best client count: pure, against databases whose rates are known."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairground.measure.arm import ArmWindow
from fairground.measure.ladder import Ladder, next_clients
from fairground.measure.schedule import Whole
from fairground.model import Load

STEP = Whole("pgbench", Load(connections=100, window_s=1.0), 1)


def climbed(rate: Callable[[int], float], pool_size: int, most: int) -> dict[int, float]:
    """All counts that the search tries on a database that does `rate(clients)` a second."""
    rates: dict[int, float] = {}
    while (count := next_clients(rates, pool_size, most)) is not None:
        assert count not in rates, "a count is tried once"
        rates[count] = rate(count)
    return rates


@pytest.mark.parametrize("peak", [1, 2, 7, 16, 25, 60, 180, 400])
@pytest.mark.parametrize("pool_size", [1, 4, 25, 100])
def test_the_best_is_found_within_a_factor_of_two(peak: int, pool_size: int) -> None:
    """Wherever a database does most, a count within a factor of two of it is tried, with few others; the pool's size always is."""
    rates = climbed(lambda count: -abs(count / peak - peak / count), pool_size, 500)
    best = max(rates, key=lambda count: rates[count])
    assert peak / 2 <= best <= peak * 2
    assert {pool_size, 4} <= set(rates)
    assert len(rates) <= 12


@pytest.mark.parametrize(("pool_size", "most"), [(25, 30), (100, 40), (4, 3), (1, 0)])
def test_never_more_than_the_server_has_room_for(pool_size: int, most: int) -> None:
    """A database that does more with each client is not asked for more than it accepts; one is always tried."""
    rates = climbed(float, pool_size, most)
    assert max(rates) == max(1, most)


def test_the_warm_up_counts_for_nothing() -> None:
    """The first window is short and with the pool's size; the count that it had is measured again."""
    ladder = Ladder(STEP, 1.0, 25, 500)
    first = ladder.next((), ())
    assert isinstance(first, Whole) and (first.load.connections, first.load.window_s) == (25, 1.0)
    warm = ArmWindow("pgbench", 1, first.load, 9_999, 0, 1.0, {}, None, ())
    second = ladder.next((warm,), ())
    assert isinstance(second, Whole) and second.load.connections == 25
    assert ladder.next((warm,), ("pgbench",)) is None


def test_without_a_search_the_pools_size_is_the_only_one() -> None:
    """Where locks limit the workload, one count is measured after the warm-up, for the whole time."""
    ladder = Ladder(STEP, 0.5, 25, 500, search=False)
    windows: list[ArmWindow] = []
    while (ask := ladder.next(windows, ())) is not None:
        assert isinstance(ask, Whole)
        windows.append(ArmWindow("pgbench", len(windows) + 1, ask.load, 100, 0, ask.load.window_s, {}, None, ()))
    assert [(one.load.connections, one.load.window_s) for one in windows] == [(25, 0.5), (25, 1.0)]
