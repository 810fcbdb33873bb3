"""The cost of a connection: the database's clock is read around a few, and nothing is tried where it cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fairground.measure import backends

COST_NS = 3_000_000


def test_cost_is_read_off_the_databases_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections that take 3 ms of the database each cost 3 ms, and each of them runs a statement."""
    clock = SimpleNamespace(ns=500, asked=[])
    monkeypatch.setattr(backends, "time", SimpleNamespace(sleep=lambda _: None))

    @contextmanager
    def connect() -> Iterator[Any]:
        clock.ns += COST_NS
        yield SimpleNamespace(execute=clock.asked.append)

    meter = cast(Any, SimpleNamespace(cpu_ns=lambda: clock.ns))
    assert backends.cpu_us(meter, cast(Any, connect)) == COST_NS / 1000
    assert clock.asked == ["SELECT 1"] * backends.TRIED


def test_a_database_whose_clock_nobody_reads() -> None:
    """A given database is not asked at all, and its cost is unknown."""
    assert backends.cpu_us(None, lambda: pytest.fail("it was asked")) is None
