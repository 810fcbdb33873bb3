"""Fleets that are made up, on a clock that is made up: how the lab shares a plan out among them."""

from __future__ import annotations

from collections import Counter

import pytest

from builders.bench import bench
from fairground.fleet import cluster

FLEET = bench("fleets")


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made-up hosts are done as soon as somebody looks."""
    monkeypatch.setattr(cluster, "LOOK_S", 0.01)


def test_three_hosts_need_a_third_of_the_time() -> None:
    """Of what one of them needs for the same plan, but for what is around the orders; nothing is left out or made twice."""
    measured = FLEET.planned(3, 2)
    one, three = FLEET.simulated(measured, 1), FLEET.simulated(measured, 3)
    assert one.took_s / 3 <= three.took_s <= one.took_s / 3 + FLEET.AROUND_S
    assert sorted(done.place for done in three.done) == list(range(one.orders))
    assert all(done.answer is not None for done in three.done)


def test_no_host_waits_while_there_are_orders() -> None:
    """Where a plan's two blocks are too few for three hosts, their heats are shared out: all end within one order of each other."""
    told = FLEET.simulated(FLEET.planned(2, 9), 3)
    assert set(told.busy_s) == {"host-1", "host-2", "host-3"}
    assert max(told.busy_s.values()) - min(told.busy_s.values()) <= told.longest_s


def test_many_blocks_for_many_hosts() -> None:
    """Each block is an order of its own beside the one for the limits, and each host has as many as any other."""
    told = FLEET.simulated(FLEET.planned(400, 2), 20)
    assert told.orders == 401
    has = Counter((done.answer or b"").decode() for done in told.done)
    assert len(has) == 20 and set(has.values()) <= {20, 21}
