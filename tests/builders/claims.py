"""Trials for claims, and the judgement on a statement about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fairground.claims import judgement
from fairground.model import Cell, CellSettings, Claim, Load, Suite, Topology, Trial, Verdict
from report.fixture import run

PATTERN = run(1).trials[0]


def trial(
    stack: str,
    rps: float,
    block: int = 1,
    workload: str = "ping",
    verdict: Verdict = Verdict.VALID,
    load: Load | None = None,
    topology: Topology | None = None,
    settings: CellSettings | None = None,
    diagnosis: str | None = None,
) -> Trial:
    """A trial of `stack` whose goodput is `rps` and whose window had 1,000 good answers and no other."""
    load = load or Load(window_s=5.0)
    result = PATTERN.result
    assert result is not None
    window = replace(result.window, ok=1000, shed=0, status={}, timeout=0)
    cell = Cell(stack, workload, topology or Topology(), load, settings or CellSettings())
    return replace(
        PATTERN,
        cell=cell,
        block=block,
        number=block,
        verdict=verdict,
        diagnosis=diagnosis,
        result=replace(result, completed_ok=round(rps * 5), window_s=5.0, window=window),
    )


def suite(*claims: Claim, **more: Any) -> Suite:
    """A suite that claims this."""
    return Suite("one", "One", "", 1, 1, (), claims=claims, **more)


def verdict_of(test: str, trials: Sequence[Trial], **more: str) -> judgement.ClaimJudgement:
    """The judgement on one statement."""
    (found,) = judgement.judge(suite(Claim("one", "it is so", test, **more)), trials)  # type: ignore[arg-type]
    return found
