"""The experiment on a planted limit confirms it, and the one on a wrong reason does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import planted
from fairground.stats import effects
from fairground.stats.effects import Outcome

pytestmark = [pytest.mark.live, pytest.mark.nightly]

BUDGET_S = 75.0
RIGHT = next(row for row in planted.ROWS if row["diagnosis"] == "pool")
WRONG = next(row for row in planted.WRONG if row["stack"] == RIGHT["stack"])
"""One of each: `bench/reasons.py` measures all, and `tests/stats/test_effects.py` holds what is made of their windows."""


@pytest.mark.parametrize("row", [RIGHT, WRONG], ids=lambda row: row.get("diagnosis") or f"not-{row['wrong']}")
def test_an_experiment_tells_right_from_wrong(row: dict[str, Any], tmp_path: Path) -> None:
    """A pool that is small is a limit; connections are none where the pool is the limit."""
    said: list[str] = []
    with planted.standing(row, said.append) as (bench, _):
        asked, starts = planted.experiment(bench, row, tmp_path, BUDGET_S)
    confirmed = effects.outcome(asked, starts) is Outcome.CONFIRMED
    assert confirmed is ("wrong" not in row), (effects.effects(asked, starts), [one.findings for one in starts])
