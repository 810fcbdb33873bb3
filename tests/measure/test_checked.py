"""A stack on which all cases are tried: what is known of it after several starts."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from fairground.host import Stopped
from fairground.measure.checked import LiveStage
from fairground.postgres import Refusals


@pytest.mark.parametrize(("holds_a_pool", "kept"), [(False, 7), (True, None)])
def test_the_most_connections_outlive_a_stop_where_no_size_was_told(holds_a_pool: bool, kept: int | None) -> None:
    """Each start may be told another size of its pool. A server that is told none has one number for all of its starts."""
    database = SimpleNamespace(wait_for_no_connections=lambda: True, refusals=lambda: Refusals())
    checked: Any = SimpleNamespace(
        arm=SimpleNamespace(cell=SimpleNamespace(settings=SimpleNamespace(pool_total=25))),
        stack_arm=SimpleNamespace(holds_a_pool=holds_a_pool),
        path=SimpleNamespace(server=object(), close_server=lambda: (Stopped(0.1, 0, ()), ())),
        seen=SimpleNamespace(connections_peak=7),
        database=database,
        note=lambda _: None,
    )
    assert not LiveStage(checked).stop().forced
    assert checked.seen.connections_peak == kept


@pytest.mark.parametrize(
    ("looks", "allowed", "peak"),
    [
        (({1, 2, 3, 4, 5}, {1, 2, 3, 4, 5, 6}, {2, 3, 4, 5, 6, 7}), (5, 7), 5),
        (({1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6}), (5, 7), 6),
        ((set(range(8)),), (5, 7), 8),
        (({1, 2, 3, 4, 5, 6},), None, 6),
    ],
    ids=["one ends", "six", "more than may still end", "told no size"],
)
def test_a_backend_that_is_ending_is_no_connection(
    looks: tuple[set[int], ...], allowed: tuple[int, int] | None, peak: int
) -> None:
    """Beyond the pool those count that stand in two looks running, as under load."""
    seen: Iterator[frozenset[int]] = map(frozenset, looks)
    checked: Any = SimpleNamespace(
        arm=SimpleNamespace(cell=SimpleNamespace(settings=None)),
        seen=SimpleNamespace(allowed=allowed),
        database=SimpleNamespace(backends=lambda: next(seen)),
    )
    stage = LiveStage(checked)
    assert max(stage.connections() for _ in looks) == peak
