"""What a crash took: counted where durability is relaxed, and held against the server where it is not."""

from __future__ import annotations

import pytest

from builders.facts import outcomes
from fairground.judge import crash, recovery
from fairground.model import AuditLine, DatabaseUse, Durability, Recovery

ROWS = AuditLine("rows", "one row each", 990, 1000, 1005)


def recovered(lost: int | None = None) -> Recovery:
    """A recovery from 1,000 good answers a second."""
    found = recovery.recovery(2.0, 0.4, ([100] * 60, [0] * 60), 6.0, outcomes(6000))
    return Recovery(**{**vars(found), "lost": lost})


def test_only_a_database_that_does_not_wait_may_lose() -> None:
    """Two seconds of answers, and the lab's own requests beside them."""
    assert crash.most_lost(recovered(), Durability.DURABLE) is None
    assert crash.most_lost(recovered(), Durability.RELAXED) == 2000 + crash.PROBES


@pytest.mark.parametrize(
    ("there", "missing", "holds"), [(1000, 0, True), (1005, -5, True), (1006, -6, False), (700, 300, True), (699, 301, False)]
)
def test_missing_writes_are_counted_up_to_a_bound(there: int, missing: int, holds: bool) -> None:
    """More than may be lost is no crash's doing, and more than was asked for is somebody's, too."""
    line = crash.loss_line(AuditLine("rows", "one row each", there, 1000, 1005), 1000, 300)
    assert (line.found, line.holds) == (missing, holds)


def test_rows_of_lost_writes_may_have_moved_otherwise() -> None:
    """Each lost write moves so many rows otherwise, and no more."""
    line = AuditLine("ledger-a", "rows that moved otherwise", 6, 0, 0)
    assert not line.holds and crash.loss_ledger(line, 6).holds and not crash.loss_ledger(line, 5).holds


def test_what_is_missing_is_told_from_the_lines_that_count() -> None:
    """A line in either form says the same; others say nothing, and where none counts nobody knows."""
    other = AuditLine("sum", "no loss", 1, 0, 0)
    assert crash.count_lost((ROWS, other), ["rows"], lossy=False) == 10
    assert crash.count_lost((crash.loss_line(ROWS, 1000, 300), other), ["rows"], lossy=True) == 10
    assert crash.count_lost((AuditLine("rows", "", 1003, 1000, 1005),), ["rows"], lossy=False) == 0
    assert crash.count_lost((other,), [], lossy=True) is None


@pytest.mark.parametrize(
    ("lost", "lossy", "words"),
    [
        (0, False, "after its crash the database has each of 6,000 acknowledged writes"),
        (312, True, "the crash took 312 of 6,000 acknowledged writes, which relaxed durability allows"),
        (1, False, "the crash took 1 of 6,000 acknowledged writes;"),
        (None, True, "no line of the audit counts acknowledged writes"),
    ],
)
def test_a_crash_says_what_it_took(lost: int | None, lossy: bool, words: str) -> None:
    """Writes, and the counters with them."""
    said = crash.finding(recovered(lost), 6000, lossy)
    assert said.sentence.startswith(words) and "its counters began anew" in said.sentence and said.evidence["lost"] == lost


def test_counters_of_a_crashed_database_are_unknown() -> None:
    """What was counted since its recovery is no count of the trial; what the lab itself saw stays."""
    use = crash.without_counters(DatabaseUse(9, 1, 5, 2, 77, 4, {"running": 3}, 3, sessions=4, temp_files=0, checkpoints=1))
    assert (use.commits, use.rollbacks, use.rows_read, use.deadlocks, use.sessions, use.work) == (None,) * 6
    assert (use.wal_bytes, use.connections_peak, use.wait_samples) == (77, 4, 3)
