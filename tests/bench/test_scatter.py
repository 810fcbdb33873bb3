"""The table of how runs scatter: a row for each quantity and way that a run has a variance of."""

from __future__ import annotations

from builders.bench import bench
from report import fixture

SCATTER = bench("scatter")


def test_a_run_has_a_row_for_what_it_measured() -> None:
    """The fixture's stacks take no turns, so only whole windows are told."""
    found = list(SCATTER.rows(fixture.run(4)))
    assert len(found) == 2 and all("| whole windows |" in row and row.count("%") == 3 for row in found)


def test_a_run_of_one_block_has_none() -> None:
    """One start says nothing of the next."""
    assert list(SCATTER.rows(fixture.run(1))) == []
