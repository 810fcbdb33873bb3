"""Does a server fulfil the contract? A session of one arm, on which every case is tried in place of a load."""

from __future__ import annotations

from pathlib import Path

from fairground.contract import ProcedureSettings
from fairground.measure.arm import CheckArm, Ended
from fairground.measure.bench import Bench
from fairground.measure.checked import of_case
from fairground.measure.session import ArmSession
from fairground.model import Audit, Cell, Expectation, Load, LoadRequest, Stack, Topology, Verdict, Workload
from fairground.model.contract import Contract

WORKERS = 2
ATTEMPTS = 3
"""How often a check is begun that the machine or the lab spoils."""

CONTRACT = "contract"
"""The workload that a check has in its cell. No load is made of it."""


def try_cases(bench: Bench, stack: Stack, folder: Path, only: tuple[str, ...] | None = None, scale: int = 10) -> Ended:
    """Start `stack` on fresh data and try the cases on it, or `only` those. A check that is void is begun anew."""
    settings = of_case(ProcedureSettings(workers=WORKERS), scale)
    cell = Cell(stack.id, CONTRACT, Topology(), Load(connections=1), settings)
    arm = CheckArm(stack.id, cell, _all_cases(stack.server.contract), 1, stack, only=only)
    for _attempt in range(ATTEMPTS):
        ended = _once(bench, arm, folder)
        if ended.verdict is not Verdict.VOID:
            break
    return ended


def _all_cases(contract: Contract) -> Workload:
    """Make what is asked in place of a workload."""
    return Workload(
        id=CONTRACT, title="all of the contract's cases", why="", audit=Audit(), limit_sql=None, contract=contract,
        requests=(LoadRequest(CONTRACT, "GET", contract.ready.path, expect=Expectation(contract.ready.status, None, None, 1)),),
    )  # fmt: skip


def _once(bench: Bench, arm: CheckArm, folder: Path) -> Ended:
    with ArmSession(bench, [arm], folder) as session:
        pass
    return session.ended[arm.label]
