"""A stack on which all cases are tried: what is known of it after several starts."""

from __future__ import annotations

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
