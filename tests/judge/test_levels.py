"""One cell at several numbers of connections: what more of them gave decides between too few and one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from builders.trials import CELL, trial
from fairground.judge import levels, thresholds
from fairground.model import Control, Finding, Load, Severity, Trial, Verdict

REASONS = thresholds.standard().reasons
SUSPECTED = Finding("too-few-connections", Severity.NOTE, "nothing was full")


def at(connections: int, rate: float, diagnosis: str | None = "too-few-connections", block: int = 1) -> Trial:
    """A trial with so many connections and this goodput."""
    cell = replace(CELL, load=Load(connections))
    reasons = () if diagnosis is None else (replace(SUSPECTED, id=diagnosis),)
    return replace(trial("a:plain", block, rate), cell=cell, findings=reasons, diagnosis=diagnosis)


def named(rates: Mapping[int, float]) -> dict[int, str | None]:
    """Connections → diagnosis, of trials with these goodputs."""
    return {
        one.cell.load.connections: one.diagnosis for one in levels.with_levels([at(*pair) for pair in rates.items()], REASONS)
    }


def test_a_lock_is_serialised_at_every_level() -> None:
    """800 a second with 4, 32, 64 and 256 connections: more give no more, and each trial says so with both numbers."""
    rates = {4: 800.0, 32: 810.0, 64: 790.0, 256: 800.0}
    assert set(named(rates).values()) == {"serialised"}
    (found,) = levels.with_levels([at(*pair) for pair in rates.items()], REASONS)[0].findings
    assert found.sentence == (
        "more connections gave no more: 4 connections 800 a second, 32 connections 810, and nothing was full. So the server serves"
        " one request after the other: a lock, one worker, or a wait of 1.25 ms that it takes for each answer"
    )
    assert found.evidence == {"fewer_connections": 4, "fewer_per_s": 800.0, "more_connections": 32, "more_per_s": 810.0}


def test_too_few_connections_are_confirmed() -> None:
    """Where more connections gave more, the suspicion is a fact for the fewer; the most keep it as a suspicion."""
    first, second = levels.with_levels([at(8, 260.0), at(16, 520.0)], REASONS)
    assert (first.diagnosis, second.diagnosis) == ("too-few-connections", "too-few-connections")
    assert first.findings[0].sentence == (
        "more connections gave more: 8 connections 260 a second, 16 connections 520, and nothing was full"
    )
    assert second.findings == (SUSPECTED,)


def test_a_server_that_fills_up_in_between() -> None:
    """Few connections are too few, and from where the lock is full on it is what limits."""
    assert named({1: 400.0, 2: 790.0, 4: 800.0, 8: 805.0}) == {
        1: "too-few-connections", 2: "serialised", 4: "serialised", 8: "serialised"
    }  # fmt: skip


@pytest.mark.parametrize(
    "others",
    [
        [],
        [at(36, 800.0)],
        [replace(at(64, 800.0), control=Control.AGAIN)],
        [replace(at(64, 800.0), verdict=Verdict.VOID)],
        [replace(at(64, 800.0), cell=replace(CELL, workload="users", load=Load(64)))],
        [replace(at(64, 800.0), cell=replace(CELL, load=Load(64, keep_alive=False)))],
        [replace(at(64, 800.0), cell=replace(CELL, load=Load(64, model="open", rate_per_s=900.0)))],
    ],
)  # fmt: skip
def test_what_decides_nothing(others: list[Trial]) -> None:
    """Alone, beside nearly as many connections, a control, a void trial or another cell the suspicion stays as it is."""
    first = levels.with_levels([at(32, 800.0), *others], REASONS)[0]
    assert first == at(32, 800.0)


def test_other_reasons_stand() -> None:
    """A trial that was limited by something else, or by nothing that is known, is not touched; it still counts for others."""
    full = at(64, 805.0, "app-cpu")
    assert levels.with_levels([full, at(32, 800.0)], REASONS)[0] == full
    assert levels.with_levels([at(16, 400.0), full], REASONS)[0].findings[0].sentence.startswith("more connections gave more")
    assert levels.with_levels([at(32, 800.0, None), at(64, 800.0, None)], REASONS)[0].diagnosis is None


def test_blocks_count_by_their_median() -> None:
    """One odd block of three does not decide."""
    trials = [at(8, rate, block=block) for block, rate in enumerate((800.0, 300.0, 805.0), 1)]
    trials += [at(16, 810.0, block=block) for block in (1, 2, 3)]
    assert {one.diagnosis for one in levels.with_levels(trials, REASONS)} == {"serialised"}


@pytest.mark.parametrize("others", ["pool", "app-cpu", None])
def test_what_another_limit_holds_is_not_serialised(others: str | None) -> None:
    """Sixty-four connections wait for a pool of eight: that eight gave as much shows no lock, and the sentence has their limit."""
    held = levels.with_levels([at(8, 800.0), at(64, 805.0, others)], REASONS)[0]
    assert held.diagnosis == "too-few-connections"
    if others is None:
        assert held == at(8, 800.0)
        return
    (found,) = held.findings
    assert f"8 connections 800 a second, 64 connections 805, where the limit was `{others}`: " in found.sentence


def test_blocks_of_a_level_have_the_limit_of_most() -> None:
    """One block of three that another program disturbed decides nothing."""
    disturbed = [at(64, 805.0, diagnosis, block) for block, diagnosis in enumerate(("app-cpu", *["too-few-connections"] * 2), 1)]
    assert levels.with_levels([at(8, 800.0), *disturbed], REASONS)[0].diagnosis == "serialised"
