"""How animals of the zoo share sessions, without any: who is beside whom, and what becomes of a session that ends with an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from builders import zoo
from builders.zoo import Row, Sessions

ROWS = zoo.EXPECTED["trial"]


class Measured:
    """Notes which stacks are measured, and gives each its name as its end; or an error."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.stacks = error, list[Sequence[str]]()

    def __call__(self, row: Row, stacks: Sequence[str], folder: Path) -> Mapping[str, Any]:
        self.stacks.append(stacks)
        if self.error is not None:
            raise self.error
        return {name: SimpleNamespace(findings=(), name=name) for name in stacks}


def test_everybody_has_an_honest_neighbour_or_is_alone() -> None:
    """No session has more than eight animals, and each that has several has an honest one among them."""
    measured = Measured()
    sessions = Sessions(ROWS, measured, Path())
    assert [sessions.end(row)[0].name for row in ROWS] == [row["stack"] for row in ROWS]
    honest = {row["stack"] for row in ROWS if row["verdict"] == "valid"}
    assert all(len(stacks) <= zoo.ARMS_AT_ONCE and (len(stacks) == 1 or honest & set(stacks)) for stacks in measured.stacks)
    durable = [stacks for stacks in measured.stacks if {"hurried:off", "sly:busy"} & set(stacks)]
    assert len(durable) == 3 and not any("healthy:asyncio" in stacks for stacks in durable)
    assert {len(stacks) for stacks in measured.stacks if "juggler:asyncio" in stacks} == {2, 3, 4, 5}


def test_the_day_measures_nothing_of_the_night() -> None:
    """A session that a row of the day asks for has no row of the night in it."""
    for part in zoo.parts([{**row, "nightly": number % 2 == 0} for number, row in enumerate(ROWS)]):
        assert len({row["nightly"] for row in part}) == 1


def test_a_session_that_ends_with_an_error_is_measured_once() -> None:
    """Each of its rows fails for the same reason."""
    measured = Measured(RuntimeError("no database"))
    sessions = Sessions(ROWS, measured, Path())
    for row in [row for row in ROWS if row["workload"] == "techempower/updates"]:
        with pytest.raises(RuntimeError, match="no database"):
            sessions.end(row)
    assert len(measured.stacks) == 1
