"""Verdicts of two runs of one suite: which repeat, which are undecided in one of them, which are opposite."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path

import pytest

from builders.bench import bench
from cli.command import stored
from fairground.claims.verdict import ClaimJudgement, ClaimVerdict, VerdictGrade
from fairground.lab import replicate
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.lab.replicate import ReplicationAsked
from fairground.model import Claim
from fairground.stats.intervals import Interval
from report.fixture import one_block

VERDICTS = bench("verdicts")
PAPER, UNTESTED = ClaimVerdict.REFUTED_ON_PAPER, ClaimVerdict.UNTESTED
HOLDS, FAILS, TIE, OPEN = ClaimVerdict.HOLDS, ClaimVerdict.FAILS, ClaimVerdict.TIE, ClaimVerdict.INCONCLUSIVE


def judged(name: str, verdict: ClaimVerdict) -> ClaimJudgement:
    """A judgement of a claim of this name."""
    return ClaimJudgement(Claim(name, "it is so", "rps(a) > rps(b)"), verdict, "so", Interval(1.2, 1.1, 1.3, 2, 0.95))


def twice(*verdicts: tuple[ClaimVerdict, ClaimVerdict]) -> object:
    """A suite with a claim for each pair of verdicts."""
    first, second = ([judged(f"c{number}", both[run]) for number, both in enumerate(verdicts)] for run in (0, 1))
    return VERDICTS.Twice.of("users", ("2026-01-01 10:00", "2026-01-01 12:00"), first, second)


def test_what_neither_decides_is_not_counted() -> None:
    """A claim that one run decides counts, and repeats only by the same verdict; holds against does not hold is opposite.

    What one run tested alone is counted by itself, and what published numbers decide is not counted.
    """
    found = twice(
        (HOLDS, HOLDS),
        (HOLDS, OPEN),
        (TIE, HOLDS),
        (FAILS, HOLDS),
        (OPEN, OPEN),
        (UNTESTED, HOLDS),
        (OPEN, PAPER),
        (PAPER, PAPER),
    )
    lines = list(VERDICTS.table([found]))
    assert "| users | 2026-01-01 10:00 and 2026-01-01 12:00 | 2 | 5 | 4 | 1 (25.0%) | 1 | 0 | – |" in lines
    differing = [line.split("|")[2].strip() for line in lines[lines.index("| suite | claim | first | second |") + 2 :]]
    assert differing == ["c1", "c2", "c3"]
    assert lines[-1] == "| users | c3 | does not hold: 1.2 (1.1 to 1.3) | holds: 1.2 (1.1 to 1.3) |"


def test_all_suites_are_added_up() -> None:
    """Where everything repeats, no claim is listed."""
    lines = list(VERDICTS.table([twice((HOLDS, HOLDS)), twice((FAILS, FAILS), (OPEN, OPEN))]))
    assert lines[-1] == "| all |  | 0 | 3 | 2 | 2 (100.0%) | 0 | 0 | – |"


def test_a_suite_that_decides_nothing_has_no_share() -> None:
    """There is nothing that could repeat."""
    assert list(VERDICTS.table([twice((OPEN, OPEN))]))[-1] == "| all |  | 0 | 1 | 0 | – | 0 | 0 | – |"


def test_what_is_clear_is_found_again_by_any_grade() -> None:
    """A verdict that one run is clear about counts once for each run that is; the other may be leaning."""
    sure, leaning = (replace(judged("c0", HOLDS), grade=grade) for grade in VerdictGrade)
    other = [replace(judged("c1", FAILS), grade=VerdictGrade.CLEAR), judged("c1", OPEN)]
    found = VERDICTS.Twice.of("users", ("then", "later"), [sure, other[0]], [leaning, other[1]])
    assert found.clear == [True, False]
    assert list(VERDICTS.table([found]))[6].endswith("| 2 | 50.0% |")


@pytest.mark.parametrize("words", ["users", "users=one", "=one,two", "users=,two"])
def test_two_runs_must_be_named(words: str) -> None:
    """The words that are expected are in the sentence."""
    with pytest.raises(argparse.ArgumentTypeError, match="SUITE=FIRST,SECOND"):
        VERDICTS._asked(words)


def test_a_run_of_another_suite_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else it would look like one that tested nothing. A run of the suite is judged."""
    made = one_block()
    stored(made, tmp_path)
    places = Places.of(os.environ, results=tmp_path)
    monkeypatch.setattr(VERDICTS.Places, "of", lambda _: places)
    monkeypatch.setattr("sys.argv", ["verdicts.py", "users=latest,latest"])
    with pytest.raises(SystemExit) as ended:
        VERDICTS.main()
    assert ended.value.code == 2 and "is of none of the suites users" in capsys.readouterr().err
    suite = replicate.suite(Inputs(places), ReplicationAsked("users"))
    other = stored(replace(made, id=f"{made.id}-2", plan=replace(made.plan, title=suite.title)), tmp_path).name
    monkeypatch.setattr("sys.argv", ["verdicts.py", f"users={other},{other}"])
    VERDICTS.main()
    assert "| users | " in capsys.readouterr().out
