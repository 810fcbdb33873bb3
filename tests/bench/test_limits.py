"""The table of planted limits: which seats a trial sits in, what must be named there, and how a row reads."""

from __future__ import annotations

from collections import Counter

import pytest

import planted
from builders.bench import bench
from fairground.inputs.seating import APART, SHARED
from fairground.model import Seats

LIMITS = bench("limits")
ROWS = {planted.name(row): row for row in planted.ROWS}


def test_roles_of_a_planted_trial_sit_apart_where_that_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is pinned where roles share; apart, server and database have the machine's seats, and a quota stays."""
    monkeypatch.setattr(planted.setup, "machine_seats", lambda url: Seats((0,), (1,), (1,), "said by a test"))
    row = ROWS["throttled-healthy:asyncio"]
    assert planted.cell(row).settings.pin == ()
    apart = planted.cell(row, seats=APART).settings
    assert dict(apart.pin) == {"server": (0,), "database": (1,), "generator": (1,)}
    assert (apart.workers, apart.cpus) == (1, 0.3)


def test_the_pooler_of_a_planted_trial_has_a_seat_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """It sits with generator and database, and not on the server's core."""
    monkeypatch.setattr(planted.setup, "machine_seats", lambda url: Seats((0,), (1,), (1,), "said by a test"))
    apart = planted.cell(ROWS["pooler-hauler:asyncio"], seats=APART).settings
    assert dict(apart.pin)["pooler"] == (1,)


def test_one_full_core_is_expected_where_the_server_has_one() -> None:
    """A server of one process leaves cores idle where they are shared, and fills its seat where it has one."""
    row = ROWS["app-serial-crew:asyncio"]
    assert (planted.expected(row, SHARED), planted.expected(row, APART)) == ("app-serial", "app-cpu")
    other = ROWS["pool-small-pool:asyncio"]
    assert planted.expected(other, APART) == "pool"


def test_a_row_counts_each_of_the_seats(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was expected there counts, alone; everything else is listed, with what was named besides."""
    monkeypatch.setattr(planted, "lacking", lambda row: None)
    row = ROWS["app-serial-crew:asyncio"]
    place = planted.ROWS.index(row)
    found = {
        (place, SHARED): Counter({"app-serial": 9, "app-serial, app-cpu": 1}),
        (place, APART): Counter({"app-cpu": 8, "app-serial": 2}),
    }
    page = LIMITS.page([row], (SHARED, APART), found, 10, 600)
    assert "| `app-serial` | crew, ping | 9 of 10 | 1 × app-serial, app-cpu | 8 of 10 | 2 × app-serial |" in page
    assert "The limit was named alone in 17 of 20." in page
    assert "| planted | in | shared: named alone | otherwise | apart: named alone | otherwise |" in page


def test_a_row_that_cannot_be_tried_here_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no failure, and it is no success."""
    monkeypatch.setattr(planted, "lacking", lambda row: "pgbouncer is missing")
    page = LIMITS.page([ROWS["pooler-hauler:asyncio"]], (SHARED,), {}, 10, 600)
    assert "| `pooler` | hauler, db-ping | not here: pgbouncer is missing |  |" in page


def test_two_plantings_of_one_limit_are_two_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same server runs out of ports with open connections and with closed ones, and neither counts for the other."""
    monkeypatch.setattr(planted, "lacking", lambda row: None)
    rows = [row for row in planted.ROWS if row["diagnosis"] == "ports"]
    found = {(planted.ROWS.index(row), SHARED): Counter({"ports": many}) for many, row in enumerate(rows, 3)}
    page = LIMITS.page(rows, (SHARED,), found, 10, 600)
    assert "| `ports` | healthy, ping | 3 of 3 |  |" in page
    assert "| `ports` | healthy, ping, closed connections | 4 of 4 |  |" in page
