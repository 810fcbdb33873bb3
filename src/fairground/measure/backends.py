"""The CPU that a connection costs the database. A few are opened and closed before the load, and its CPU is read around them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import psycopg

from fairground.host import Meter

TRIED = 10
ENDS_WITHIN_S = 0.05
"""A backend goes on a little after its client has hung up."""


def cpu_us(meter: Meter | None, connect: Callable[[], psycopg.Connection[tuple[Any, ...]]]) -> float | None:
    """CPU of the database for one connection, from its start over a trivial statement to its end; None where it cannot be read.

    The first statements of a new backend cost more than this, since it knows no table yet: it is the least.
    """
    if meter is None:
        return None
    before_ns = meter.cpu_ns()
    for _ in range(TRIED):
        with connect() as connection:
            connection.execute("SELECT 1")
    time.sleep(ENDS_WITHIN_S)
    return (meter.cpu_ns() - before_ns) / 1000 / TRIED
