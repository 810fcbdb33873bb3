"""Trials by what matters of them: stack, block, goodput and cost."""

from __future__ import annotations

from dataclasses import replace

from fairground.model import Cell, CellSettings, Control, Load, Outcomes, Result, RoleUse, Topology, Trial, Verdict

CELL = Cell("a:plain", "tx", Topology(), Load(), CellSettings())


def trial(stack: str, block: int, rate: float, cost_us: float | None = 100.0, control: Control | None = None) -> Trial:
    """A trial of five seconds with this goodput and this cost of the server's CPU for a good answer."""
    good = round(rate * 5)
    outcomes = Outcomes(good, 0, {}, 0, 0, 0, 0, 0, 0, 0)
    result = Result(
        "engine", (), 5.0, outcomes, outcomes, good, good, 0, 0, 0, good, None, None, None, (), None, (), None, None
    )  # fmt: skip
    roles = {"server": RoleUse(None if cost_us is None else cost_us * good, None, None, "cgroup2")}
    cell = replace(CELL, stack=stack)
    return Trial(
        1, block, 1, cell, 1, 0.0, 9.0, {}, result, roles, None, None, (), (), Verdict.VALID, None, "", "", control
    )  # fmt: skip
