"""How equal stacks are judged and counted: every pair of a run once for each workload and quantity, as the page judges it."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

from builders.bench import bench
from fairground.stats.comparisons import Judge, Quantity, fields_of
from fairground.stats.differences import DifferenceWord
from report import fixture

EQUALS = bench("equals")


def test_every_pair_is_judged_once() -> None:
    """As many rows as there are pairs of stacks, and what the page decides is decided here."""
    run = fixture.six_blocks()
    rows = list(EQUALS.judged(run))
    judge = Judge.of(run.plan, run.trials, ())
    found = [one for field, what in itertools.product(fields_of(run.trials), Quantity) if (one := judge.field(field, what))]
    assert len(rows) == sum(one.pairs for one in found) > 0
    assert sum(row["word"] != DifferenceWord.INCONCLUSIVE for row in rows) == sum(one.decided for one in found)
    assert Counter(row["quantity"] for row in rows).keys() == set(map(str, Quantity))
    assert all(0 < row["low"] <= row["high"] for row in rows)


def test_the_table_counts_what_was_called() -> None:
    """Those that were said to differ, those whose own interval excludes 1, and those that are equivalent; then all workloads."""

    def row(workload: str, word: str, low: float, high: float) -> dict[str, Any]:
        what = {"stack": "a:b", "how": "--blocks 2", "quantity": "goodput"}
        return {**what, "workload": workload, "word": word, "low": low, "high": high}

    rows = [
        row("ping", "inconclusive", 0.9, 1.1), row("ping", "faster", 1.1, 1.2),
        row("tx", "inconclusive", 1.01, 1.2), row("tx", "equivalent", 0.99, 1.01),
    ]  # fmt: skip
    lines = [[cell.strip() for cell in line.split("|")[3:-1]] for line in EQUALS.table(rows) if "goodput" in line]
    assert [line[:6] for line in lines] == [
        ["ping", "goodput", "2", "1 (50.0%)", "1", "0"],
        ["tx", "goodput", "2", "0 (0.0%)", "1", "1"],
        ["**all**", "goodput", "4", "1 (25.0%)", "2", "1"],
    ]
