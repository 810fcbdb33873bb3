"""The table of what checks read where nothing is wrong: made from stored trials, void ones too, beside today's bounds."""

from __future__ import annotations

from dataclasses import replace

from builders.bench import bench
from builders.facts import CLOSED, HOST, OPEN, facts
from fairground.model import CellSettings, Finding, Severity, Trial, Verdict
from report import fixture

CALIBRATE = bench("calibrate")


def trial(number: int, steal: float, open_loop: bool = False, *found: Finding) -> Trial:
    """A trial of a machine that lost such a share of its time."""
    cell = replace(OPEN if open_loop else CLOSED, settings=CellSettings())
    host = replace(HOST, steal_share=steal)
    verdict = Verdict.VOID if found else Verdict.VALID
    result = facts(cell, busiest_thread_share=0.5).result
    return Trial(number, 1, 1, cell, 7, 0.0, 1.0, {}, result, {}, host, None, (), found, verdict, None, "", "")


def rows(trials: list[Trial]) -> dict[str, list[str]]:
    """The table's rows by the check's id, in cells."""
    lines = [line for line in CALIBRATE.table(trials) if line.startswith("| V")]
    return {line.split("|")[2].strip(" `"): [cell.strip() for cell in line.split("|")[3:-1]] for line in lines}


def test_a_row_has_the_quantiles_and_the_bounds() -> None:
    """Ten trials: their median, 90 % and largest reading, both bounds, and how many were beyond the first."""
    found = rows([trial(number, number / 1000) for number in range(1, 11)])
    assert found["steal"] == ["10", "0.5 %", "0.9 %", "1 %", "0.5 %", "3 %", "5"]
    assert found["generator"] == ["10", "50 %", "50 %", "50 %", "90 %", "–", "–"]
    assert "canary" not in found


def test_bounds_are_those_of_the_loop() -> None:
    """Each loop is shown beside the bounds that hold for it."""
    assert rows([trial(1, 0.0, open_loop=True)])["generator"][4:] == ["70 %", "90 %", "–"]


def test_what_no_trial_shows_is_named() -> None:
    """A check that could be made in none of the trials stands in a sentence, not in a row."""
    last = CALIBRATE.table([trial(1, 0.0)])[-1]
    assert last.startswith("Not shown by this machine: ") and "`canary` (V11)" in last and "`steal`" not in last


def test_void_trials_count() -> None:
    """What checks found is counted over all trials, notes left out."""
    noisy = Finding("steal", Severity.VOID, "taken"), Finding("unchecked", Severity.NOTE, "not checked")
    assert CALIBRATE.found([trial(1, 0.5, False, *noisy), trial(2, 0.5, False, *noisy), trial(3, 0.0)]) == "2 × void `steal`"
    assert CALIBRATE.found([trial(1, 0.0)]) == "nothing"


def test_the_demo_has_its_share_of_warnings() -> None:
    """Of the demo's trials all attempts are counted by their verdicts, and the warned ones as a share."""
    warned = replace(trial(2, 0.01), verdict=Verdict.WARNED, findings=(Finding("steal", Severity.WARN, "taken"),))
    void = trial(3, 0.5, False, Finding("steal", Severity.VOID, "taken"))
    run = replace(fixture.two_blocks(), trials=(trial(1, 0.0), warned, void, replace(void, number=4), trial(5, 0.0)))
    told = CALIBRATE.of_demos([run])
    assert "## The demo, 5 trials" in told and "2 valid, 2 void, 1 warned, so that 20.0 % are warned" in told
    assert "1 × warn `steal`" in told and "2 × void `steal`" in told
    assert "No trial of it was measured." in CALIBRATE.of_demos([]) == CALIBRATE.of_demos([replace(run, trials=())])
