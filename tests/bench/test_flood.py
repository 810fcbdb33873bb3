"""The table of what a flood does to what is measured: ratios are paired by round, and what the lab says is counted."""

from __future__ import annotations

from typing import Any

import pytest

from builders.bench import bench

FLOOD = bench("flood")


def row(number: int, flooded: bool, rate: float | None, cost: float | None, said: bool = False) -> dict[str, Any]:
    """A window as it is kept."""
    return {
        "round": number,
        "flooded": flooded,
        "cell": "`one:a`, ping",
        "goodput_per_s": rate,
        "cost_us": cost,
        "foreign_cores": 0.06 if flooded else None if rate is None else 0.01,
        "said": said,
        "void": said,
        "serve_share": 0.03 if flooded else 0.002,
        "flood": {"due": 10_000, "answered": 600} if flooded else None,
    }


ROWS = [
    row(1, False, 1000.0, 50.0),
    row(1, True, 900.0, 55.0, said=True),
    row(2, True, 1860.0, 55.0),
    row(2, False, 2000.0, 50.0),
    row(3, True, None, None),
    row(3, False, 2000.0, 50.0),
]


def test_ratios_are_of_rounds() -> None:
    """A round without a number on one side is none, and one round has no interval."""
    found = FLOOD.ratio(ROWS, "goodput_per_s")
    assert found.count == 2 and found.middle == pytest.approx((0.9 * 0.93) ** 0.5)
    assert FLOOD.ratio(ROWS[:2], "cost_us") is None


def test_a_row_and_the_sentences() -> None:
    """What the lab said stands as in peace; flooded. Requests of all floods are added up."""
    (line,) = FLOOD.table(ROWS)
    assert line.startswith("| `one:a`, ping | 3 | 0.9")
    assert line.endswith("| 1.100 (1.100 to 1.100) | 1.0%; 6.0% | 0 of 3; 1 of 3 | 0 of 3; 1 of 3 |")
    assert list(FLOOD.sentences(ROWS)) == [
        "Of the flood's 30,000 requests 1,800 were answered (6.0%); the others waited, or were given up.",
        "`serve` used 0.2% of a core on average in peace, 0.2% at most.",
        "`serve` used 3.0% of a core on average flooded, 3.0% at most.",
    ]


def test_nothing_is_said_of_no_flood() -> None:
    """A table of windows in peace alone has no word on a flood."""
    assert [one for one in FLOOD.sentences([ROWS[0]]) if "flood" in one] == []
    assert FLOOD.foreign([row(1, False, None, None)], flooded=False) == "–"
