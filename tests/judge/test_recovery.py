"""What a fault did, read off made-up series of tenths: outage, recovery, what never recovers, and what cannot be told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders.facts import outcomes
from builders.trials import CELL, trial
from fairground.judge import answers, recovery
from fairground.model import Cell, Fault, FaultKind, Recovery, Result, Severity

RATE = 100
"""Good answers of an undisturbed tenth."""
RESTART, STALL = Fault(FaultKind.DATABASE_RESTART, 3.0), Fault(FaultKind.STALL, 3.0, 500.0)
CUT = Fault(FaultKind.CONNECTIONS_CUT, 3.0)


def found(*after: int, failed: tuple[int, ...] = (), before: int = RATE, began_s: float = 3.0) -> Recovery:
    """Three seconds of a rate, then these good answers by tenth; `failed` from the fault on."""
    good = [before] * 30 + list(after)
    bad = [0] * 30 + list(failed) + [0] * (len(after) - len(failed))
    return recovery.recovery(began_s, 0.4, (good, bad), len(good) / 10, outcomes(sum(good), timeout=3, reset=2, wrong_body=1))


def test_an_outage_has_its_length_and_its_end() -> None:
    """The first good answer, the full rate, the longest silence and what failed, each counted from the fault."""
    one = found(40, 0, 0, 0, 20, 50, 0, *[RATE] * 23, failed=(0, 200, 200, 12))
    assert (one.before_per_s, one.first_good_s, one.recovered_s, one.longest_silence_s) == (1000.0, 0.4, 0.7, 0.3)
    assert (one.failed, one.failed_before, one.good) == (412, 0, 2410)
    assert (one.unanswered, one.wrong, one.lasted_s) == (5, 1, 0.4)
    assert one.after_per_s == pytest.approx(1000.0)
    assert one.failed_share == pytest.approx(412 / 2822)
    said = recovery.finding(RESTART, one)
    assert said.severity is Severity.NOTE
    assert said.sentence == (
        "after the database's restart at 3 s: 412 answers failed (14.6%), the first good one came after 0.4 s, full rate after 0.7 s"
    )


def test_a_crash_says_how_long_the_database_was_away() -> None:
    """Its recovery is the database's own, and no server can be back before it."""
    said = recovery.finding(Fault(FaultKind.DATABASE_CRASH, 3.0), found(40, 0, 0, 0, 0, *[RATE] * 25))
    assert said.sentence.startswith("after the database's crash at 3 s, which was back after 0.4 s: no answer failed")


@pytest.mark.parametrize(
    ("kind", "window_s", "words"),
    [
        (FaultKind.DATABASE_CRASH, 3.3, "crash at 3 s, which was back after 0.4 s and lasted beyond the window: "),
        (FaultKind.DATABASE_RESTART, 3.3, "restart at 3 s, which lasted beyond the window: "),
        (FaultKind.DATABASE_RESTART, 3.4, "restart at 3 s: "),
    ],
)
def test_a_fault_that_lasts_beyond_the_window_says_so(kind: FaultKind, window_s: float, words: str) -> None:
    """Nothing of the answers after it is known then."""
    assert f"after the database's {words}" in recovery.finding(Fault(kind, 3.0), found(40, 0, 0), window_s).sentence


@pytest.mark.parametrize(
    ("cut", "severity", "words"),
    [
        (25, Severity.NOTE, "after a cut of 25 connections to the database at 3 s: no answer failed"),
        (1, Severity.NOTE, "after a cut of 1 connection to the database"),
        (0, Severity.WARN, "after a cut of 0 connections to the database"),
        (None, Severity.NOTE, "after the cut of all connections to the database"),
    ],
)
def test_a_cut_says_how_many(cut: int | None, severity: Severity, words: str) -> None:
    """That no answer failed says nothing where no connection was open: such a trial is warned."""
    said = recovery.finding(CUT, replace(found(*[RATE] * 30), cut=cut))
    assert said.severity is severity and said.sentence.startswith(words) and said.evidence["cut"] == cut


def test_a_small_share_keeps_its_digits() -> None:
    """Few of many answers are not 0.0 %."""
    said = recovery.finding(CUT, found(*[100_000] * 30, failed=(5,), before=100_000))
    assert "5 answers failed (0.000167%)" in said.sentence


def test_full_rate_lasts_for_a_second() -> None:
    """A tenth that catches up is no recovery: the second from it on must have the rate, and no tenth in it may be silent."""
    assert found(0, 0, 150, 30, 30, 30, *[RATE] * 24).recovered_s == 0.6
    assert found(0, 150, 150, 150, 150, 0, *[RATE] * 24).recovered_s == 0.6
    assert found(0, *[RATE] * 29, began_s=3.04).recovered_s == 0.1


def test_noise_of_single_tenths_is_no_outage() -> None:
    """One slow tenth among others leaves the second its rate: goodput went on."""
    one = found(RATE, 80, *[RATE] * 28)
    assert (one.first_good_s, one.recovered_s, one.longest_silence_s) == (0.0, 0.0, 0.0)
    assert recovery.finding(STALL, one).sentence == (
        "after the database's stall of 500 ms at 3 s: no answer failed, and the rate went on as before"
    )


@pytest.mark.parametrize(
    ("after", "first_good_s", "words"),
    [
        ([0] * 30, None, "no good one came any more in the window"),
        ([0, 0] + [50] * 28, 0.2, "the first good one came after 0.2 s, the full rate did not come back"),
        ([0] * 22 + [RATE] * 8, 2.2, "the first good one came after 2.2 s, the full rate did not come back"),
    ],
    ids=["never", "half", "too late to tell"],
)
def test_a_rate_that_does_not_come_back_warns(after: list[int], first_good_s: float | None, words: str) -> None:
    """A window that ends before a second of the full rate has no recovery, and the finding is a warning."""
    one = found(*after)
    assert (one.first_good_s, one.recovered_s, one.after_per_s) == (first_good_s, None, None)
    said = recovery.finding(RESTART, one)
    assert said.severity is Severity.WARN and words in said.sentence


def test_few_answers_tell_no_tenths() -> None:
    """Where a tenth may be silent by chance nothing is said of tenths; what failed is."""
    one = found(*[9] * 30, before=9, failed=(1,))
    assert (one.first_good_s, one.recovered_s) == (None, None)
    said = recovery.finding(RESTART, one)
    assert said.severity is Severity.NOTE and "1 answer failed" in said.sentence and "too few" in said.sentence


def test_the_windows_last_part_of_a_tenth_says_nothing() -> None:
    """A window that is a little longer than its tenths ends with a part of one, which is no silence."""
    good = [RATE] * 50 + [0]
    one = recovery.recovery(3.0, 0.1, (good, [0] * 51), 5.003, outcomes(5000))
    assert (one.longest_silence_s, one.recovered_s) == (0.0, 0.0)


def test_errors_of_a_fault_are_its_subject() -> None:
    """Failed answers warn as ever; where a fault explains them they are a note, and the share is told."""
    result = trial("a:b", 1, 500.0).result
    assert result is not None
    bad = replace(result, window=replace(result.window, status={500: 30}))
    (plain,), (explained,) = answers.window(bad), answers.window(bad, fault=True)
    assert (plain.severity, explained.severity) == (Severity.WARN, Severity.NOTE)
    assert explained.sentence == plain.sentence + ", which are the fault's subject"


def test_what_was_cut_behind_a_commit_is_doubted() -> None:
    """Under a fault as many answers 5xx as there are connections may be of what was done; else none, and never one 4xx."""
    result = trial("a:b", 1, 500.0).result
    assert result is not None
    life = replace(result.window, status={500: 30, 404: 50}, shed=10)
    told = replace(result, life=life)
    broken = replace(CELL, load=replace(CELL.load, fault=RESTART))
    assert doubt(told, CELL) == 0
    assert doubt(told, broken) == broken.settings.pool_total == 25
    assert doubt(replace(told, life=replace(life, status={404: 50})), broken) == 10


def doubt(result: Result, cell: Cell) -> int | None:
    """How many requests may have been done beyond those that were counted."""
    return recovery.with_doubts(result, cell).uncounted_most
